// The offline step verifier: finds the equalities in a step and checks them by exact arithmetic.
//
//   false -> -1      checked, not trivial, not repeated, built on numbers that are known -> +1      anything else -> 0
//
// What it cannot read it does not judge. A false verdict needs an equality of nothing but numbers: a name may mean something else here
// than where it was introduced.
import { equal, multiply, NoValue, rational, subtract, type Rational } from './rational.ts'
import { evaluate, freeNames, operations, parseTokens, tokenise, toText, Unreadable, type Expression, type Token } from './expression.ts'
import type { Stretch } from './solution.ts'

export interface StepVerdict extends Stretch {
  readonly value: -1 | 0 | 1
  readonly message: string
}

export interface VerifierOptions {
  /** After the first wrong step no later step earns or loses anything. */
  readonly errorPropagation: boolean
}

const manySteps = 200
const longestStep = 4_000

/** Judges the steps of a solution in order. Positions are those of the steps in `text`. */
export function verifySteps(text: string, problem: string, steps: readonly Stretch[], options: VerifierOptions): StepVerdict[] {
  const known = knowledgeOf(problem)
  let wrong = false
  return steps.map((step, index) => {
    const none = (message: string): StepVerdict => ({ ...step, value: 0, message })
    if (index >= manySteps) return none('there are too many steps to check')
    if (wrong && options.errorPropagation) return none('an earlier step is wrong')
    const content = text.slice(step.start, step.end)
    if (content.length > longestStep) return none('the step is too long to check')
    const { verdict, message } = verifyStep(content, known)
    if (verdict < 0) wrong = true
    return { ...step, value: verdict, message }
  })
}

interface Knowledge {
  /** Numbers of the problem and results of checked equalities. */
  readonly numbers: Set<string>
  readonly names: Map<string, Rational>
  /** Equalities that earned something already. */
  readonly seen: Set<string>
}

function knowledgeOf(problem: string): Knowledge {
  const numbers = new Set<string>()
  for (const token of tokenise(problem.slice(0, 20_000))) if (token.kind === 'number' && token.text.length < 40) numbers.add(toText(parseTokens([token])))
  return { numbers, names: new Map(), seen: new Set() }
}

function verifyStep(content: string, known: Knowledge): { verdict: -1 | 0 | 1; message: string } {
  let gained: string | undefined
  for (const equality of equalities(content)) {
    const { verdict, message } = judge(equality, known)
    if (verdict < 0) return { verdict, message }
    if (verdict > 0) gained ??= message
  }
  return gained === undefined ? { verdict: 0, message: 'nothing here could be checked' } : { verdict: 1, message: gained }
}

interface Equality {
  readonly left: Expression
  readonly right: Expression
  /** Present for a congruence. */
  readonly modulus: Expression | undefined
  readonly text: string
  /** Words stand in front of it in the same sentence: a bare number on the left may be what they describe. */
  readonly described: boolean
}

/** Every equality a step states; in a chain a = b = c each neighbouring pair. */
function equalities(content: string): Equality[] {
  const tokens = tokenise(content)
  const found: Equality[] = []
  for (const [from, to] of runs(content, tokens)) {
    const relations: number[] = []
    for (let at = from; at < to; at++) if (isRelation(tokens[at]!)) relations.push(at)
    const bounds = [from - 1, ...relations, to]
    const sides = bounds.slice(1).map((end, side) => {
      const start = bounds[side]! + 1
      return side === 0 ? longestEnding(tokens, start, end) : side === bounds.length - 2 ? longestBeginning(tokens, start, end) : whole(tokens, start, end)
    })
    const modulus = modulusOf(tokens, bounds.at(-2)! + 1, to)
    for (const [index, relation] of relations.entries()) {
      const [left, right] = [sides[index], sides[index + 1]]
      if (left === undefined || right === undefined) continue
      const congruence = tokens[relation]!.text === '≡'
      if (congruence && modulus === undefined) continue
      found.push({ left, right, modulus: congruence ? modulus : undefined, text: content.slice(tokens[bounds[index]! + 1]?.start ?? 0, tokens[bounds[index + 2]! - 1]?.end ?? 0).trim().slice(0, 120), described: index === 0 && tokens[from - 1]?.kind === 'word' })
    }
  }
  return found
}

