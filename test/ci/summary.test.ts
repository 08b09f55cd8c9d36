// The last line of .ci/run: nothing that failed, was skipped or never ran may hide behind it.
import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { projectRoot } from '../../src-main/engine/runtime/paths.ts'

interface FileReport {
  readonly name: string
  readonly status: 'passed' | 'failed'
  readonly message: string
  readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[]
}

const file = (...statuses: string[]): FileReport => ({
  name: 'some.test.ts', status: statuses.includes('failed') ? 'failed' : 'passed', message: '',
  assertionResults: statuses.map((status, index) => ({ status, fullName: `test ${index}` })),
})

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'satchel-summary-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function summary(reports: { readonly test?: readonly FileReport[]; readonly desktop?: readonly FileReport[]; readonly packaged?: readonly FileReport[] }, ...failedSteps: string[]): Promise<{ code: number | null; last: string }> {
  for (const suite of ['test', 'desktop', 'packaged'] as const) {
    const report = reports[suite]
    await rm(join(folder, `${suite}.json`), { force: true })
    if (report !== undefined) await writeFile(join(folder, `${suite}.json`), JSON.stringify({ testResults: report }))
  }
  const { status, stdout } = spawnSync(process.execPath, [join(projectRoot(), 'test', 'ci', 'summary.mjs'), folder, ...failedSteps], { encoding: 'utf8' })
  return { code: status, last: stdout.trimEnd().split('\n').at(-1) ?? '' }
}

describe('summary', () => {
  const good = { test: [file('passed', 'passed')], desktop: [file('passed')], packaged: [file('passed')] }

  it('adds up what passed', async () => {
    expect(await summary(good)).toEqual({ code: 0, last: '4 passed, 0 failed' })
  })

  it.each([
    ['a failed test', { ...good, test: [file('passed', 'failed')] }, ['test'], '3 passed, 1 failed'],
    ['a skipped test', { ...good, test: [file('passed', 'skipped')] }, [], '3 passed, 1 failed'],
    ['a file that could not be loaded', { ...good, test: [...good.test, { ...file(), status: 'failed' as const, message: 'no such module' }] }, ['test'], '4 passed, 1 failed'],
    ['a report that is not there', { test: good.test, packaged: good.packaged }, ['desktop'], '3 passed, 1 failed'],
    ['a step that failed though its report is good', good, ['test'], '4 passed, 1 failed'],
    ['a step without a report', good, ['lint', 'demo'], '4 passed, 2 failed'],
    ['nothing at all', { test: [], desktop: [], packaged: [] }, [], '0 passed, 0 failed'],
  ])('%s fails the run', async (_title, reports, failedSteps, last) => {
    expect(await summary(reports, ...failedSteps)).toEqual({ code: 1, last })
  })
})
