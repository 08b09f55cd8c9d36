// What a judge wrote -> numbers. Small models keep to a form only roughly, so several ways of writing the same thing are understood; what
// cannot be read for certain is undefined and counts as no answer.

/** A line the judge finds bad. */
export interface WorstLine {
  /** From 1. */
  readonly line: number
  /** -1 to -3. */
  readonly impact: number
  readonly reason: string
}

/** Longer answers than any judge needs; what lies beyond is not looked at. */
const longestAnswer = 65_536
const mostLines = 3
const longestReason = 200

/** The answer without what was thought before it; undefined when the thinking never ended. */
export function spoken(answer: string): string | undefined {
  const text = answer.slice(0, longestAnswer).replaceAll('\u2212', '-')
  const end = text.lastIndexOf('</think>')
  if (end >= 0) return text.slice(end + '</think>'.length)
  return /<think>/.test(text) ? undefined : text
}

const named = /\bscore\b["'*_`]*(?:[ \t]*\([^)\n]{0,40}\))?["'*_`]*[ \t]*(?:is|of)?[ \t]*[:=]?[ \t]*["'*_`[]*[ \t]*(-?\d{1,4}(?:[.,]\d{1,6})?)(?![\d%\w]|-\d)["'*_`\]]*(?:[ \t]*\/[ \t]*(\d+)|[ \t]*out of[ \t]*(\d+))?/gi
const fraction = /(?<![\d.,/])(\d{1,2}(?:[.,]\d{1,6})?)[ \t]*(?:\/|out of)[ \t]*10(?![\d/]|[.,]\d)/g
const alone = /^[\s"'*_`[({]*(-?\d{1,4}(?:[.,]\d{1,6})?)[\s"'*_`\])}.]*$/

/**
 * The score of an answer, 0 to 10; numbers outside are clipped. `SCORE: 7`, `{"score": 7}`, `7/10` and a bare `7` are understood; the last
 * one counts. undefined when there is none, or when it is on another scale.
 */
export function readScore(answer: string): number | undefined {
  const text = spoken(answer)
  if (text === undefined) return undefined
  const last = [...text.matchAll(named)].at(-1)
  if (last !== undefined) {
    const scale = last[2] ?? last[3]
    return scale === undefined || scale === '10' ? clipped(last[1]!) : undefined
  }
  const other = [...text.matchAll(fraction)].at(-1)?.[1] ?? alone.exec(text)?.[1]
  return other === undefined ? undefined : clipped(other)
}

function clipped(text: string): number {
  return Math.max(0, Math.min(10, Number(text.replace(',', '.'))))
}

const lineAsText = /\bline[ \t]*#?[ \t]*(\d{1,6})\b(?:[ \t]*[-–][ \t]*\d{1,6}(?=[ \t]*[:|(]))?[^\n\d+-]{0,40}?([+-]?[0-3](?:\.\d{1,3})?)(?![\d.]*\d|%)[ \t]*[)\]|:,;*-]*[ \t]*([^\n]*)/gi
const lineAsJson = /"line"\s*:\s*(\d{1,6})[^{}]*?"impact"\s*:\s*([+-]?[0-3](?:\.\d{1,3})?)(?![\d.]*\d)(?:[^{}]*?"reason"\s*:\s*"([^"\n]*))?/gi
const noLine = /\bnone\b|\bno (?:such |bad |problematic )?lines?\b|"lines"\s*:\s*\[\s*\]/i

/**
 * The worst lines of an answer, at most three, the worst first: `LINE 12: -2 why`, or objects with line, impact and reason.
 * @param lines number of lines there are; others are left out
 * @returns an empty list where the judge says there are none, undefined when nothing can be read
 */
export function readWorstLines(answer: string, lines: number): WorstLine[] | undefined {
  const text = spoken(answer)
  if (text === undefined) return undefined
  const json = [...text.matchAll(lineAsJson)]
  const found = (json.length > 0 ? json : [...text.matchAll(lineAsText)]).map(([, line, impact, reason = '']) => ({ line: Number(line), impact: -Math.abs(Number(impact)), reason: reason.trim().slice(0, longestReason) }))
  if (found.length === 0) return noLine.test(text) ? [] : undefined
  const worst = new Map<number, WorstLine>()
  for (const entry of found) {
    if (entry.impact > -1 || entry.line < 1 || entry.line > lines) continue
    const before = worst.get(entry.line)
    if (before === undefined || entry.impact < before.impact) worst.set(entry.line, entry)
  }
  return [...worst.values()].sort((a, b) => a.impact - b.impact || a.line - b.line).slice(0, mostLines)
}

const stepMark = /\bstep[ \t]*#?[ \t_]*(\d{1,5})\b(?:[ \t]*[-–][ \t]+|[^\n\w+-]{0,12})((?:not[ \t]+)?[a-z]+|[+-]?[01])\b/gi
const marks: Readonly<Record<string, -1 | 0 | 1>> = {
  correct: 1, right: 1, valid: 1, true: 1, good: 1, ok: 1, '1': 1, '+1': 1,
  wrong: -1, incorrect: -1, invalid: -1, false: -1, bad: -1, '-1': -1,
  unclear: 0, unsure: 0, neutral: 0, unknown: 0, '0': 0, '+0': 0, '-0': 0,
}

/**
 * What an answer says of each of `count` steps: -1 wrong, +1 right, 0 unclear or not mentioned. undefined when it says nothing of any step.
 * `STEP 2: wrong` and `Step 2: -1` are understood; the last word on a step counts.
 */
export function readStepMarks(answer: string, count: number): (-1 | 0 | 1)[] | undefined {
  const text = spoken(answer)
  if (text === undefined) return undefined
  const values = new Array<-1 | 0 | 1>(count).fill(0)
  let read = false
  for (const [, number, word] of text.matchAll(stepMark)) {
    const said = word!.toLowerCase().replace(/\s+/g, ' ')
    const mark = said.startsWith('not ') ? (marks[said.slice(4)] ?? 0) * -1 : marks[said]
    const step = Number(number) - 1
    if (mark === undefined || step < 0 || step >= count) continue
    values[step] = (mark === 0 ? 0 : mark) as -1 | 0 | 1
    read = true
  }
  return read ? values : undefined
}
