// The policy loss as plain arrays: the readable form of what the graph computes, with its derivative by each log-probability.
//
//   loss_t = w_t * surrogate(l_t, l_t_old, A_t) + beta * KL_t        surrogates.ts; GRPO (2402.03300) for the KL term
//   loss   = sum_k weight_k sum_t loss_t                             weight_k by `aggregationWeights`
//
// w_t corrects for a sampler that differs from the trainer (importance.ts) and is a constant to the derivative, like A_t.
// With one update a batch the ratio is 1 and the derivative is -A_t: the clip acts only on later mini-batches and epochs.
import type { LossConfig } from '../../contract/run-config.ts'
import { cispoSurrogate, clipBounds, clippedSurrogate, sapoSurrogate, sequenceRatio, usesSequence } from './surrogates.ts'
import type { Surrogate } from './surrogates.ts'

/** One number a token, T in all; rollouts stand one after another. */
export interface PolicyLossBatch {
  /** [R] tokens of each rollout in the arrays below. */
  readonly lengths: ArrayLike<number>
  /** [R] by `aggregationWeights`; 0 leaves a rollout out of loss, derivative and metrics. */
  readonly weights: ArrayLike<number>
  /** [T] l_t under the policy being trained, nats. */
  readonly logProbabilities: ArrayLike<number>
  /** [T] l_t_old under the policy that the trainer held when the batch was sampled. */
  readonly oldLogProbabilities: ArrayLike<number>
  /** [T] under the reference model; needed when klCoefficient is not 0. */
  readonly referenceLogProbabilities?: ArrayLike<number>
  /** [T] */
  readonly advantages: ArrayLike<number>
  /** [T] w_t of importance.ts; 1 where left out. */
  readonly corrections?: ArrayLike<number>
}

/** Sums over tokens, so that the metrics of micro-batches add up; `lossMetrics` makes means of them. */
export interface LossSums {
  tokens: number
  /** Tokens whose clip took the derivative away, by side. */
  clippedLow: number
  clippedHigh: number
  ratio: number
  /** k3 of the old policy against the present one. */
  approximateKl: number
  /** The configured estimator against the reference model. */
  referenceKl: number
}

export interface LossMetrics {
  readonly clipFraction: number
  readonly clipFractionLow: number
  readonly clipFractionHigh: number
  readonly meanRatio: number
  readonly approximateKl: number
  readonly referenceKl: number
}

export interface PolicyLoss {
  /** sum_k weight_k sum_t loss_t */
  readonly loss: number
  /** [T] loss_t, unweighted. */
  readonly tokenLosses: Float64Array
  /** [T] d loss / d l_t, aggregation weights included: what the backward pass of the head starts from. */
  readonly derivatives: Float64Array
  readonly sums: LossSums
}

/**
 * The weight of each rollout's token losses in the one number that is minimised. All rollouts of an optimizer update go in together,
 * so that micro-batches, which take their share of the weights, add up to the gradient of the whole.
 *
 * For token losses [1,1] and [.5]x6: token-then-rollout .75, all-tokens .625, constant-length 8 .3125.
 * @param lengths [R] tokens of each rollout; 0 (empty, dropped, masked) leaves a rollout out and counts nowhere
 */
export function aggregationWeights(config: Pick<LossConfig, 'aggregation' | 'constantLength'>, lengths: ArrayLike<number>): Float64Array {
  const all = Array.from(lengths)
  const rollouts = all.filter((length) => length > 0).length
  const tokens = all.reduce((total, length) => total + length, 0)
  return Float64Array.from(all, (length) => {
    if (length <= 0) return 0
    switch (config.aggregation) {
      case 'token-then-rollout': // keeps sum_k mean_t A = 0 of each group
        return 1 / (rollouts * length)
      case 'all-tokens': // DAPO: long rollouts weigh more
        return 1 / tokens
      case 'constant-length': // Dr.GRPO: no reward for being short or long
        return 1 / (rollouts * config.constantLength)
    }
  })
}

/** Value and derivative by l of a KL estimate at d = l_ref - l (http://joschu.net/blog/kl-approx.html). */
export function klEstimate(estimator: LossConfig['klEstimator'], logProbability: number, reference: number): { value: number; derivative: number } {
  const d = reference - logProbability
  switch (estimator) {
    case 'k1': // unbiased as a number; as a loss its derivative is the constant 1, whose expectation is 0
      return { value: -d, derivative: 1 }
    case 'k2':
      return { value: (d * d) / 2, derivative: -d }
    case 'k3':
      return { value: Math.expm1(d) - d, derivative: -Math.expm1(d) }
  }
}

/** rho k: under the policy that was sampled from, its expectation is that of k under the present one, and so is its gradient. */
function weighedByRatio({ value, derivative }: { value: number; derivative: number }, logRatio: number): { value: number; derivative: number } {
  const ratio = Math.exp(logRatio)
  return { value: ratio * value, derivative: ratio * (value + derivative) }
}

