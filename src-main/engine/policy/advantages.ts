// Batch advantages: groups of rewards in, one number a token out. The formulas are in advantage-rules.ts; here is what surrounds them.
//
// Order, fixed: finite check -> completion mask -> drop empty and non-finite rollouts -> truncation mask -> flat-group policy on the
// outcome -> the rule -> clip A. (The completion mask is applied in group-advantages.ts, before rewards become one flat array.)
//
// Deviations from the papers, all options: flat groups may be treated apart, A may be clipped, truncated rollouts may be masked.
//
// This file is the readable form. It serves where the native kernel does not exist, and the kernel is tested against it.
import { centreScores, minimumCredit, standardiseSteps, standardiseTokens, whitenReturns } from './advantage-rules.ts'
import type { RewardedRollout, RuleResult } from './advantage-rules.ts'
import { readsScores } from './advantage-settings.ts'
import type { AdvantageSettings } from './advantage-settings.ts'

/** Groups of rollouts as flat arrays. R rollouts stand one after another, group by group; T is the sum of `lengths`. */
export interface AdvantageBatch {
  /** [R] one score a rollout where the rule reads scores, otherwise [T] one reward a token. Values that are not finite are allowed: see `kept`. */
  readonly rewards: Float64Array
  /** [R] tokens of each rollout; 0 is allowed. */
  readonly lengths: Int32Array
  /** [G] rollouts of each group. */
  readonly groupSizes: Int32Array
  /** [R] the outcome on which flatness of a group is tested. */
  readonly outcomes: Float64Array
  /** [R] 1: the rollout counts in mu and sigma, but its advantages are 0. */
  readonly masked: Uint8Array
  /** [T] 1 where a step of the process reward ends (the last token always does); every token is a step where it is left out. */
  readonly stepEnds?: Uint8Array
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
  /** Mean of what the rule centres: rollouts' mean rewards, pooled step rewards, credits, or the whole batch's returns; 0 in a skipped group. */
  readonly mu: number
  /** Its deviation, before epsilon and floor; 0 in a skipped group. */
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

interface Rollout extends RewardedRollout {
  readonly index: number
  readonly outcome: number
  readonly masked: boolean
  /** Where its advantages go. */
  readonly advantages: Float64Array
}

interface Group {
  readonly size: number
  readonly kept: readonly Rollout[]
  readonly flat: boolean
  readonly skipped: boolean
}

/** Computes `result` for every group of `batch`. Lengths are trusted here; `computeAdvantages` in runtime/kernels.ts checks them. */
export function advantagesTypeScript(settings: AdvantageSettings, batch: AdvantageBatch, result: AdvantageResult): void {
  result.advantages.fill(0)
  result.kept.fill(0)
  const groups = readGroups(settings, batch, result).map((rollouts) => judgeGroup(settings, rollouts))
  for (const { kept } of groups) for (const rollout of kept) result.kept[rollout.index] = 1
  const results = applyRule(settings, groups)
  groups.forEach(({ size, kept, flat, skipped }, g) => {
    const { mu, sigma, advantages } = results[g] ?? { mu: 0, sigma: 0, advantages: [] }
    const usable = Number.isFinite(mu) && Number.isFinite(sigma)
    if (usable) advantages.forEach((own, k) => writeAdvantages(kept[k]!, own, settings.clip))
    result.statistics.set([mu, sigma, kept.length, size - kept.length, Number(flat), Number(skipped || !usable)], g * statisticsColumns)
  })
}

function readGroups({ rule }: AdvantageSettings, batch: AdvantageBatch, result: AdvantageResult): Rollout[][] {
  let index = 0
  let token = 0
  return Array.from(batch.groupSizes, (size) =>
    Array.from({ length: size }, (): Rollout => {
      const length = batch.lengths[index]!
      const end = token + length
      const rollout = {
        index,
        rewards: readsScores(rule) ? new Float64Array(length).fill(batch.rewards[index]!) : batch.rewards.subarray(token, end),
        stepEnds: batch.stepEnds?.subarray(token, end),
        outcome: batch.outcomes[index]!,
        masked: batch.masked[index] !== 0,
        advantages: result.advantages.subarray(token, end),
      }
      index++
      token = end
      return rollout
    }),
  )
}

function judgeGroup({ flatGroups, flatTolerance, rule }: AdvantageSettings, rollouts: readonly Rollout[]): Group {
  // Drop: without a token there is no mean, and one NaN would take the whole group with it.
  const kept = rollouts.filter(({ rewards, outcome }) => rewards.length > 0 && allFinite(rewards) && Number.isFinite(outcome))
  // Flatness is a matter of outcomes: in a group of equal failures tiny local penalties would otherwise be blown up to unit size.
  const outcomes = kept.map(({ outcome }) => outcome)
  const flat = kept.length > 0 && Math.max(...outcomes) - Math.min(...outcomes) <= flatTolerance
  // A rollout alone has nothing to be compared with, except under REINFORCE++, which compares with the whole batch.
  const fewest = rule === 'reinforce++' ? 1 : 2
  return { size: rollouts.length, kept, flat, skipped: kept.length < fewest || (flat && flatGroups === 'skip') }
}

/** One result a group; none where the group is skipped. */
function applyRule(settings: AdvantageSettings, groups: readonly Group[]): (RuleResult | undefined)[] {
  if (settings.rule !== 'reinforce++') return groups.map((group) => (group.skipped ? undefined : groupRule(settings, group)))
  const taking = groups.filter(({ skipped }) => !skipped)
  const { mu, sigma, advantages } = whitenReturns(taking.flatMap(({ kept }) => kept), settings)
  let first = 0
  return groups.map(({ skipped, kept }) => (skipped ? undefined : { mu, sigma, advantages: advantages.slice(first, (first += kept.length)) }))
}

function groupRule(settings: AdvantageSettings, { kept, flat }: Group): RuleResult {
  const divisorOf = (sigma: number): number => (flat ? flatDivisor(settings, sigma) : sigma + settings.epsilon)
  switch (settings.rule) {
    case 'bot-grpo':
    case 'grpo':
      return standardiseTokens(kept, settings, divisorOf)
    case 'dr-grpo':
    case 'rloo':
      return centreScores(kept, settings)
    case 'grpo-process':
      return standardiseSteps(kept, settings, divisorOf)
    case 'pure':
      return minimumCredit(kept, settings)
    case 'reinforce++':
      throw new Error('REINFORCE++ is no matter of one group')
  }
}

/** What A is divided by in a group whose outcomes are all the same. */
function flatDivisor(settings: AdvantageSettings, sigma: number): number {
  switch (settings.flatGroups) {
    case 'keep': // the paper
    case 'skip': // never used
      return sigma + settings.epsilon
    case 'mean-only':
      return 1
    case 'sigma-floor':
      return Math.max(sigma, settings.sigmaFloor) + settings.epsilon
  }
}

function writeAdvantages({ masked, advantages }: Rollout, own: Float64Array, clip: number): void {
  if (masked) return
  for (let t = 0; t < advantages.length; t++) advantages[t] = Math.min(Math.max(own[t]!, -clip), clip)
}

function allFinite(values: Float64Array): boolean {
  for (let t = 0; t < values.length; t++) if (!Number.isFinite(values[t])) return false
  return true
}
