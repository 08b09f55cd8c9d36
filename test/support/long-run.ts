// A long run's folder, made for the occasion: waves instead of training, and one file of rollouts that all steps share.
import { linkSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { RolloutRecord } from '../../src-main/contract/events.ts'

/** Metrics a real step reports, so that every curve of the Monitor has something to draw. */
const metricNames = [
  'reward', 'reward_std', 'reward_std_between', 'rewards/compiler/mean', 'rewards/lint/mean', 'rewards/requirements/mean', 'frac_reward_zero_std', 'kl', 'entropy', 'ratio', 'clip_ratio/region_mean',
  'clip_ratio/low_mean', 'clip_ratio/high_mean', 'completions/mean_length', 'completions/max_length', 'completions/clipped_ratio', 'grad_norm', 'learning_rate', 'loss', 'audit/hack_rate', 'time/generate',
  'time/score_wait', 'time/update', 'step_time', 'tokens_per_second/generate', 'memory/resident_gib', 'memory/peak_gib', 'memory/planned_gib',
]
export const rolloutsOfAStep = 64
const tokens = 60

export interface LongRunOptions {
  readonly steps: number
  /** Steps it is to have in the end; `steps` where left out. With more, it can be resumed. */
  readonly totalSteps?: number
  /** Whether its steps have rollouts. */
  readonly rollouts: boolean
}

function metricsRow(step: number): string {
  const values = metricNames.map((name, index) => [name, Number((1 + Math.sin(step / 50 + index) + 0.3 * Math.sin(step * (index + 1.7))).toPrecision(6))] as const)
  return `${JSON.stringify({ step, values: Object.fromEntries(values) })}\n`
}

function rolloutsFile(): Buffer {
  const numbers = Array.from({ length: tokens }, (_, index) => Math.sin(index))
  const record = (index: number): RolloutRecord => ({
    step: 1, promptId: `p${index % 8}`, prompt: 'Make it.', index, text: 'x'.repeat(tokens), ids: numbers.map((_, at) => at), starts: numbers.map((_, at) => at), ends: numbers.map((_, at) => at + 1),
    logprobs: numbers, entropies: numbers, tokenRewards: numbers, advantages: numbers, reward: 0, outcome: 0, finish: 'stop', stages: { parse: true, types: true, bundle: true, render: true }, requirementScore: 1, auditPassed: true, sources: [], spans: [],
  })
  return gzipSync(Array.from({ length: rolloutsOfAStep }, (_, index) => `${JSON.stringify(record(index))}\n`).join(''))
}

/** Makes the folder `runs`/`name` and returns it. */
export function makeLongRun(runs: string, name: string, { steps, totalSteps = steps, rollouts }: LongRunOptions): string {
  const run = join(runs, name)
  const file = (folder: string, step: number, extension: string): string => join(run, folder, `${String(step).padStart(6, '0')}${extension}`)
  for (const folder of ['rollouts', 'eval', 'checkpoints']) mkdirSync(join(run, folder), { recursive: true })
  mkdirSync(file('checkpoints', steps, ''))
  writeFileSync(join(run, 'run.json'), JSON.stringify({ version: 1, name, seed: 1, training: { steps: totalSteps }, created: '2026-01-01T00:00:00.000Z' }))
  writeFileSync(join(run, 'metrics.jsonl'), Array.from({ length: steps }, (_, index) => metricsRow(index + 1)).join(''))
  if (!rollouts) return run
  // One file with a name for each step.
  writeFileSync(file('rollouts', 1, '.jsonl.gz'), rolloutsFile())
  for (let step = 2; step <= steps; step += 1) linkSync(file('rollouts', 1, '.jsonl.gz'), file('rollouts', step, '.jsonl.gz'))
  return run
}