/** The surrogate of every token of one rollout. */
function rolloutSurrogates(config: LossConfig, present: ArrayLike<number>, old: ArrayLike<number>, advantages: ArrayLike<number>): Surrogate[] {
  const logRatios = Float64Array.from(present, (value, t) => value - old[t]!)
  if (usesSequence(config.surrogate)) {
    const shared = sequenceRatio(config, logRatios)
    return Array.from(advantages, (advantage) => clippedSurrogate(shared, shared.logRatio, advantage, shared.slope))
  }
  switch (config.surrogate) {
    case 'token': {
      const bounds = clipBounds(config)
      return Array.from(advantages, (advantage, t) => clippedSurrogate(bounds, logRatios[t]!, advantage))
    }
    case 'cispo':
      return Array.from(advantages, (advantage, t) => cispoSurrogate(config.cispoCap, present[t]!, logRatios[t]!, advantage))
    case 'sapo':
      return Array.from(advantages, (advantage, t) => sapoSurrogate(config, logRatios[t]!, advantage))
  }
}

/**
 * Loss, token losses, derivatives and metrics of a (micro-)batch.
 * @throws Error when an array is shorter than the lengths say, or a KL term is asked for without reference log-probabilities
 */
export function policyLoss(config: LossConfig, batch: PolicyLossBatch): PolicyLoss {
  const tokens = checkLossBatch(config, batch)
  const tokenLosses = new Float64Array(tokens)
  const derivatives = new Float64Array(tokens)
  const sums = emptyLossSums()
  const { logProbabilities, oldLogProbabilities, referenceLogProbabilities, advantages, corrections } = batch
  let loss = 0
  let start = 0
  for (let k = 0; k < batch.lengths.length; k++) {
    const weight = batch.weights[k]!
    const end = start + batch.lengths[k]!
    const own = (array: ArrayLike<number>): Float64Array => Float64Array.from({ length: weight === 0 ? 0 : end - start }, (_, t) => array[start + t]!)
    const surrogates = rolloutSurrogates(config, own(logProbabilities), own(oldLogProbabilities), own(advantages))
    for (let t = start; t < end && weight !== 0; t++) {
      const logProbability = logProbabilities[t]!
      const old = oldLogProbabilities[t]!
      const surrogate = surrogates[t - start]!
      const correction = corrections?.[t] ?? 1
      let value = correction * surrogate.value
      let derivative = correction * surrogate.derivative
      if (referenceLogProbabilities !== undefined) {
        const estimate = klEstimate(config.klEstimator, logProbability, referenceLogProbabilities[t]!)
        sums.referenceKl += estimate.value
        if (config.klCoefficient !== 0 && config.klPlace === 'loss') {
          const kl = config.klUnbiased ? weighedByRatio(estimate, logProbability - old) : estimate
          value += config.klCoefficient * kl.value
          derivative += config.klCoefficient * kl.derivative
        }
      }
      tokenLosses[t] = value
      derivatives[t] = weight * derivative
      loss += weight * value
      sums.tokens += 1
      sums.clippedLow += Number(surrogate.clipped === 'low')
      sums.clippedHigh += Number(surrogate.clipped === 'high')
      sums.ratio += surrogate.ratio
      sums.approximateKl += klEstimate('k3', old, logProbability).value
    }
    start = end
  }
  return { loss, tokenLosses, derivatives, sums }
}

export function emptyLossSums(): LossSums {
  return { tokens: 0, clippedLow: 0, clippedHigh: 0, ratio: 0, approximateKl: 0, referenceKl: 0 }
}

/** Adds the sums of one micro-batch to those of an update. */
export function addLossSums(into: LossSums, more: LossSums): void {
  into.tokens += more.tokens
  into.clippedLow += more.clippedLow
  into.clippedHigh += more.clippedHigh
  into.ratio += more.ratio
  into.approximateKl += more.approximateKl
  into.referenceKl += more.referenceKl
}

/** Means over the unmasked tokens; without any, a ratio of 1 and zeros. */
export function lossMetrics(sums: LossSums): LossMetrics {
  if (sums.tokens === 0) return { clipFraction: 0, clipFractionLow: 0, clipFractionHigh: 0, meanRatio: 1, approximateKl: 0, referenceKl: 0 }
  return {
    clipFraction: (sums.clippedLow + sums.clippedHigh) / sums.tokens,
    clipFractionLow: sums.clippedLow / sums.tokens,
    clipFractionHigh: sums.clippedHigh / sums.tokens,
    meanRatio: sums.ratio / sums.tokens,
    approximateKl: sums.approximateKl / sums.tokens,
    referenceKl: sums.referenceKl / sums.tokens,
  }
}

/** The number of tokens T, after every array was found to have at least that many. */
function checkLossBatch(config: LossConfig, batch: PolicyLossBatch): number {
  const tokens = Array.from(batch.lengths).reduce((total, length) => total + length, 0)
  const { logProbabilities, oldLogProbabilities, referenceLogProbabilities, advantages, corrections } = batch
  for (const [name, array] of Object.entries({ logProbabilities, oldLogProbabilities, referenceLogProbabilities, advantages, corrections })) {
    if (array !== undefined && array.length < tokens) throw new Error(`policy loss: the rollouts have ${tokens} tokens but ${name} has ${array.length}`)
  }
  if (batch.weights.length < batch.lengths.length) throw new Error(`policy loss: ${batch.lengths.length} rollouts but ${batch.weights.length} weights`)
  if (config.klCoefficient !== 0 && referenceLogProbabilities === undefined) throw new Error('policy loss: a KL coefficient needs reference log-probabilities')
  return tokens
}
