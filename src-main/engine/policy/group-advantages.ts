// The advantage step of the training loop: groups as the loop holds them in, one advantage a token out.
import { rewardForm } from '../../contract/estimator-config.ts'
import type { EstimatorConfig } from '../../contract/run-config.ts'
import { computeAdvantages } from '../runtime/kernels.ts'
import { readStatistics } from './advantages.ts'
import type { GroupStatistics } from './advantages.ts'

/** The rollouts of one prompt; every array has one entry a rollout. */
export interface RolloutGroup {
  /** [K][L_k] one reward a sampled token, the end-of-sequence token included; placed as the estimator reads them (reward-placement.ts). */
  readonly tokenRewards: readonly Float64Array[]
  /** [K] outcome without local signals: flatness is tested on it. */
  readonly outcomes: readonly number[]
  /** [K] the completion was cut off at its length limit. */
  readonly truncated: readonly boolean[]
  /** [K] One score a rollout; the outcomes serve where it is left out. Estimators that take token rewards do not read it. */
  readonly scores?: readonly number[]
  /** [K][L_k] 0 for tokens the policy did not write (inserted text); all tokens count where it is left out. */
  readonly completionMasks?: readonly Uint8Array[]
  /** [K][L_k] 1 where a step of the process reward ends; every token is a step where it is left out. */
  readonly stepEnds?: readonly Uint8Array[]
}

/**
 * What became of a rollout: `dropped` has no token or a reward that is not finite and left the group, `masked` was truncated and teaches
 * nothing though it counts in mu and sigma. Both belong out of the loss: see `lossLengths`.
 */
export type RolloutFate = 'taught' | 'masked' | 'dropped'

export interface GroupAdvantages {
  /** [G][K][L_k]; 0 at masked tokens. */
  readonly advantages: Float64Array[][]
  /** [G][K] */
  readonly fates: RolloutFate[][]
  /** [G] */
  readonly stats: GroupStatistics[]
}

/**
 * Advantages of several groups.
 * @throws Error when the arrays of a group have different lengths
 */
export function groupAdvantages(config: EstimatorConfig, groups: readonly RolloutGroup[]): GroupAdvantages {
  groups.forEach(checkGroup)
  const masks = groups.flatMap((group) => group.tokenRewards.map((_, k) => group.completionMasks?.[k]))
  const rewards = groups.flatMap((group) => group.tokenRewards)
  const lengths = Int32Array.from(rewards, (tokens, r) => countTokens(tokens, masks[r]))
  const truncated = groups.flatMap((group) => group.truncated)
  const masked = Uint8Array.from(truncated, (cut) => Number(cut && config.maskTruncated))
  // The finite check comes before the completion mask: a NaN under the mask still says that the rollout's rewards are broken.
  const outcomes = Float64Array.from(groups.flatMap((group) => [...group.outcomes]), (outcome, r) => (isFiniteUnderMask(rewards[r]!, masks[r]) ? outcome : Number.NaN))

  const stepEnds = groups.flatMap((group) => group.tokenRewards.map((tokens, k) => group.stepEnds?.[k] ?? new Uint8Array(tokens.length).fill(1)))
  const result = computeAdvantages(config, {
    rewards: rewardForm(config.name) === 'score' ? Float64Array.from(groups.flatMap((group) => [...(group.scores ?? group.outcomes)])) : flatten(Float64Array, rewards, masks, lengths),
    lengths,
    groupSizes: Int32Array.from(groups, (group) => group.tokenRewards.length),
    outcomes,
    masked,
    ...(groups.some((group) => group.stepEnds !== undefined) ? { stepEnds: flatten(Uint8Array, stepEnds, masks, lengths) } : {}),
  })

  let token = 0
  const perRollout = rewards.map((tokens, r) => {
    const own = result.advantages.subarray(token, (token += lengths[r]!))
    return expand(own, tokens.length, masks[r])
  })
  const fates = Array.from(result.kept, (kept, r): RolloutFate => (kept === 0 ? 'dropped' : masked[r] === 1 ? 'masked' : 'taught'))
  return {
    advantages: split(perRollout, groups),
    fates: split(fates, groups),
    stats: groups.map((_, g) => readStatistics(result.statistics, g)),
  }
}

/** The lengths with which rollouts enter the loss: 0 for those that do not, so that no average counts them. Flat lists, one a rollout. */
export function lossLengths(lengths: readonly number[], fates: readonly RolloutFate[]): Int32Array {
  return Int32Array.from(lengths, (length, k) => (fates[k] === 'taught' ? length : 0))
}

function checkGroup(group: RolloutGroup, g: number): void {
  const rollouts = group.tokenRewards.length
  for (const [name, list] of Object.entries({ outcomes: group.outcomes, truncated: group.truncated, scores: group.scores, completionMasks: group.completionMasks, stepEnds: group.stepEnds })) {
    if (list !== undefined && list.length !== rollouts) throw new Error(`group ${g}: ${rollouts} rollouts but ${list.length} ${name}`)
  }
  for (const [name, flags] of Object.entries({ 'a completion mask': group.completionMasks, 'step ends': group.stepEnds })) {
    flags?.forEach((own, k) => {
      const length = group.tokenRewards[k]!.length
      if (own.length !== length) throw new Error(`group ${g}, rollout ${k}: ${length} token rewards but ${name} of ${own.length}`)
    })
  }
}

function countTokens(tokens: Float64Array, mask: Uint8Array | undefined): number {
  return mask === undefined ? tokens.length : mask.reduce((count, flag) => count + Number(flag !== 0), 0)
}

/** Unmasked rollouts are checked inside the kernel, while it adds them up. */
function isFiniteUnderMask(tokens: Float64Array, mask: Uint8Array | undefined): boolean {
  return mask === undefined || tokens.every(Number.isFinite)
}

function flatten<T extends Float64Array | Uint8Array>(kind: new (length: number) => T, values: readonly T[], masks: readonly (Uint8Array | undefined)[], lengths: Int32Array): T {
  const flat = new kind(lengths.reduce((total, length) => total + length, 0))
  let position = 0
  values.forEach((tokens, r) => {
    const mask = masks[r]
    flat.set(mask === undefined ? tokens : tokens.filter((_, t) => mask[t] !== 0), position)
    position += lengths[r]!
  })
  return flat
}

/** Puts the advantages of completion tokens back to their places; masked tokens get 0. */
function expand(own: Float64Array, length: number, mask: Uint8Array | undefined): Float64Array {
  if (mask === undefined) return own
  const all = new Float64Array(length)
  let next = 0
  for (let t = 0; t < length; t++) if (mask[t] !== 0) all[t] = own[next++]!
  return all
}

function split<T>(perRollout: readonly T[], groups: readonly RolloutGroup[]): T[][] {
  let rollout = 0
  return groups.map((group) => perRollout.slice(rollout, (rollout += group.tokenRewards.length)))
}
