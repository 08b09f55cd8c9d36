// Health hints: newest values against the ranges people found healthy or alarming (Axolotl's guide to GRPO).
import { compact, percent, signed } from '../../state/number-format.ts'
import { pointsOf } from '../../state/run-series.ts'
import type { RunSeries } from '../../state/run-series.ts'

export type HealthLevel = 'good' | 'watch' | 'alarm'

export interface HealthHint {
  readonly id: string
  readonly label: string
  readonly value: string
  readonly level: HealthLevel
  /** What it means, and where it matters what to do. */
  readonly words: string
}

/** A hint looks at the mean of so many newest steps: one step alone is noise. */
const windowSteps = 10

function recent(series: RunSeries, name: string): number[] {
  return pointsOf(series, name).slice(-windowSteps).map(({ y }) => y)
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length

interface Rule {
  readonly id: string
  readonly label: string
  readonly metric: string
  readonly format: (value: number) => string
  readonly judge: (value: number) => readonly [HealthLevel, string]
}

const rules: readonly Rule[] = [
  {
    id: 'flat', label: 'Flat groups', metric: 'frac_reward_zero_std', format: percent,
    judge: (value) => (value < 0.8 ? ['good', 'Most groups tell good completions from bad ones.'] : ['alarm', 'Nearly all completions of a group have the same outcome, so these groups teach nothing. Easier or harder prompts, or a graded reward, would help.']),
  },
  {
    id: 'gradient', label: 'Gradient norm', metric: 'grad_norm', format: compact,
    judge: (value) => (value > 10 ? ['alarm', 'Steps this large undo what was learned. Lower the learning rate.'] : value > 1 ? ['watch', 'Above 1; the gradient is clipped.'] : value < 0.001 ? ['watch', 'Hardly anything is learned: below 0.001.'] : ['good', 'Between 0.001 and 1.']),
  },
  {
    id: 'entropy', label: 'Entropy', metric: 'entropy', format: (value) => `${compact(value)} nats`,
    judge: (value) => (value < 0.01 ? ['alarm', 'The model always writes the same; it has nothing left to choose from.'] : value < 0.05 || value > 0.5 ? ['watch', value < 0.05 ? 'Few choices are left: below 0.05.' : 'Much chance: above 0.5.'] : ['good', 'Between 0.05 and 0.5.']),
  },
  {
    id: 'kl', label: 'KL divergence', metric: 'kl', format: (value) => `${compact(value)} nats`,
    judge: (value) => (value > 2 ? ['alarm', 'The model is far from where it began; it may have forgotten what it knew.'] : value > 0.5 ? ['watch', 'Above 0.5: it moves away from the base model.'] : ['good', 'Below 0.5.']),
  },
  {
    id: 'clip', label: 'Clipped tokens', metric: 'clip_ratio/region_mean', format: percent,
    judge: (value) => (value > 0.3 ? ['alarm', 'A third of the tokens is beyond the clip: updates are too large.'] : value > 0.1 ? ['watch', 'Above 10 %: updates are on the large side.'] : ['good', 'Below 10 %.']),
  },
  {
    id: 'truncated', label: 'Cut off', metric: 'completions/clipped_ratio', format: percent,
    judge: (value) => (value > 0.8 ? ['alarm', 'Nearly all completions are cut off before their end. Allow more tokens.'] : value > 0.3 ? ['watch', 'More than 30 % are cut off.'] : ['good', 'Below 30 %.']),
  },
]

/** Hints for what the run reports; alarming ones first. @param limit largest length of a completion, where known */
export function healthHints(series: RunSeries, limit: number | undefined): HealthHint[] {
  const judged = rules.flatMap(({ id, label, metric, format, judge }): HealthHint[] => {
    const values = recent(series, metric)
    if (values.length === 0) return []
    const value = mean(values)
    const [level, words] = judge(value)
    return [{ id, label, value: format(value), level, words }]
  })
  const order: readonly HealthLevel[] = ['alarm', 'watch', 'good']
  return [...rewardHint(series), ...spreadHint(series), ...judged, ...lengthHint(series, limit), ...hackHint(series), ...skippedHint(series), ...mismatchHint(series), ...waitingHint(series)].sort((a, b) => order.indexOf(a.level) - order.indexOf(b.level))
}

/** Reward above 0.15, or risen by as much, within 20 steps. */
function rewardHint(series: RunSeries): HealthHint[] {
  const points = pointsOf(series, 'reward')
  if (points.length < 20) return []
  const now = mean(points.slice(-windowSteps).map(({ y }) => y))
  const risen = now - mean(points.slice(0, 3).map(({ y }) => y))
  const hint = { id: 'reward', label: 'Reward', value: signed(now) }
  if (now > 0.15 || risen > 0.15) return [{ ...hint, level: 'good', words: `It has changed by ${signed(risen)} since the start.` }]
  return [{ ...hint, level: 'watch', words: 'It should be above 0.15, or have risen by as much, after 20 steps. Look at the rollouts: does the reward ever tell two of them apart?' }]
}

/** Spread inside groups above 0 on most steps. */
function spreadHint(series: RunSeries): HealthHint[] {
  const values = recent(series, 'reward_std')
  if (values.length === 0) return []
  const spread = values.filter((value) => value > 0).length / values.length
  const hint = { id: 'spread', label: 'Spread inside groups', value: compact(mean(values)) }
  return [spread > 0.5 ? { ...hint, level: 'good', words: 'Completions of a prompt differ in reward: there is something to learn from.' } : { ...hint, level: 'alarm', words: 'On most steps all completions of a prompt have the same reward.' }]
}

/** A length that rises steadily to the limit is the usual way of gaming a reward. */
function lengthHint(series: RunSeries, limit: number | undefined): HealthHint[] {
  const values = pointsOf(series, 'completions/mean_length').map(({ y }) => y)
  const last = values.at(-1)
  if (last === undefined || limit === undefined || values.length < windowSteps) return []
  const half = Math.floor(values.length / 2)
  const rises = mean(values.slice(half)) > 1.3 * mean(values.slice(0, half))
  const hint = { id: 'length', label: 'Length', value: `${compact(last)} tokens` }
  if (rises && last > 0.8 * limit) return [{ ...hint, level: 'alarm', words: `It rises steadily towards the limit of ${limit}: the model may be gaming the reward by writing more.` }]
  return [{ ...hint, level: 'good', words: `Away from the limit of ${limit}.` }]
}

/** What passes the reward and fails the audit, which never enters the reward. */
function hackHint(series: RunSeries): HealthHint[] {
  const values = recent(series, 'audit/hack_rate')
  if (values.length === 0) return []
  const share = mean(values)
  const hint = { id: 'hacks', label: 'Hacks', value: percent(share) }
  if (share > 0.2) return [{ ...hint, level: 'alarm', words: 'Many completions pass the reward and fail the audit: the model has found a way around what you mean. Read some under Rollouts, and mend the reward.' }]
  return [share > 0.05 ? { ...hint, level: 'watch', words: 'Some completions pass the reward and fail the audit. Read some under Rollouts.' } : { ...hint, level: 'good', words: 'Hardly anything passes the reward and fails the audit.' }]
}

/** Steps without a finite loss or gradient among the newest; nothing is said where there are none. */
function skippedHint(series: RunSeries): HealthHint[] {
  const skipped = recent(series, 'skipped').filter((value) => value > 0).length
  if (skipped === 0) return []
  return [{ id: 'skipped', label: 'Skipped steps', value: `${skipped} of the last ${recent(series, 'skipped').length}`, level: 'alarm', words: 'Their loss or gradient was not finite; nothing was learned from them. Lower the learning rate.' }]
}

/** Nats by which sampler and trainer may differ on one token: beyond it gradients belong to another policy. */
const largestMismatch = 0.05

function mismatchHint(series: RunSeries): HealthHint[] {
  const values = recent(series, 'sampler_mismatch/max')
  if (values.length === 0 || mean(values) <= largestMismatch) return []
  return [{ id: 'mismatch', label: 'Sampler against trainer', value: `${compact(mean(values))} nats`, level: 'alarm', words: 'The policy that samples is not the one that is trained. Finer weights (weights.precision) or another device should bring this below 0.05.' }]
}

/** Share of a step spent waiting for scores beyond which another process that scores is worth its core. */
const longestWait = 0.25

function waitingHint(series: RunSeries): HealthHint[] {
  const steps = recent(series, 'time/step')
  const waits = recent(series, 'time/score_wait')
  if (steps.length === 0 || waits.length === 0 || mean(steps) === 0) return []
  const share = mean(waits) / mean(steps)
  if (share <= longestWait) return []
  return [{ id: 'waiting', label: 'Waiting for scores', value: `${percent(share)} of a step`, level: 'watch', words: 'The model has written and waits for its rewards. In the next run rewardWorkers 2 scores two completions at a time, which helps where a processor core is free for it.' }]
}
