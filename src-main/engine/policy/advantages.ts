// Group advantages: how the rewards of a group of rollouts become one number a token.
//
// BoT-GRPO (arXiv 2610.09804; K rollouts of one prompt, L_k tokens each, token rewards r_t^k)
//   mu      = 1/K sum_k 1/L_k sum_t r_t^k
//   sigma^2 = 1/K sum_k 1/L_k sum_t (r_t^k - mu)^2
//   A_t^k   = (r_t^k - mu) / (sigma + eps)
// GRPO (arXiv 2402.03300, population deviation): the same with one score for all tokens of a rollout.
//
// Order, fixed: finite check -> completion mask -> drop empty and non-finite rollouts -> truncation mask -> flat-group policy on the
// outcome -> mu, sigma -> A -> clip A. (The completion mask is applied in group-advantages.ts, before rewards become one flat array.)
//
// Deviations from the paper, all options: flat groups may be treated apart, A may be clipped, truncated rollouts may be masked.
//
// This file is the readable form. It serves where the native kernel does not exist, and the kernel is tested against it.
import type { EstimatorConfig } from '../../contract/run-config.ts'

/** Groups of rollouts as flat arrays. R rollouts stand one after another, group by group; T is the sum of `lengths`. */
export interface AdvantageBatch {
  /** bot-grpo: [T] one reward a token. grpo: [R] one score a rollout. Values that are not finite are allowed: see `kept`. */
  readonly rewards: Float64Array
  /** [R] tokens of each rollout; 0 is allowed. */
  readonly lengths: Int32Array
  /** [G] rollouts of each group. */
  readonly groupSizes: Int32Array
  /** [R] the outcome on which flatness of a group is tested. */
  readonly outcomes: Float64Array
  /** [R] 1: the rollout counts in mu and sigma, but its advantages are 0. */
  readonly masked: Uint8Array
}

export interface AdvantageResult {
  /** [T] */
  readonly advantages: Float64Array
  /** [R] 0: the rollout has no token, or a reward or outcome that is not finite; it left the group, its advantages are 0. */
  readonly kept: Uint8Array
  /** [G, 6] columns: mu, sigma, kept, dropped, flat, skipped; `readStatistics` names them. */
  readonly statistics: Float64Array
}

export interface GroupStatistics {
  /** Mean of the kept rollouts' mean rewards. */
  readonly mu: number
  /** Population deviation, before epsilon and floor. */
  readonly sigma: number
  /** Rollouts that count in mu and sigma. */
  readonly kept: number
  /** Rollouts without tokens or with a reward that is not finite. */
  readonly dropped: number
  /** All kept rollouts have the same outcome. */
  readonly flat: boolean
  /** All advantages are 0: fewer than two rollouts left, or flat under the policy `skip`. */
  readonly skipped: boolean
}

export const statisticsColumns = 6

/** Row `group` of the statistics matrix by name. */
export function readStatistics(statistics: Float64Array, group: number): GroupStatistics {
  const [mu, sigma, kept, dropped, flat, skipped] = statistics.subarray(group * statisticsColumns, (group + 1) * statisticsColumns)
  return { mu: mu!, sigma: sigma!, kept: kept!, dropped: dropped!, flat: flat === 1, skipped: skipped === 1 }
}

/** Computes `result` for every group of `batch`. Lengths are trusted here; `computeAdvantages` in runtime/kernels.ts checks them. */
export function advantagesTypeScript(config: EstimatorConfig, batch: AdvantageBatch, result: AdvantageResult): void {
  let rollout = 0
  let token = 0
  for (let g = 0; g < batch.groupSizes.length; g++) {
    const group: Rollout[] = []
    for (const end = rollout + batch.groupSizes[g]!; rollout < end; rollout++) {
      const length = batch.lengths[rollout]!
      const rewards = config.name === 'grpo' ? batch.rewards.subarray(rollout, rollout + Math.min(length, 1)) : batch.rewards.subarray(token, token + length)
      const masked = batch.masked[rollout] !== 0
      group.push({ index: rollout, rewards, outcome: batch.outcomes[rollout]!, masked, advantages: result.advantages.subarray(token, token + length) })
      token += length
    }
    groupTypeScript(config, group, result.kept, result.statistics.subarray(g * statisticsColumns, (g + 1) * statisticsColumns))
  }
}

interface Rollout {
  readonly index: number
  /** One a token; for GRPO a single score that stands for every token. */
  readonly rewards: Float64Array
  readonly outcome: number
  readonly masked: boolean
  /** Where its advantages go. */
  readonly advantages: Float64Array
}

function groupTypeScript(config: EstimatorConfig, group: readonly Rollout[], keptFlags: Uint8Array, statistics: Float64Array): void {
  // Drop: without a token there is no mean, and one NaN would take the whole group with it.
  const kept = group.filter((rollout) => rollout.rewards.length > 0 && Number.isFinite(mean(rollout.rewards)) && Number.isFinite(rollout.outcome))
  for (const rollout of group) {
    rollout.advantages.fill(0)
    keptFlags[rollout.index] = 0
  }
  for (const rollout of kept) keptFlags[rollout.index] = 1

  // Flatness is a matter of outcomes: in a group of equal failures tiny local penalties would otherwise be blown up to unit size.
  const outcomes = kept.map((rollout) => rollout.outcome)
  const flat = kept.length > 0 && Math.max(...outcomes) - Math.min(...outcomes) <= config.flatTolerance

  const mu = kept.length === 0 ? 0 : sum(kept.map((rollout) => mean(rollout.rewards))) / kept.length
  const sigma = kept.length === 0 ? 0 : Math.sqrt(sum(kept.map((rollout) => meanSquare(rollout.rewards, mu))) / kept.length)
  const skipped = kept.length < 2 || !Number.isFinite(mu) || !Number.isFinite(sigma) || (flat && config.flatGroups === 'skip')

  const divisor = flat ? flatDivisor(config, sigma) : sigma + config.epsilon
  const bound = config.clipAdvantage ?? Infinity
  if (!skipped && divisor > 0) {
    for (const rollout of kept) if (!rollout.masked) writeAdvantages(rollout, mu, divisor, bound)
  }
  statistics.set([mu, sigma, kept.length, group.length - kept.length, Number(flat), Number(skipped)])
}

/** What A is divided by in a group whose outcomes are all the same. */
function flatDivisor(config: EstimatorConfig, sigma: number): number {
  switch (config.flatGroups) {
    case 'keep': // the paper
    case 'skip': // never used
      return sigma + config.epsilon
    case 'mean-only':
      return 1
    case 'sigma-floor':
      return Math.max(sigma, config.sigmaFloor) + config.epsilon
  }
}

function writeAdvantages({ rewards, advantages }: Rollout, mu: number, divisor: number, bound: number): void {
  for (let t = 0; t < advantages.length; t++) {
    const reward = rewards.length === 1 ? rewards[0]! : rewards[t]!
    advantages[t] = Math.min(Math.max((reward - mu) / divisor, -bound), bound)
  }
}

function sum(values: ArrayLike<number>): number {
  let total = 0
  for (let i = 0; i < values.length; i++) total += values[i]!
  return total
}

function mean(values: Float64Array): number {
  return sum(values) / values.length
}

/** Mean of (r - mu)^2: in double precision and after the mean is known; a one-pass formula loses small deviations altogether. */
function meanSquare(values: Float64Array, mu: number): number {
  let total = 0
  for (let i = 0; i < values.length; i++) total += (values[i]! - mu) ** 2
  return total / values.length
}
