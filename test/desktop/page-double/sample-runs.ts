// A run as a person would have it after half an hour: curves with noise, held-out results, rollouts that pass and fail, exports, a log.
import type { RunSnapshot, RunSummary } from '../../../src-main/contract/calls.ts'
import type { LogEntry, RolloutHeader } from '../../../src-main/contract/calls/run-data.ts'
import type { EvaluationResult, RolloutRecord, RunState } from '../../../src-main/contract/events.ts'
import { runConfigSchema } from '../../../src-main/contract/run-config.ts'
import { curvesOf, evaluationOf, headerOf, rolloutOf } from '../../renderer/samples.ts'

/** Numbers that look random and are the same every time: -1 to 1. */
function noise(at: number): number {
  const value = Math.sin(at * 12.9898) * 43_758.5453
  return 2 * (value - Math.floor(value)) - 1
}

const began = Date.parse('2026-01-05T09:00:00.000Z')
const timeAt = (minutes: number): string => new Date(began + minutes * 60_000).toISOString()

export function summaryOf(name: string, state: RunState, step: number, part: Partial<RunSummary> = {}): RunSummary {
  return {
    name, directory: `/home/ada/Satchel/runs/${name}`, state, step, totalSteps: 120, created: timeAt(0), estimator: 'bot-grpo', seed: 1, model: 'demo',
    spark: Array.from({ length: 24 }, (_, at) => -0.6 + 2.2 * (1 - Math.exp(-at / 8)) + 0.12 * noise(at + name.length)), ...part,
  }
}

/** Metrics of one step under the names the engine writes. */
function valuesAt(step: number): Record<string, number | null> {
  const learned = 1 - Math.exp(-step / 35)
  return {
    reward: -0.7 + 2.3 * learned + 0.15 * noise(step), reward_std: 0.7 - 0.3 * learned + 0.05 * noise(step + 1), reward_std_between: 0.4 - 0.1 * learned + 0.04 * noise(step + 2),
    frac_reward_zero_std: Math.max(0, 0.1 + 0.3 * learned + 0.1 * noise(step + 3)), frac_groups_skipped: 0, advantage_max: 2.6 + 0.4 * noise(step + 4),
    'completions/mean_length': 58 - 6 * learned + 2 * noise(step + 5), 'completions/max_length': 84 + 8 * noise(step + 6), 'completions/clipped_ratio': Math.max(0, 0.02 * noise(step + 7)),
    'stages/parse': 0.6 + 0.36 * learned, 'stages/types': 0.5 + 0.45 * learned, 'stages/bundle': 0.5 + 0.44 * learned, 'stages/render': 0.45 + 0.48 * learned,
    'rewards/compiler/mean': -0.6 * (1 - learned), 'rewards/lint/mean': -0.12 * (1 - learned), 'rewards/requirements/mean': 0.35 + 0.55 * learned,
    'rewards/compiler/failures': 0, 'rewards/lint/failures': 0, 'rewards/requirements/failures': 0, 'rewards/compiler/milliseconds': 60 + 5 * noise(step + 8), 'rewards/lint/milliseconds': 1.2, 'rewards/requirements/milliseconds': 18,
    'audit/hack_rate': 0.01, grad_norm: 0.12 + 0.04 * noise(step + 9), learning_rate: 1e-4 * (1 - step / 130), entropy: 0.32 - 0.22 * learned + 0.02 * noise(step + 10), kl: 0.06 * learned, approx_kl: 1e-6,
    'clip_ratio/region_mean': 0.01, 'clip_ratio/low_mean': 0.006, 'clip_ratio/high_mean': 0.004, ratio: 1, skipped: 0,
    'time/step': 14 + noise(step + 11), 'time/generate': 5, 'time/score_wait': 0.8, 'time/update': 8, 'tokens_per_second/generate': 680 + 30 * noise(step + 12),
    'memory/resident_gib': 0.83, 'memory/peak_gib': 0.86, 'memory/planned_gib': 0.95,
  }
}

export const prompts = [
  'Make a counter that starts at 3, shows how often it was pressed, and has a button to begin again.',
  'A list of three cities with a field to add one more.',
  'Show a switch labelled "Quiet" that hides the text below it.',
]

const lines = (count: string): string => `import { useState } from 'react'\n\nexport default function Counter() {\n  const [count, setCount] = useState(${count})\n  return (\n    <main>\n      <p>Pressed {count} times</p>\n      <button onClick={() => setCount(count + 1)}>Press</button>\n      <button onClick={() => setCount(3)}>Begin again</button>\n    </main>\n  )\n}\n`

/** Words and the spaces between them, as a tokenizer might cut them. */
const piecesOf = (text: string): string[] => text.match(/\s*\S{1,7}|\s+$/g) ?? []

