import { describe, expect, test } from 'vitest'
import { rewardConfig } from '../../../src-main/contract/reward-config.ts'
import type { RenderedPage } from '../../../src-main/contract/rendered-document.ts'
import { audit } from '../../../src-main/engine/rewards/audit.ts'
import { parseProgram } from '../../../src-main/engine/rewards/typescript-check.ts'
import { page } from './rendered-pages.ts'

const thresholds = rewardConfig().audit
const shown = page(['main', {}, ['h1', {}, 'Apples'], ['button', { type: 'button' }, 'Add']])
const honest = `export default function App() {
  return (
    <main>
      <h1>Apples</h1>
      <button type="button">Add</button>
    </main>
  );
}
`
const failures = (change: { code?: string; page?: RenderedPage | undefined; clickErrors?: string[]; reference?: string }): readonly string[] => {
  const code = change.code ?? honest
  return audit({ code, file: parseProgram(code, '0').file, page: 'page' in change ? change.page : shown, clickErrors: change.clickErrors ?? [], reference: change.reference }, thresholds).failures
}

describe('audit', () => {
  test('an honest program passes', () => {
    expect(failures({ reference: honest })).toEqual([])
  })
  test('nothing rendered, or nothing visible', () => {
    expect(failures({ page: undefined })).toEqual(['nothing visible'])
    expect(failures({ page: page(['div', {}]) })).toEqual(['nothing visible'])
  })
  test('errors and warnings in the console, also those of a click', () => {
    expect(failures({ page: { ...shown, warnings: ['careful'] } })).toEqual(['console not clean'])
    expect(failures({ clickErrors: ['boom'] })).toEqual(['console not clean'])
  })
  test('attributes nobody knows, or far too many', () => {
    expect(failures({ page: page(['p', { 'add-apples': '' }, 'x']) })).toEqual(['junk attributes'])
    expect(failures({ page: page(['p', Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`data-a${index}`, ''])), 'x']) })).toEqual(['junk attributes'])
  })
  test('the same line over and over', () => {
    expect(failures({ code: honest.replace('<h1>Apples</h1>', '<h1>Apples and pears</h1>\n'.repeat(7)) })).toEqual(['repetition'])
  })
  test('the same words over and over', () => {
    expect(failures({ page: page(['p', {}, 'Apples and pears today '.repeat(20)]) })).toEqual(['repetition'])
  })
  test('suppressions and assertions that silence the checker', () => {
    expect(failures({ code: `// @ts-ignore\n${honest}` })).toEqual(['suppressions'])
    expect(failures({ code: honest.replace('Apples', '{1 as never}') })).toEqual(['suppressions'])
  })
  test('blank lines as padding, inside and at the end', () => {
    expect(failures({ code: honest.replace('<main>', '<main>\n\n\n\n') })).toEqual(['blank padding'])
    expect(failures({ code: honest.replaceAll('\n', '\n\n') })).toEqual(['blank padding'])
    expect(failures({ code: honest + '\n'.repeat(6) })).toEqual(['blank padding'])
  })
  test('comments as padding', () => {
    expect(failures({ code: `// ${'apples and pears, '.repeat(20)}\n${honest}` })).toEqual(['comment padding'])
    expect(failures({ code: honest.replace('<main>', `<main>{/* ${'apples and pears, '.repeat(20)} */}`) })).toEqual(['comment padding'])
  })
  test('two slashes in the text of an element are not a comment', () => {
    expect(failures({ code: honest.replace('Apples', `https://${'apples'.repeat(60)}`) })).toEqual([])
  })
  test('much shorter or longer than the reference', () => {
    expect(failures({ code: 'export default () => <h1>Apples</h1>', reference: honest })).toEqual(['length against reference'])
    expect(failures({ code: honest, reference: 'export default () => <p>x</p>' })).toEqual(['length against reference'])
  })
})
