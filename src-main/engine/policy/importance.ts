// Correction for a sampler whose log-probabilities differ from the trainer's on the same ids (other kernels, other precision).
//
//   w_t = exp(l_t_trainer - l_t_sampler)
//   truncated   min(w, cap)                          truncated importance sampling
//   masked      w inside [low, high], 0 outside      IcePop
//
// w multiplies the policy loss of the token and is a constant to the derivative.

import type { LossConfig } from '../../contract/run-config.ts'

export type ImportanceCorrection =
  | { readonly kind: 'none' }
  | { readonly kind: 'truncated'; readonly cap: number }
  | { readonly kind: 'masked'; readonly low: number; readonly high: number }

/** The correction a loss configuration asks for. */
export function correctionOf(config: Pick<LossConfig, 'correction' | 'correctionCap' | 'correctionLow' | 'correctionHigh'>): ImportanceCorrection {
  switch (config.correction) {
    case 'none':
      return { kind: 'none' }
    case 'truncated':
      return { kind: 'truncated', cap: config.correctionCap }
    case 'masked':
      return { kind: 'masked', low: config.correctionLow, high: config.correctionHigh }
  }
}

export interface ImportanceWeights {
  /** [T] */
  readonly weights: Float64Array
  /** Share of tokens whose weight was cut (truncated) or set to 0 (masked). */
  readonly cutShare: number
  readonly meanWeight: number
  /** Largest |l_trainer - l_sampler|: the meter that tells whether sampler and trainer compute the same policy. 0 without tokens. */
  readonly largestDifference: number
}

/**
 * Weights for tokens whose log-probabilities both sides computed under the same policy.
 * @param trainer [T] nats
 * @param sampler [T] nats
 * @throws Error when the arrays differ in length
 */
export function importanceWeights(correction: ImportanceCorrection, trainer: ArrayLike<number>, sampler: ArrayLike<number>): ImportanceWeights {
  if (trainer.length !== sampler.length) throw new Error(`importance weights: ${trainer.length} trainer log-probabilities but ${sampler.length} of the sampler`)
  const weights = new Float64Array(trainer.length)
  let cut = 0
  let total = 0
  let largestDifference = 0
  for (let t = 0; t < weights.length; t++) {
    const difference = trainer[t]! - sampler[t]!
    const { weight, wasCut } = correctedWeight(correction, Math.exp(difference))
    weights[t] = weight
    cut += Number(wasCut)
    total += weight
    // NaN is kept, not lost in a comparison: a meter that hides it would be of no use.
    largestDifference = Number.isNaN(difference) ? difference : Math.max(largestDifference, Math.abs(difference))
  }
  const tokens = Math.max(weights.length, 1)
  return { weights, cutShare: cut / tokens, meanWeight: weights.length === 0 ? 1 : total / tokens, largestDifference }
}

function correctedWeight(correction: ImportanceCorrection, ratio: number): { weight: number; wasCut: boolean } {
  switch (correction.kind) {
    case 'none':
      return { weight: 1, wasCut: false }
    case 'truncated':
      return { weight: Math.min(ratio, correction.cap), wasCut: ratio > correction.cap }
    case 'masked': {
      const inside = ratio >= correction.low && ratio <= correction.high
      return { weight: inside ? ratio : 0, wasCut: !inside }
    }
  }
}

/**
 * CARM (arXiv 2610.02039): whether a rollout still belongs to the policy. Absolute values, because signed log-ratios cancel in a mean.
 * @param present [L] log-probabilities under the policy as it is now, nats
 * @param sampler [L] under the law the ids were drawn from
 */
export function carmKeeps(epsilon: number, present: ArrayLike<number>, sampler: ArrayLike<number>): boolean {
  let total = 0
  for (let t = 0; t < present.length; t++) total += Math.abs(present[t]! - sampler[t]!)
  return total <= Math.log1p(epsilon) * present.length
}
