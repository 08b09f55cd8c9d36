// What the runs say: steps to a rate, medians and ranges over seeds, and how sure the ratio to GRPO is.
import type { EvaluationResult, MetricsRow } from '../../contract/events.ts'
import { createStream } from '../../engine/runtime/random.ts'
import type { Experiment } from './experiments.ts'

/** One finished run, reduced to what the report shows. */
export interface RunResult {
  readonly id: string
  readonly stage: Experiment['stage']
  readonly task: Experiment['task']
  readonly base: string
  readonly method: Experiment['method']
  readonly variant: string
  readonly seed: number
  readonly learningRate: number
  /** Held-out rate (React: compiles; maths: right answer) and what goes with it, at every evaluated step. */
  readonly curve: readonly { readonly step: number; /** Sampled for training up to here, thrown away or not. */ readonly rollouts: number; readonly rate: number; readonly requirementScore: number; readonly hackRate: number; readonly passAtK: Readonly<Record<string, number>>; readonly length: number }[]
  /** Share of groups whose outcomes were all alike, mean over steps. */
  readonly flatGroups: number | null
  /** Seconds of a step, and of these waited for scores. */
  readonly stepSeconds: number
  readonly scoreWaitSeconds: number
}

export const thresholds = [0.5, 0.8, 0.9] as const

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length)

export function summariseRun(experiment: Experiment, evaluations: readonly EvaluationResult[], metrics: readonly MetricsRow[]): RunResult {
  const { id, stage, task, base, method, variant, seed, learningRate, config } = experiment
  const valuesOf = (name: string): number[] => metrics.flatMap(({ values }) => (typeof values[name] === 'number' ? [values[name]] : []))
  const flat = valuesOf('frac_reward_zero_std')
  const { promptsPerStep = 0, groupSize = 0 } = config.rollout ?? {}
  // A group that was thrown away and refilled was sampled all the same.
  const sampled = (upTo: number): number => metrics.reduce((sum, { step, values }) => (step > upTo ? sum : sum + (promptsPerStep + (values['groups/discarded'] ?? 0)) * groupSize), 0)
  return {
    id, stage, task, base, method, variant, seed, learningRate,
    curve: evaluations.map(({ step, compile, requirementScore, hackRate, passAtK, meanLength }) => ({ step, rollouts: sampled(step), rate: compile.rate, requirementScore, hackRate: hackRate.rate, passAtK, length: meanLength })),
    flatGroups: flat.length === 0 ? null : mean(flat),
    stepSeconds: mean(valuesOf('time/step')),
    scoreWaitSeconds: mean(valuesOf('time/score_wait')),
  }
}

/** Step, or number of rollouts, at which the held-out rate first reaches `level`, interpolated between evaluations; null when it never does. */
export function reachedAt(curve: RunResult['curve'], level: number, axis: 'step' | 'rollouts' = 'step'): number | null {
  for (const [index, point] of curve.entries()) {
    if (point.rate < level) continue
    const before = curve[index - 1]
    return before === undefined ? point[axis] : before[axis] + ((level - before.rate) / (point.rate - before.rate)) * (point[axis] - before[axis])
  }
  return null
}

/** Area under the held-out curve over its steps, 0 to 1: what the sweep maximises. */
export function area(curve: RunResult['curve']): number {
  let sum = 0
  for (let index = 1; index < curve.length; index++) sum += ((curve[index]!.rate + curve[index - 1]!.rate) / 2) * (curve[index]!.step - curve[index - 1]!.step)
  return sum / Math.max(1, (curve.at(-1)?.step ?? 0) - (curve[0]?.step ?? 0))
}

export interface Spread {
  readonly median: number
  readonly low: number
  readonly high: number
}

/** Median and range; null for no numbers at all. Steps that were never reached count as infinity. */
export function spread(values: readonly number[]): Spread | null {
  if (values.length === 0) return null
  const sorted = values.toSorted((a, b) => a - b)
  const middle = (sorted.length - 1) / 2
  const [below, above] = [sorted[Math.floor(middle)]!, sorted[Math.ceil(middle)]!]
  return { median: below === above ? below : (below + above) / 2, low: sorted[0]!, high: sorted.at(-1)! }
}

const bootstrapDraws = 10_000

/**
 * How many times sooner `candidate` reaches a rate than `reference`: ratio of medians (reference / candidate) with a 95 % percentile bootstrap
 * interval over seeds. Never reached counts as `never` steps, which favours whoever never reaches it: the ratio is a bound then.
 */
export function speedUp(reference: readonly (number | null)[], candidate: readonly (number | null)[], never: number): Spread | null {
  if (reference.length === 0 || candidate.length === 0) return null
  const numbers = (steps: readonly (number | null)[]): number[] => steps.map((value) => value ?? never)
  const [a, b] = [numbers(reference), numbers(candidate)]
  const stream = createStream(1, 'bootstrap')
  const resampled = (values: readonly number[]): number => spread(values.map(() => values[stream.integer(values.length)]!))!.median
  const ratios = Array.from({ length: bootstrapDraws }, () => resampled(a) / Math.max(1e-9, resampled(b))).toSorted((x, y) => x - y)
  return { median: spread(a)!.median / Math.max(1e-9, spread(b)!.median), low: ratios[Math.floor(0.025 * bootstrapDraws)]!, high: ratios[Math.floor(0.975 * bootstrapDraws)]! }
}

/** Largest fall from a rate once reached to the last one. */
export function peakToFinal(curve: RunResult['curve']): number {
  return curve.reduce((most, { rate }) => Math.max(most, rate), 0) - (curve.at(-1)?.rate ?? 0)
}

/** The learning rate with the largest mean area on the sweep's seeds. Only rates whose runs are all there take part. */
export function chooseLearningRate(results: readonly RunResult[], task: RunResult['task'], method: RunResult['method']): number | undefined {
  const own = results.filter((run) => run.stage === 'sweep' && run.task === task && run.method === method)
  const rates = [...new Set(own.map(({ learningRate }) => learningRate))]
  const scored = rates.map((rate) => ({ rate, score: mean(own.filter(({ learningRate }) => learningRate === rate).map(({ curve }) => area(curve))) }))
  return scored.toSorted((a, b) => b.score - a.score || a.rate - b.rate)[0]?.rate
}
