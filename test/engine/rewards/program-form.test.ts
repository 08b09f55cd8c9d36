import { describe, expect, test } from 'vitest'
import { createFormMemory, formOf, type ProgramForm } from '../../../src-main/engine/rewards/program-form.ts'
import { parseProgram } from '../../../src-main/engine/rewards/typescript-check.ts'
import type { CodeDiagnostic } from '../../../src-main/engine/rewards/diagnostic.ts'

const form = (code: string): ProgramForm => formOf(parseProgram(code, 'test').file)
const app = (inside: string): string => `export default () => <main>${inside}</main>;\n`
const finding = (start: number, length: number): CodeDiagnostic => ({ start, length, severity: 'error', rule: 'r', message: 'm' })

describe('the form of a program', () => {
  test('is the same for other words between the tags', () => {
    expect(form(app('<h1>Giant Cards</h1><p>2 left, caf\u00e9</p>')).text).toBe(form(app('<h1>Tickets</h1><p>x</p>')).text)
  })

  test.each([
    ['a text in quotes', app("<p>{'a'}</p>"), app("<p>{'b'}</p>")],
    ['an attribute', app('<p title="a">x</p>'), app('<p title="b">x</p>')],
    ['a name', 'const a = 1;\n', 'const b = 1;\n'],
    ['a comment', app('{/* a */}'), app('{/* b */}')],
    ['a line break between words', app('<p>a b</p>'), app('<p>a\nb</p>')],
    ['no words at all', app('<p>a</p>'), app('<p> </p>')],
    ['a bracket, which is a mistake', app('<p>a } b</p>'), app('<p>a b</p>')],
    ['an entity, which may be white space', app('<p>&nbsp;</p>'), app('<p>&amp;</p>')],
    ['a character that only one of the readers takes for white space', app('<p>\u200b</p>'), app('<p>a</p>')],
  ])('differs by %s', (_what, one, other) => {
    expect(form(one).text).not.toBe(form(other).text)
  })
})

describe('findings by form', () => {
  const long = app('<h1>Giant Cards</h1><p title={1}>here</p>')
  const short = app('<h1>Up</h1><p title={1}>there it is</p>')
  const nothingNew = (): never => {
    throw new Error('this form is known')
  }

  test('are found once and then stand where the other program has them', () => {
    const memory = createFormMemory(4)
    const at = (code: string): CodeDiagnostic[] => [finding(code.indexOf('title'), 5), finding(code.indexOf('</p>'), 4), finding(code.indexOf('>', code.indexOf('title')) + 1, code.indexOf('</p>') - code.indexOf('>', code.indexOf('title')) - 1)]
    expect(memory(form(long), () => at(long))).toEqual(at(long))
    expect(memory(form(short), nothingNew)).toEqual(at(short))
  })

  test('inside of words are never remembered', () => {
    const memory = createFormMemory(4)
    expect(memory(form(long), () => [finding(long.indexOf('Cards'), 5)])).toEqual([finding(long.indexOf('Cards'), 5)])
    expect(memory(form(short), () => [])).toEqual([])
  })

  test('without a place stay without one', () => {
    const memory = createFormMemory(4)
    const nowhere: CodeDiagnostic = { start: undefined, length: 0, severity: 'fatal', rule: 'r', message: 'm' }
    memory(form(long), () => [nowhere])
    expect(memory(form(short), nothingNew)).toEqual([nowhere])
  })

  test('of the oldest form are forgotten', () => {
    const memory = createFormMemory(1)
    memory(form(long), () => [finding(0, 1)])
    memory(form('const a = <p>x</p>;\n'), () => [])
    expect(memory(form(long), () => [])).toEqual([])
  })
})
