// Where the reward of a completion is given: the same score and penalties, in the form each estimator reads them.
//
//   score    R = w_g G                                     GRPO and its kin
//   token    r_t = w_g G + w_s S_t at every token          BoT-GRPO
//   step     the mean of r_t over a step, at its end       GRPO's process form, PURE
//   return   the mean of w_s S_t over a step at its end, and R at the last token: a sum from t on counts each of them once   REINFORCE++
import { rewardForm } from '../../contract/estimator-config.ts'
import type { TokenOffsets } from '../../contract/rewards.ts'
import type { EstimatorConfig } from '../../contract/run-config.ts'

export interface RewardParts {
  /** [L] r_t */
  readonly tokenRewards: Float64Array
  /** R */
  readonly score: number
  /** [L] 1 where a line of the completion ends. */
  readonly lineEnds: Uint8Array
  /** [L] coefficient times KL estimate, to be taken off the reward; nothing where it is left out. */
  readonly divergence?: Float64Array
}

export interface PlacedRewards {
  /** [L] what the estimator reads of each token. */
  readonly rewards: Float64Array
  /** What it reads of the rollout. */
  readonly score: number
  /** [L] left out where every token is a step. */
  readonly stepEnds?: Uint8Array
}

/** Rewards of one completion in the form its estimator reads. */
export function placeRewards(config: EstimatorConfig, { tokenRewards, score, lineEnds, divergence }: RewardParts): PlacedRewards {
  const stepEnds = 'step' in config && config.step === 'line' ? lineEnds : undefined
  switch (rewardForm(config.name)) {
    case 'token':
      return { rewards: tokenRewards, score }
    case 'score':
      return { rewards: tokenRewards, score: score - (divergence?.reduce((sum, value) => sum + value, 0) ?? 0) }
    case 'step':
      return { rewards: stepEnds === undefined ? tokenRewards : stepMeans(tokenRewards, stepEnds), score, ...(stepEnds === undefined ? {} : { stepEnds }) }
    case 'return': {
      const local = tokenRewards.map((reward) => reward - score)
      const rewards = stepEnds === undefined ? local : stepMeans(local, stepEnds)
      if (rewards.length > 0) rewards[rewards.length - 1]! += score
      return { rewards: divergence === undefined ? rewards : rewards.map((reward, t) => reward - divergence[t]!), score }
    }
  }
}

/** The mean over each step at the token that ends it, 0 inside. The last token always ends a step. */
function stepMeans(values: Float64Array, stepEnds: Uint8Array): Float64Array {
  const means = new Float64Array(values.length)
  let total = 0
  let tokens = 0
  for (let t = 0; t < values.length; t++) {
    total += values[t]!
    tokens++
    if (stepEnds[t] === 0 && t < values.length - 1) continue
    means[t] = total / tokens
    total = tokens = 0
  }
  return means
}

/** 1 at tokens whose text holds a line end. */
export function lineEnds({ text, starts, ends }: TokenOffsets): Uint8Array {
  return Uint8Array.from(starts, (start, t) => Number(text.slice(start, ends[t]).includes('\n')))
}

/**
 * DAPO's soft penalty on length (arXiv 2503.14476, eq. 13): 0 up to maxTokens (1 - share), from there linearly down to -1 at maxTokens.
 * With 20,480 tokens and a share of .2 a completion of 18,432 is at -.5.
 */
export function overlongPenalty(length: number, maxTokens: number, overlongShare: number): number {
  const cache = maxTokens * overlongShare
  return cache === 0 ? 0 : -Math.min(1, Math.max(0, (length - (maxTokens - cache)) / cache))
}
