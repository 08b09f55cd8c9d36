// A long run in the app: listed, opened, looked at closer, one step of its rollouts read. Its folder is made for the occasion.
import { linkSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { createRunLibrary } from '../../src-main/app/library.ts'
import { runSnapshotSchema } from '../../src-main/contract/calls/run-data.ts'
import type { RolloutRecord } from '../../src-main/contract/events.ts'
import { medianSeconds } from './rows.ts'
import type { BenchmarkRow } from './rows.ts'

const metricsOfARow = 48
const rolloutsOfAStep = 64
const tokens = 60

/** A run folder of `steps` steps; all steps share one file of rollouts, by hard links. */
function makeRun(runs: string, steps: number): string {
  const run = join(runs, 'long')
  for (const folder of ['rollouts', 'eval', 'checkpoints']) mkdirSync(join(run, folder), { recursive: true })
  writeFileSync(join(run, 'run.json'), JSON.stringify({ version: 1, training: { steps }, created: '2026-01-01T00:00:00.000Z' }))
  const names = ['reward', ...Array.from({ length: metricsOfARow - 1 }, (_, index) => `metric/${index}`)]
  const row = (step: number): string => `${JSON.stringify({ step, values: Object.fromEntries(names.map((name, index) => [name, Math.sin(step / 50 + index)])) })}\n`
  writeFileSync(join(run, 'metrics.jsonl'), Array.from({ length: steps }, (_, index) => row(index + 1)).join(''))
  const numbers = Array.from({ length: tokens }, (_, index) => Math.sin(index))
  const record = (index: number): RolloutRecord => ({
    step: 1, promptId: `p${index % 8}`, prompt: 'Make it.', index, text: 'x'.repeat(tokens), ids: numbers.map((_, at) => at), starts: numbers.map((_, at) => at), ends: numbers.map((_, at) => at + 1),
    logprobs: numbers, entropies: numbers, tokenRewards: numbers, advantages: numbers, reward: 0, outcome: 0, finish: 'stop', stages: { parse: true, types: true, bundle: true, render: true }, requirementScore: 1, auditPassed: true, sources: [], spans: [],
  })
  const first = join(run, 'rollouts', '000001.jsonl.gz')
  writeFileSync(first, gzipSync(Array.from({ length: rolloutsOfAStep }, (_, index) => `${JSON.stringify(record(index))}\n`).join('')))
  for (let step = 2; step <= steps; step += 1) linkSync(first, join(run, 'rollouts', `${String(step).padStart(6, '0')}.jsonl.gz`))
  return run
}

export async function benchmarkRunIndex(quick: boolean): Promise<BenchmarkRow[]> {
  const steps = quick ? 50 : 10_000
  const runs = mkdtempSync(join(tmpdir(), 'satchel-long-run-'))
  try {
    const run = makeRun(runs, steps)
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