/** One that passes (even `index`) or lost a bracket on the way. */
export function rolloutAt(step: number, index: number): RolloutRecord {
  const passes = index % 4 !== 1
  const text = passes ? lines('3') : lines('3').replace('setCount(count + 1)', 'setCount(count + 1')
  const pieces = piecesOf(text)
  const at = text.indexOf('setCount(count + 1')
  const flagged = passes ? [] : [{ start: at, end: at + 18, value: -1, source: 'compiler', message: "')' expected." }]
  const near = pieces.map((_, token) => (passes ? 0 : -Math.exp(-((token - 24) ** 2) / 8)))
  return rolloutOf(pieces, {
    step, index, prompt: prompts[Math.floor(index / 4) % prompts.length] as string, promptId: `p${Math.floor(index / 4)}`, reward: passes ? 1.6 + 0.1 * noise(index) : -0.94, outcome: passes ? 1 : -1,
    tokenRewards: near.map((value) => (passes ? 1.6 : -0.9) + value), advantages: near.map((value, token) => (passes ? 0.6 : -0.8) + 1.4 * value + 0.1 * noise(token)),
    logprobs: pieces.map((_, token) => -0.4 * Math.abs(noise(token)) ** 3), entropies: pieces.map((_, token) => 0.6 * Math.abs(noise(token)) ** 2),
    stages: { parse: passes, types: passes, bundle: passes, render: passes }, requirementScore: passes ? 1 : 0, finish: index === 5 ? 'length' : 'stop', spans: flagged,
    sources: [{ source: 'compiler', global: passes ? 0 : -1 }, { source: 'lint', global: passes ? 0 : -0.1 }, { source: 'requirements', global: passes ? 1 : 0 }],
  })
}

export function headersAt(step: number, count = 12): RolloutHeader[] {
  return Array.from({ length: count }, (_, index) => {
    const { promptId, prompt, reward, outcome, finish, stages, requirementScore, auditPassed, sources, ids, spans, text, advantages } = rolloutAt(step, index)
    return headerOf({ step, index, order: index, promptId, prompt, reward, outcome, finish, stages, requirementScore, auditPassed, sources, tokens: ids.length, flags: spans.length, excerpt: text.slice(0, 160), advantage: advantages[0] ?? 0, entropy: 0.12 })
  })
}

export function heldOutAt(step: number): EvaluationResult {
  const learned = 1 - Math.exp(-step / 35)
  const rate = (value: number): EvaluationResult['compile'] => ({ rate: value, low: Math.max(0, value - 0.09), high: Math.min(1, value + 0.06), n: 96 })
  return {
    ...evaluationOf(step, 0.46 + 0.49 * learned), stages: { parse: rate(0.62 + 0.36 * learned), types: rate(0.5 + 0.45 * learned), bundle: rate(0.5 + 0.45 * learned), render: rate(0.46 + 0.49 * learned) }, compile: rate(0.46 + 0.49 * learned),
    requirementScore: 0.35 + 0.55 * learned, hackRate: rate(0.01), passAtK: { 1: 0.46 + 0.49 * learned, 2: 0.6 + 0.38 * learned },
    samplesShown: prompts.map((prompt, at) => ({ promptId: `p${at}`, prompt, text: lines(String(at)), compiles: step > 40 || at === 0, requirementScore: step > 40 ? 1 : 0.5 })),
  }
}

const log = (step: number): LogEntry[] => [
  { time: timeAt(0), step: 0, kind: 'state', text: 'running: Training has begun.' },
  { time: timeAt(1), step: 0, kind: 'evaluation', text: 'Held-out evaluation after step 0.' },
  { time: timeAt(12), step: 40, kind: 'change', text: 'optimizer.learningRate changed from 0.0001 to 0.00005, from step 41 on.' },
  { time: timeAt(14), step: 48, kind: 'checkpoint', text: 'Checkpoint of step 48 written.' },
  { time: timeAt(20), step: null, kind: 'warning', text: 'Step 61 was skipped: its gradient was not finite.' },
  { time: timeAt(28), step, kind: 'checkpoint', text: `Checkpoint of step ${step} written.` },
]

/** run.json of the demo, every default spelled out. */
export const description = { ...runConfigSchema.parse({ model: '/opt/satchel/resources/demo/model', data: { prompts: '/opt/satchel/resources/demo/prompts.jsonl' }, reward: { recipe: 'react' }, training: { steps: 120 } }) }

export function runOf(summary: RunSummary, part: Partial<RunSnapshot> = {}): RunSnapshot {
  const { step } = summary
  const steps = Array.from({ length: step }, (_, at) => at + 1)
  const comparison = { sequences: 8, tokens: 412, largestDifference: 2e-6, meanDifference: 3e-7, greedy: { prompts: 4, tokens: 128, equal: 128 } }
  return {
    summary, description, ...curvesOf(steps.map((at) => ({ step: at, values: valuesAt(at) }))), evaluations: [0, 24, 48, 72, 96, 120].filter((at) => at <= step).map(heldOutAt),
    rolloutSteps: step === 0 ? [] : [[1, step]], checkpoints: step < 48 ? [] : [48, step], changes: step < 41 ? [] : [{ step: 41, field: 'optimizer.learningRate', from: 1e-4, to: 5e-5, time: timeAt(12) }],
    exports: step < 120 ? [] : [{ time: timeAt(31), step, format: 'gguf', folder: `${summary.directory}/export/gguf`, storedType: 'Q8_0', comparison }], log: log(step), message: `It is ${summary.state}.`, ...part,
  }
}