const isRelation = (token: Token): boolean => token.kind === 'symbol' && (token.text === '=' || token.text === '≡')

/** Stretches of tokens that may be arithmetic and hold a relation: no words, no sentence ends. [from, to) */
function* runs(content: string, tokens: readonly Token[]): Generator<readonly [number, number]> {
  const breaks = (at: number): boolean => {
    const token = tokens[at]!
    if (token.kind === 'word' || (token.kind === 'symbol' && token.text === ',' && depthAt(tokens, at) === 0)) return true
    // A new line ends a statement, unless it goes on with a relation.
    return at > 0 && !isRelation(token) && /[\r\n]/.test(content.slice(tokens[at - 1]!.end, token.start)) && !isRelation(tokens[at - 1]!)
  }
  let from = 0
  for (let at = 0; at <= tokens.length; at++) {
    if (at < tokens.length && !breaks(at)) continue
    const isWord = at < tokens.length && tokens[at]!.kind === 'word'
    if (tokens.slice(from, at).some(isRelation) && !cutOff(tokens, from, at)) yield [from, at]
    from = isWord || (at < tokens.length && tokens[at]!.text === ',') ? at + 1 : at
  }
}

function depthAt(tokens: readonly Token[], at: number): number {
  let depth = 0
  for (let index = 0; index < at; index++) {
    if (tokens[index]!.text === '(') depth += 1
    if (tokens[index]!.text === ')') depth -= 1
  }
  return depth
}

const punctuation = /^[.,;:?!'"*#<>]$/
/** Words that make the number beside them a part of something larger: `20 % of 50 = 10`, `10 = 5 times 2`. */
const wordsBefore = /^(?:of|times|plus|minus|by|choose|over|than|from|between|ldots|dots|cdots)$/i
const wordsBehind = /^(?:times|plus|minus|choose|over|divided|multiplied|dozen|hundred|thousand|million|percent|squared|cubed|factorial|remainder|modulo|ldots|dots|cdots)$/i

/** Whether something we cannot read touches the run on either side (`3 : 4 = ...`, `... = 5 < x`): then its sides are not what they seem. */
function cutOff(tokens: readonly Token[], from: number, to: number): boolean {
  return touches(tokens, to, to - 1, to + 1) || touches(tokens, from - 1, from, from - 2) || isOperator(tokens[from], '+*/^')
}

/** @param neighbour the token outside the run, `inner` the run's token beside it, `outer` the one beyond */
function touches(tokens: readonly Token[], neighbour: number, inner: number, outer: number): boolean {
  const token = tokens[neighbour]
  if (token?.kind !== 'word') return false
  if (/^[a-zA-Z]+$/.test(token.text)) return (inner < neighbour ? wordsBehind : wordsBefore).test(token.text)
  if (!punctuation.test(token.text)) return true
  if (!/^[:<>.]$/.test(token.text) || !isOperand(tokens[outer])) return false
  // `2: 3` is a heading, `2:3` and `2 : 3` are a ratio.
  const [left, right] = inner < neighbour ? [tokens[inner]!, tokens[outer]!] : [tokens[outer]!, tokens[inner]!]
  return (left.end === token.start) === (token.end === right.start)
}

const isOperand = (token: Token | undefined): boolean => token !== undefined && (token.kind === 'number' || token.kind === 'name' || (token.kind === 'symbol' && /^[)}\]!%]$/.test(token.text)))
const isOperator = (token: Token | undefined, operators: string): boolean => token?.kind === 'symbol' && operators.includes(token.text)

const mostAttempts = 60

function whole(tokens: readonly Token[], from: number, to: number): Expression | undefined {
  try {
    return parseTokens(tokens, from, to)
  } catch (error) {
    if (error instanceof Unreadable || error instanceof NoValue) return undefined
    throw error
  }
}

