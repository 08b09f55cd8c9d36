// Health hints: newest values against the ranges people found healthy or alarming (Axolotl's guide to GRPO).
import { compact, percent, signed } from '../../state/number-format.ts'
import { pointsOf } from '../../state/run-series.ts'
import type { RunSeries } from '../../state/run-series.ts'
import { words } from '../../words.ts'

const say = words.monitor.hints

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
  readonly id: 'flat' | 'gradient' | 'entropy' | 'kl' | 'clip' | 'truncated'
  readonly metric: string
  readonly format: (value: number) => string
  readonly judge: (value: number) => readonly [HealthLevel, string]
}

const rules: readonly Rule[] = [
  { id: 'flat', metric: 'frac_reward_zero_std', format: percent, judge: (value) => (value < 0.8 ? ['good', say.flat.good] : ['alarm', say.flat.alarm]) },
  {
    id: 'gradient', metric: 'grad_norm', format: compact,
    judge: (value) => (value > 10 ? ['alarm', say.gradient.alarm] : value > 1 ? ['watch', say.gradient.large] : value < 0.001 ? ['watch', say.gradient.small] : ['good', say.gradient.good]),
  },
  {
    id: 'entropy', metric: 'entropy', format: (value) => say.nats(compact(value)),
    judge: (value) => (value < 0.01 ? ['alarm', say.entropy.alarm] : value < 0.05 ? ['watch', say.entropy.small] : value > 0.5 ? ['watch', say.entropy.large] : ['good', say.entropy.good]),
  },
  { id: 'kl', metric: 'kl', format: (value) => say.nats(compact(value)), judge: (value) => (value > 2 ? ['alarm', say.kl.alarm] : value > 0.5 ? ['watch', say.kl.watch] : ['good', say.kl.good]) },
  { id: 'clip', metric: 'clip_ratio/region_mean', format: percent, judge: (value) => (value > 0.3 ? ['alarm', say.clip.alarm] : value > 0.1 ? ['watch', say.clip.watch] : ['good', say.clip.good]) },
  { id: 'truncated', metric: 'completions/clipped_ratio', format: percent, judge: (value) => (value > 0.8 ? ['alarm', say.truncated.alarm] : value > 0.3 ? ['watch', say.truncated.watch] : ['good', say.truncated.good]) },
]

/** Hints for what the run reports; alarming ones first. @param limit largest length of a completion, where known */
export function healthHints(series: RunSeries, limit: number | undefined): HealthHint[] {
  const judged = rules.flatMap(({ id, metric, format, judge }): HealthHint[] => {
    const values = recent(series, metric)
    if (values.length === 0) return []
    const value = mean(values)
    const [level, told] = judge(value)
    return [{ id, label: say[id].label, value: format(value), level, words: told }]
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
  const hint = { id: 'reward', label: say.reward.label, value: signed(now) }
  if (now > 0.15 || risen > 0.15) return [{ ...hint, level: 'good', words: say.reward.good(signed(risen)) }]
  return [{ ...hint, level: 'watch', words: say.reward.watch }]
}

/** Spread inside groups above 0 on most steps. */
function spreadHint(series: RunSeries): HealthHint[] {
  const values = recent(series, 'reward_std')
  if (values.length === 0) return []
  const spread = values.filter((value) => value > 0).length / values.length
  const hint = { id: 'spread', label: say.spread.label, value: compact(mean(values)) }
  return [spread > 0.5 ? { ...hint, level: 'good', words: say.spread.good } : { ...hint, level: 'alarm', words: say.spread.alarm }]
}

/** A length that rises steadily to the limit is the usual way of gaming a reward. */
function lengthHint(series: RunSeries, limit: number | undefined): HealthHint[] {
  const values = pointsOf(series, 'completions/mean_length').map(({ y }) => y)
  const last = values.at(-1)
  if (last === undefined || limit === undefined || values.length < windowSteps) return []
  const half = Math.floor(values.length / 2)
  const rises = mean(values.slice(half)) > 1.3 * mean(values.slice(0, half))
  const hint = { id: 'length', label: say.length.label, value: say.tokens(compact(last)) }
  if (rises && last > 0.8 * limit) return [{ ...hint, level: 'alarm', words: say.length.alarm(limit) }]
  return [{ ...hint, level: 'good', words: say.length.good(limit) }]
}

/** What passes the reward and fails the audit, which never enters the reward. */
function hackHint(series: RunSeries): HealthHint[] {
  const values = recent(series, 'audit/hack_rate')
  if (values.length === 0) return []
  const share = mean(values)
  const hint = { id: 'hacks', label: say.hacks.label, value: percent(share) }
  if (share > 0.2) return [{ ...hint, level: 'alarm', words: say.hacks.alarm }]
  return [share > 0.05 ? { ...hint, level: 'watch', words: say.hacks.watch } : { ...hint, level: 'good', words: say.hacks.good }]
}

/** Steps without a finite loss or gradient among the newest; nothing is said where there are none. */
function skippedHint(series: RunSeries): HealthHint[] {
  const skipped = recent(series, 'skipped').filter((value) => value > 0).length
  if (skipped === 0) return []
  return [{ id: 'skipped', label: say.skipped.label, value: say.skipped.value(skipped, recent(series, 'skipped').length), level: 'alarm', words: say.skipped.alarm }]
}

/** Nats by which sampler and trainer may differ on one token: beyond it gradients belong to another policy. */
const largestMismatch = 0.05

function mismatchHint(series: RunSeries): HealthHint[] {
  const values = recent(series, 'sampler_mismatch/max')
  if (values.length === 0 || mean(values) <= largestMismatch) return []
  return [{ id: 'mismatch', label: say.mismatch.label, value: say.nats(compact(mean(values))), level: 'alarm', words: say.mismatch.alarm }]
}

/** Share of a step spent waiting for scores beyond which another process that scores is worth its core. */
const longestWait = 0.25

function waitingHint(series: RunSeries): HealthHint[] {
  const steps = recent(series, 'time/step')
  const waits = recent(series, 'time/score_wait')
  if (steps.length === 0 || waits.length === 0 || mean(steps) === 0) return []
  const share = mean(waits) / mean(steps)
  if (share <= longestWait) return []
  return [{ id: 'waiting', label: say.waiting.label, value: say.waiting.value(percent(share)), level: 'watch', words: say.waiting.watch }]
}
