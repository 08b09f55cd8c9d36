// How a solution is laid out: numbered steps and a final answer, in tags.
//
//   <step_1> 3 * 4 = 12 </step_1> <step_2> 12 + 5 = 17 </step_2> <final> 17 </final>

/** A stretch of the completion; `text.slice(start, end)`. */
export interface Stretch {
  readonly start: number
  readonly end: number
}

export interface Solution {
  /** matched: every tag is closed by its own, steps are numbered 1, 2, ..., and one final answer ends them. missing: there is no tag at all. */
  readonly format: 'matched' | 'mismatched' | 'missing'
  /** What the tags hold. Without step tags: paragraphs that begin with `Step N`, or all lines. */
  readonly steps: readonly Stretch[]
  /** The last final answer or, failing that, the last balanced \boxed{}; undefined when there is neither. */
  readonly answer: Stretch | undefined
  /** Every answer that was given, as written. */
  readonly answers: readonly string[]
}

const tag = /<(\/?)(?:step_(\d{1,4})|(final))>/g

/** Reads the layout of a completion. Text before the end of a thinking section is no part of the solution. */
export function readSolution(text: string): Solution {
  const thinking = text.lastIndexOf('</think>')
  const from = thinking < 0 ? 0 : thinking + '</think>'.length
  const tags = [...text.matchAll(tag)].filter((match) => match.index >= from)
  const steps: Stretch[] = []
  const finals: Stretch[] = []
  let matched = tags.length > 0
  let open: { readonly name: string; readonly start: number } | undefined
  for (const match of tags) {
    const name = match[2] ?? 'final'
    if (match[1] === '') {
      // A step that was never closed still was a step, up to where the next tag begins.
      if (open !== undefined) matched = false
      if (open !== undefined && open.name !== 'final') steps.push({ start: open.start, end: match.index })
      if (name === 'final' ? finals.length > 0 : finals.length > 0 || Number(name) !== steps.length + 1) matched = false
      open = { name, start: match.index + match[0].length }
      continue
    }
    if (open?.name !== name) {
      matched = false
      continue
    }
    ;(name === 'final' ? finals : steps).push({ start: open.start, end: match.index })
    open = undefined
  }
  if (open !== undefined) {
    matched = false
    if (open.name !== 'final') steps.push({ start: open.start, end: text.length })
  }
  if (finals.length !== 1 || steps.length === 0) matched = false
  const boxes = boxedAnswers(text, from)
  const answers = [...finals.map((final) => boxInside(text, final) ?? final), ...boxes]
  const answer = finals.length > 0 ? answers[finals.length - 1] : answers.at(-1)
  return {
    format: tags.length === 0 ? 'missing' : matched ? 'matched' : 'mismatched',
    steps: steps.length > 0 ? steps : untaggedSteps(text, from, finals[0]?.start ?? text.length),
    answer: answer === undefined ? undefined : trimmed(text, answer),
    answers: answers.map(({ start, end }) => text.slice(start, end).trim()),
  }
}

function boxInside(text: string, { start, end }: Stretch): Stretch | undefined {
  return boxedAnswers(text.slice(0, end), start).at(-1)
}

/** Contents of every balanced \boxed{} (or \fbox{}) from a position on. */
function boxedAnswers(text: string, from: number): Stretch[] {
  const found: Stretch[] = []
  const opening = /\\f?boxed\s*\{|\\fbox\s*\{/g
  opening.lastIndex = from
  for (let match = opening.exec(text); match !== null; match = opening.exec(text)) {
    const start = match.index + match[0].length
    let depth = 1
    let end = start
    for (; end < text.length && depth > 0; end++) {
      if (text[end] === '{' && text[end - 1] !== '\\') depth += 1
      if (text[end] === '}' && text[end - 1] !== '\\') depth -= 1
    }
    if (depth === 0) found.push({ start, end: end - 1 })
  }
  return found
}

/** Steps of a solution without tags. */
function untaggedSteps(text: string, from: number, to: number): Stretch[] {
  const headings = [...text.slice(from, to).matchAll(/^[ \t]*(?:\*\*|#+[ \t]*)?(?:step[ \t]+\d+\b|\d+[.)][ \t])/gim)].map(({ index }) => from + index)
  if (headings.length > 0) return headings.map((start, index) => ({ start, end: headings[index + 1] ?? to }))
  const steps: Stretch[] = []
  for (const line of text.slice(from, to).matchAll(/[^\r\n]+/g)) if (line[0].trim() !== '') steps.push({ start: from + line.index, end: from + line.index + line[0].length })
  return steps
}

function trimmed(text: string, { start, end }: Stretch): Stretch {
  const content = text.slice(start, end)
  const left = content.length - content.trimStart().length
  return { start: start + Math.min(left, content.length), end: start + content.trimEnd().length < start + left ? start + left : start + content.trimEnd().length }
}
