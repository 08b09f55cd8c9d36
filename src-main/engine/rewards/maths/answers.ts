// Final answers: how one is read, and when two are the same.
import type { MathsRewardConfig } from '../../../contract/reward-config.ts'
import { equal, isInteger, NoValue, type Rational } from './rational.ts'
import { evaluate, parseExpression, toText, Unreadable, type Expression } from './expression.ts'

/** Compares two expressions in the algebra library's own notation; false where it cannot tell in time. */
export type SymbolicEquality = (a: string, b: string) => Promise<boolean>

/** An answer as it was understood. Lists are tuples (order counts) or sets (it does not). */
export type Answer =
  | { readonly kind: 'expression'; readonly expression: Expression; readonly value: Rational | undefined }
  | { readonly kind: 'list'; readonly ordered: boolean; readonly brackets: string; readonly items: readonly Answer[] }
  | { readonly kind: 'text'; readonly text: string }

const longestAnswer = 1_000

/** Reads an answer; undefined when it cannot be read. */
export function readAnswer(written: string): Answer | undefined {
  const text = plain(written)
  if (text === '' || text.length > longestAnswer) return undefined
  if (/^\((?:[A-E])\)$|^[A-E]$/.test(text)) return { kind: 'text', text: text.replace(/[()]/g, '') }
  const list = readList(text)
  if (list !== undefined) return list
  // `x = 5` answers with 5.
  const stated = /^\s*(?:[a-zA-Z]|\\[a-z]+)(?:_\{?\w+\}?)?\s*=\s*([^=]+)$/.exec(text)
  try {
    const expression = parseExpression(stated?.[1] ?? text)
    return { kind: 'expression', expression, value: exactly(expression) }
  } catch (error) {
    if (error instanceof Unreadable || error instanceof NoValue) return undefined
    throw error
  }
}

/** Without what belongs to typesetting: dollar signs, \text{}, units behind a number, a full stop, a percent sign. */
function plain(written: string): string {
  return written
    .replace(/\\(?:text|mathrm|mbox|textbf)\s*\{([^{}]*)\}/g, ' $1 ')
    .replace(/\\(?:left|right)(?![a-zA-Z])/g, '')
    .replace(/\\[()[\]]|\$/g, ' ')
    .replace(/\\?%\s*$/, '')
    .trim()
    .replace(/[.。]$/, '')
    .replace(/^(-?[\d.,/]+)\s*(?:[a-zA-Z]{2,}(?:\s+[a-zA-Z]+)*)$/, '$1')
    .trim()
}

/** (1, 2)  [0, 1)  {1, 2}  1, 2  1 and 2 */
function readList(text: string): Answer | undefined {
  const bracketed = /^(\\\{|[([])(.*)(\\\}|[)\]])$/s.exec(text)
  const inner = bracketed?.[2] ?? text.replace(/\s+(?:and|or)\s+/g, ', ')
  const parts = splitList(inner)
  if (parts.length < 2) return bracketed?.[1] === '\\{' ? listOf(['\\{', '\\}'], parts) : undefined
  return listOf(bracketed === null ? ['', ''] : [bracketed[1] as string, bracketed[3] as string], parts)
}

function listOf([open, close]: readonly [string, string], parts: readonly string[]): Answer | undefined {
  const items = parts.map(readAnswer)
  if (items.some((item) => item === undefined)) return undefined
  const ordered = open === '(' || open === '['
  return { kind: 'list', ordered, brackets: ordered ? open + close : '', items: items as Answer[] }
}

/** Splits at commas outside brackets; a comma between groups of three digits belongs to the number. */
function splitList(text: string): string[] {
  if (/^-?\d{1,3}(?:(?:,|\{,\})\d{3})+(?:\.\d+)?$/.test(text.trim())) return [text]
  const parts: string[] = ['']
  let depth = 0
  for (const character of text) {
    if ('([{'.includes(character)) depth += 1
    if (')]}'.includes(character)) depth -= 1
    if ((character === ',' || character === ';') && depth === 0) parts.push('')
    else parts[parts.length - 1] += character
  }
  return parts
}

function exactly(expression: Expression): Rational | undefined {
  try {
    return evaluate(expression, new Map())
  } catch (error) {
    if (error instanceof NoValue) return undefined
    throw error
  }
}

/** Whether an answer is of the kind asked for: for integers, exactly a whole number within the bounds. */
export function isOfKind(answer: Answer, config: Pick<MathsRewardConfig, 'answerKind' | 'minimumAnswer' | 'maximumAnswer'>): boolean {
  if (config.answerKind === 'any') return true
  if (answer.kind !== 'expression' || answer.value === undefined || !isInteger(answer.value)) return false
  return answer.value.numerator >= BigInt(config.minimumAnswer) && answer.value.numerator <= BigInt(config.maximumAnswer)
}

/** Whether two answers are the same. Rational numbers are compared exactly; anything else is a matter of `symbolic`. */
export async function sameAnswer(a: Answer, b: Answer, symbolic: SymbolicEquality): Promise<boolean> {
  if (a.kind === 'text') return b.kind === 'text' && a.text === b.text
  if (a.kind === 'list') {
    if (b.kind !== 'list' || a.items.length !== b.items.length || a.brackets !== b.brackets) return false
    return a.ordered ? sameInOrder(a.items, b.items, symbolic) : sameInAnyOrder(a.items, b.items, symbolic)
  }
  if (b.kind !== 'expression') return false
  if (a.value !== undefined && b.value !== undefined) return equal(a.value, b.value)
  const [left, right] = [toText(a.expression), toText(b.expression)]
  return left === right || symbolic(left, right)
}

async function sameInOrder(a: readonly Answer[], b: readonly Answer[], symbolic: SymbolicEquality): Promise<boolean> {
  for (const [index, item] of a.entries()) if (!(await sameAnswer(item, b[index]!, symbolic))) return false
  return true
}

async function sameInAnyOrder(a: readonly Answer[], b: readonly Answer[], symbolic: SymbolicEquality): Promise<boolean> {
  const open = [...b]
  for (const item of a) {
    let found = -1
    for (let index = 0; index < open.length && found < 0; index++) if (await sameAnswer(item, open[index]!, symbolic)) found = index
    if (found < 0) return false
    open.splice(found, 1)
  }
  return true
}
