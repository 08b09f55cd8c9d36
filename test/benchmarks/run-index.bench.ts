// A long run in the app: listed, opened, looked at closer, one step of its rollouts read. Its folder is made for the occasion.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRunLibrary } from '../../src-main/app/library.ts'
import { runSnapshotSchema } from '../../src-main/contract/calls/run-data.ts'
import { makeLongRun, rolloutsOfAStep } from '../support/long-run.ts'
import { medianSeconds } from './rows.ts'
import type { BenchmarkRow } from './rows.ts'

export async function benchmarkRunIndex(quick: boolean): Promise<BenchmarkRow[]> {
  const steps = quick ? 50 : 10_000
  const runs = mkdtempSync(join(tmpdir(), 'satchel-long-run-'))
  try {
    const run = makeLongRun(runs, 'long', { steps, rollouts: true })
    const open = async (): Promise<void> => void runSnapshotSchema.parse(await createRunLibrary(runs).open(run))
    const opened = await medianSeconds(open, 3)
    const library = createRunLibrary(runs)
    await library.open(run)
    const what = `run of ${steps} steps, ${steps * rolloutsOfAStep} rollouts`
    return [
      { name: `${what}: listed`, value: 1000 * (await medianSeconds(() => createRunLibrary(runs).list(), 3)), unit: 'ms' },
      { name: `${what}: opened`, value: 1000 * opened, unit: 'ms', goal: 'under 1000 ms', met: opened < 1 },
      { name: `${what}: opened again`, value: 1000 * (await medianSeconds(() => library.open(run), 3)), unit: 'ms' },
      { name: `${what}: a tenth of its curves in full`, value: 1000 * (await medianSeconds(() => library.metrics(run, { from: 1, to: steps / 10, columns: 600 }), 5)), unit: 'ms' },
      { name: `${what}: rollouts of one step`, value: 1000 * (await medianSeconds(() => createRunLibrary(runs).rollouts(run, steps), 5)), unit: 'ms' },
    ]
  } finally {
    rmSync(runs, { recursive: true, force: true })
  }
}