/** The first side: text may precede it, but only as an operand of its own (`2 3 + 4` reads 3 + 4), never a dangling operator. */
function longestEnding(tokens: readonly Token[], from: number, to: number): Expression | undefined {
  for (let start = Math.max(from, to - mostAttempts); start < to; start++) {
    if (start > from && (!isOperand(tokens[start - 1]) || isOperator(tokens[start], '+-*/^!%)'))) continue
    const value = whole(tokens, start, to)
    if (value !== undefined) return value
  }
  return undefined
}

/** The last side: text may follow it, but no operator. */
function longestBeginning(tokens: readonly Token[], from: number, to: number): Expression | undefined {
  for (let end = Math.min(to, from + mostAttempts); end > from; end--) {
    if (end < to && isOperator(tokens[end], '+-*/^!%')) continue
    const value = whole(tokens, from, end)
    if (value !== undefined) return value
  }
  return undefined
}

/** The modulus behind the last side: (mod 7), \pmod 7, mod 7. */
function modulusOf(tokens: readonly Token[], from: number, to: number): Expression | undefined {
  for (let at = from; at < to; at++) {
    if (tokens[at]!.text !== 'mod') continue
    const end = tokens[to - 1]!.text === ')' && depthAt(tokens, to) < 1 ? to - 1 : to
    return longestBeginning(tokens, at + 1, end) ?? longestBeginning(tokens, at + 1, to)
  }
  return undefined
}

function judge({ left, right, modulus, text, described }: Equality, known: Knowledge): { verdict: -1 | 0 | 1; message: string } {
  const unclear = { verdict: 0, message: '' } as const
  const [a, b, m] = [valueOf(left, known), valueOf(right, known), modulus === undefined ? undefined : valueOf(modulus, known)]
  if (left.kind === 'name' && modulus === undefined && b !== undefined && !freeNames(right).has(left.name)) {
    // A name is given a value (perhaps another one than before, in another case): that states nothing yet.
    known.names.set(left.name, b)
    return unclear
  }
  if (a === undefined || b === undefined || (modulus !== undefined && m === undefined)) return unclear
  const named = [left, right].some((side) => freeNames(side).size > 0)
  const worked = operations(left) + operations(right) > 0
  if (!(m === undefined ? equal(a, b) : isMultiple(subtract(a, b), m))) {
    const doubtful = named || !worked || (described && operations(left) === 0) || rounded(left, a, b) || rounded(right, a, b)
    return doubtful ? unclear : { verdict: -1, message: `${text} is false` }
  }
  const key = `${toText(left)} = ${toText(right)}`
  const grounded = named || [...literals(left), ...literals(right)].some((literal) => known.numbers.has(literal))
  for (const value of [a, b]) known.numbers.add(toText({ kind: 'number', value, decimals: 0 }))
  if (!worked || !grounded || toText(left) === toText(right) || known.seen.has(key)) return unclear
  known.seen.add(key)
  return { verdict: 1, message: `${text} holds` }
}

function valueOf(expression: Expression, known: Knowledge): Rational | undefined {
  try {
    return evaluate(expression, known.names)
  } catch (error) {
    if (error instanceof NoValue) return undefined
    throw error
  }
}

function isMultiple(difference: Rational, modulus: Rational): boolean {
  return modulus.numerator !== 0n && difference.denominator === 1n && modulus.denominator === 1n && difference.numerator % modulus.numerator === 0n
}

/** A decimal that is the other side rounded to its own places: not exact, and not meant to be. */
function rounded(side: Expression, a: Rational, b: Rational): boolean {
  if (side.kind !== 'number' || side.decimals === 0) return false
  const scaled = multiply(subtract(a, b), rational(2n * 10n ** BigInt(side.decimals)))
  return (scaled.numerator < 0n ? -scaled.numerator : scaled.numerator) <= scaled.denominator
}

function literals(expression: Expression): string[] {
  switch (expression.kind) {
    case 'number':
      return [toText(expression)]
    case 'name':
      return []
    case 'operation':
      return [...literals(expression.left), ...literals(expression.right)]
    case 'call':
      return expression.parameters.flatMap(literals)
  }
}
