// Realistic mistakes for the supervised corpus of the built-in model: it learns to write programs that are nearly right, so
// that reinforcement has something to mend. Every single mistake breaks parsing or the type check.
import type { RandomStream } from '../../engine/runtime/random.ts'
import { choose } from './grammar.ts'

export const mistakeKinds = [
  'closing-tag-lost', 'closing-tag-wrong', 'bracket-lost', 'quote-lost', 'slash-lost', 'name-misspelt', 'import-lost', 'attribute-wrong', 'keyword-lost',
] as const
export type MistakeKind = (typeof mistakeKinds)[number]

/** One mistake made. `start` and `end` are UTF-16 offsets in the program before any mistake; `replacement` stands there now. */
export interface Mistake {
  readonly kind: MistakeKind
  readonly start: number
  readonly end: number
  readonly replacement: string
}

/** Tags a hasty writer confuses with one another. */
const confusedTags: Readonly<Record<string, readonly string[]>> = {
  h1: ['h2', 'p'], h2: ['h1', 'p'], p: ['h1', 'div'], button: ['p', 'div'], li: ['ul', 'p'], ul: ['li', 'div'], label: ['p', 'div'],
  main: ['div', 'section'], div: ['main', 'p'], section: ['main', 'div'],
}

const wrongAttributes: Readonly<Record<string, string>> = { onClick: 'onclick', type: 'kind' }

/** Names and keywords that may be misspelt: two neighbouring inner letters change places. */
const misspellable = /\b(?:useState|set[A-Z]\w+|count|open|score|done|tab|button|main|section|label|input|return|default|export)\b/g

function matches(program: string, pattern: RegExp): readonly { readonly index: number; readonly text: string }[] {
  return [...program.matchAll(pattern)].map((match) => ({ index: match.index, text: match[0] }))
}

function lost(kind: MistakeKind, program: string, pattern: RegExp): Mistake[] {
  return matches(program, pattern).map(({ index, text }) => ({ kind, start: index, end: index + text.length, replacement: '' }))
}

/** Every misspelling by one exchange of different neighbouring letters, the first letter kept. */
function misspellings(word: string): readonly string[] {
  const found: string[] = []
  for (let at = 1; at + 1 < word.length; at++) {
    const first = word.charAt(at)
    const second = word.charAt(at + 1)
    if (first !== second) found.push(word.slice(0, at) + second + first + word.slice(at + 2))
  }
  return found
}

function wrongClosingTags(program: string): Mistake[] {
  return matches(program, /<\/\w+>/g).flatMap(({ index, text }) => {
    const others = confusedTags[text.slice(2, -1)] ?? []
    return others.map((tag): Mistake => ({ kind: 'closing-tag-wrong', start: index, end: index + text.length, replacement: `</${tag}>` }))
  })
}

function misspeltNames(program: string): Mistake[] {
  return matches(program, misspellable).flatMap(({ index, text }) =>
    misspellings(text).map((replacement): Mistake => ({ kind: 'name-misspelt', start: index, end: index + text.length, replacement })))
}

function attributesWrong(program: string): Mistake[] {
  return matches(program, /\b(?:onClick|type)(?==)/g).map(({ index, text }) => (
    { kind: 'attribute-wrong', start: index, end: index + text.length, replacement: wrongAttributes[text] ?? text }))
}

/** Every mistake that can be made in a program of the built-in grammar, grouped by kind. */
export function possibleMistakes(program: string): Readonly<Record<MistakeKind, readonly Mistake[]>> {
  return {
    'closing-tag-lost': lost('closing-tag-lost', program, /<\/\w+>/g),
    'closing-tag-wrong': wrongClosingTags(program),
    'bracket-lost': lost('bracket-lost', program, /[()[\]{}]/g),
    'quote-lost': lost('quote-lost', program, /['"]/g),
    'slash-lost': lost('slash-lost', program, / \/(?=>)/g),
    'name-misspelt': misspeltNames(program),
    'import-lost': lost('import-lost', program, /^import .*\n\n?/gm),
    'attribute-wrong': attributesWrong(program),
    'keyword-lost': lost('keyword-lost', program, /\b(?:const|function) /g),
  }
}

function places(mistakes: readonly Mistake[]): readonly number[] {
  return [...new Set(mistakes.map((mistake) => mistake.start))]
}

/**
 * The most mistakes that a program of this length bears: one for every five places. With more the wrong spelling of a place would be about as
 * likely as the right one, and a model would learn it as the rule.
 */
export function mistakeCapacity(program: string): number {
  return Math.floor(places(Object.values(possibleMistakes(program)).flat()).length / 5)
}

/**
 * Draws a kind with the weight of the root of its number of places, then a place. Equal kinds would spoil a place that is the only one of its
 * kind (`function `) in most programs, and the model would learn the mistake as the rule; equal places would leave few but brackets.
 */
function drawMistake(stream: RandomStream, open: readonly (readonly Mistake[])[]): Mistake {
  const weights = open.map((candidates) => Math.sqrt(places(candidates).length))
  let rest = stream.uniform() * weights.reduce((sum, weight) => sum + weight, 0)
  const at = weights.findIndex((weight) => (rest -= weight) < 0)
  const candidates = open.at(at) ?? []
  const start = choose(stream, places(candidates))
  return choose(stream, candidates.filter((mistake) => mistake.start === start))
}

/**
 * Makes `count` mistakes at different places. Fewer are made when a program has no room for more.
 *
 * @param program a program of the built-in grammar
 * @returns the program with its mistakes, which are listed by place
 */
export function corrupt(program: string, stream: RandomStream, count: number): { readonly program: string; readonly mistakes: readonly Mistake[] } {
  const possible = possibleMistakes(program)
  const made: Mistake[] = []
  while (made.length < count) {
    const open = mistakeKinds
      .map((kind) => possible[kind].filter((mistake) => made.every((other) => mistake.end <= other.start || other.end <= mistake.start)))
      .filter((candidates) => candidates.length > 0)
    if (open.length === 0) break
    made.push(drawMistake(stream, open))
  }
  made.sort((left, right) => left.start - right.start)
  let text = ''
  let position = 0
  for (const mistake of made) {
    text += program.slice(position, mistake.start) + mistake.replacement
    position = mistake.end
  }
  return { program: text + program.slice(position), mistakes: made }
}
