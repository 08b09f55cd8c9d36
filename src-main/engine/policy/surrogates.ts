// Surrogates of the policy gradient: what is minimised for one token, given how far its probability has moved.
//
//   rho_t = exp(l_t - l_t_old)
//   token            -min(rho A, clip(rho, 1 - low, 1 + high) A)                     PPO (1707.06347), GRPO (2402.03300), DAPO's clip-higher
//     dual clip      for A < 0 never more than -c A                                  Ye et al. (1912.09729)
//   sequence         the same with s = exp(mean_t log rho_t) for every token         GSPO (2507.18071); averaging keeps no token advantages
//   sequence-token   the same with sg(s) pi_t / sg(pi_t): equal value, but the derivative of a token carries its own A_t   GSPO-token
//   sequence-sum     the same with s = exp(sum_t log rho_t)                          RLOO (2402.14740)
//   cispo            -sg(min(rho, cap)) A l                                          MiniMax-M1 (2506.13585)
//   sapo             -(4 / tau) sigmoid(tau (rho - 1)) A, tau by the sign of A       SAPO (2511.20347)
import type { LossConfig } from '../../contract/run-config.ts'

export interface Surrogate {
  readonly value: number
  /** By the log-probability. */
  readonly derivative: number
  readonly ratio: number
  readonly clipped: 'no' | 'low' | 'high'
}

/** Where a ratio stops being rewarded. */
export interface ClipBounds {
  readonly floor: number
  readonly ceiling: number
  /** Largest loss with a negative advantage, in units of it; null for none. */
  readonly dual: number | null
}

export function clipBounds({ clipLow, clipHigh, dualClip }: Pick<LossConfig, 'clipLow' | 'clipHigh' | 'dualClip'>): ClipBounds {
  return { floor: 1 - clipLow, ceiling: 1 + clipHigh, dual: dualClip }
}

/**
 * -min(ratio A, clip(ratio) A).
 * @param slope d log ratio / d log-probability
 */
export function clippedSurrogate({ floor, ceiling, dual }: ClipBounds, logRatio: number, advantage: number, slope = 1): Surrogate {
  const ratio = Math.exp(logRatio)
  if (advantage === 0) return { value: 0, derivative: 0, ratio, clipped: 'no' } // also where the ratio overflows: 0 * infinity is not a loss
  if (advantage > 0 && ratio > ceiling) return { value: -ceiling * advantage, derivative: 0, ratio, clipped: 'high' }
  if (advantage < 0 && ratio < floor) return { value: -floor * advantage, derivative: 0, ratio, clipped: 'low' }
  if (advantage < 0 && dual !== null && ratio > dual) return { value: -dual * advantage, derivative: 0, ratio, clipped: 'high' }
  return { value: -ratio * advantage, derivative: -slope * ratio * advantage, ratio, clipped: 'no' }
}

/** The gradient of every token stays, its weight is bounded. As a number it follows the log-probability and means little. */
export function cispoSurrogate(cap: number, logProbability: number, logRatio: number, advantage: number): Surrogate {
  const ratio = Math.exp(logRatio)
  const weight = Math.min(ratio, cap)
  return { value: -weight * advantage * logProbability, derivative: -weight * advantage, ratio, clipped: ratio > cap ? 'high' : 'no' }
}

/** A gate in place of the clip; tau 1 at rho .5, 1, 1.5, 2 gives 1.510163, 2, 2.489837, 2.924234 times -A. */
export function sapoSurrogate(config: Pick<LossConfig, 'sapoTemperaturePositive' | 'sapoTemperatureNegative'>, logRatio: number, advantage: number): Surrogate {
  const ratio = Math.exp(logRatio)
  const tau = advantage > 0 ? config.sapoTemperaturePositive : config.sapoTemperatureNegative
  const gate = 1 / (1 + Math.exp(-tau * (ratio - 1)))
  const slope = gate === 1 ? 0 : 4 * gate * (1 - gate) * ratio // ratio may have overflown where the gate is shut
  return { value: (-4 / tau) * gate * advantage, derivative: -slope * advantage, ratio, clipped: 'no' }
}

export function usesSequence(surrogate: LossConfig['surrogate']): surrogate is 'sequence' | 'sequence-token' | 'sequence-sum' {
  return surrogate === 'sequence' || surrogate === 'sequence-token' || surrogate === 'sequence-sum'
}

export interface SequenceRatio extends ClipBounds {
  /** log s */
  readonly logRatio: number
  /** d log s / d l_t times the tokens of the rollout over which its loss is averaged: 1 for a mean, L for a sum. */
  readonly slope: number
}

/**
 * The ratio that all tokens of a rollout share. A mean over L tokens is the less noisy the longer they are; with `clipReferenceLength` the
 * band is widened by sqrt(reference / L) where L is shorter.
 * @param logRatios [L] log rho_t
 */
export function sequenceRatio(config: Pick<LossConfig, 'surrogate' | 'clipLow' | 'clipHigh' | 'clipReferenceLength'>, logRatios: Float64Array): SequenceRatio {
  const length = Math.max(1, logRatios.length)
  const total = logRatios.reduce((sum, logRatio) => sum + logRatio, 0)
  const widening = config.clipReferenceLength === null ? 1 : Math.sqrt(Math.max(1, config.clipReferenceLength / length))
  // A floor below 0 would clip nothing: a ratio is never negative.
  const bounds = { floor: Math.max(0, 1 - widening * config.clipLow), ceiling: 1 + widening * config.clipHigh, dual: null }
  return config.surrogate === 'sequence-sum' ? { logRatio: total, slope: length, ...bounds } : { logRatio: total / length, slope: 1, ...bounds }
}

/** What the graph reads of a sequence ratio, one number a token: ratio = exp(slope * (l - pivot)) has the value of s and the derivative it should have. */
export interface SequenceColumns {
  readonly pivot: Float32Array
  readonly slope: Float32Array
  readonly clipFloor: Float32Array
  readonly clipCeiling: Float32Array
}

/**
 * @param present [L] log-probabilities under the policy as it is now; the graph computes the same ones again
 * @param old [L] under the policy that was sampled from
 */
export function sequenceColumns(config: Pick<LossConfig, 'surrogate' | 'clipLow' | 'clipHigh' | 'clipReferenceLength'>, present: Float32Array, old: Float32Array): SequenceColumns {
  const { logRatio, slope, floor, ceiling } = sequenceRatio(config, Float64Array.from(present, (value, t) => value - old[t]!))
  return {
    pivot: present.map((value) => value - logRatio / slope),
    slope: new Float32Array(present.length).fill(slope),
    clipFloor: new Float32Array(present.length).fill(floor),
    clipCeiling: new Float32Array(present.length).fill(ceiling),
  }
}
