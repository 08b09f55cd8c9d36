// Small well-formed values for the tests of the page.
import type { MetricSeries, RolloutHeader, RunSnapshot } from '../../src-main/contract/calls/run-data.ts'
import type { PageRunEvent } from '../../src-main/contract/calls/runs.ts'
import type { EvaluationResult, MetricsRow, RolloutRecord, RunState } from '../../src-main/contract/events.ts'

export const directory = '/runs/demo-1'

/** A rollout whose tokens are the given pieces of its text, one after another. */
export function rolloutOf(pieces: readonly string[], part: Partial<RolloutRecord> = {}): RolloutRecord {
  const starts: number[] = []
  let at = 0
  for (const piece of pieces) {
    starts.push(at)
    at += piece.length
  }
  const zeros = pieces.map(() => 0)
  return {
    step: 1, promptId: 'a', prompt: 'Make it.', index: 0, text: pieces.join(''), ids: pieces.map((_, index) => index), starts, ends: starts.map((start, index) => start + (pieces[index]?.length ?? 0)),
    logprobs: zeros, entropies: zeros, tokenRewards: zeros, advantages: zeros, reward: 0, outcome: 0, finish: 'stop', stages: { parse: true, types: true, bundle: true, render: true },
    requirementScore: 1, auditPassed: true, sources: [], spans: [], ...part,
  }
}

export function evaluationOf(step: number, compile: number): EvaluationResult {
  const rate = { rate: compile, low: 0, high: 1, n: 96 }
  return { step, prompts: 48, samples: 2, temperature: 1, stages: { parse: rate, types: rate, bundle: rate, render: rate }, compile: rate, requirementScore: compile, hackRate: { ...rate, rate: 0 }, passAtK: {}, reward: 0, meanLength: 80, samplesShown: [] }
}

/** Rows as the curves and the newest row of a snapshot. */
export function curvesOf(rows: readonly MetricsRow[]): Pick<RunSnapshot, 'series' | 'newestRow'> {
  const names = [...new Set(rows.flatMap(({ values }) => Object.keys(values)))]
  const series = names.map((name): MetricSeries => {
    const known = rows.filter(({ values }) => typeof values[name] === 'number')
    return { name, steps: known.map(({ step }) => step), values: known.map(({ values }) => values[name] as number) }
  })
  return { series, newestRow: rows.at(-1) ?? null }
}

export function snapshotOf(state: RunState, part: Partial<RunSnapshot> = {}): RunSnapshot {
  return {
    summary: { name: 'demo-1', directory, state, step: 0, totalSteps: 10 }, description: { version: 1 }, series: [], newestRow: null, evaluations: [], rolloutSteps: [], checkpoints: [], changes: [], exports: [], log: [],
    message: `It is ${state}.`, ...part,
  }
}

export function headerOf(part: Partial<RolloutHeader> = {}): RolloutHeader {
  const { step, promptId, prompt, index, text, reward, outcome, finish, stages, requirementScore, auditPassed, sources } = rolloutOf(['a'])
  return { step, promptId, prompt, index, reward, outcome, finish, stages, requirementScore, auditPassed, sources, order: 0, tokens: 1, flags: 0, excerpt: text, advantage: 0, entropy: 0, ...part }
}

export function stateEvent(state: RunState, step = 0, message = ''): Extract<PageRunEvent, { type: 'state' }> {
  return { type: 'state', state, step, totalSteps: 10, secondsLeft: null, runDirectory: directory, message }
}

export function metricsEvent(step: number, values: Record<string, number | null> = {}): Extract<PageRunEvent, { type: 'metrics' }> {
  return { type: 'metrics', row: { step, values } }
}
