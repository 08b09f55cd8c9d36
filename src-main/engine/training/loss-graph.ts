// Log-probabilities and losses as graph. The same losses stand in policy/losses.ts as plain arrays; a test holds both equal.
import type { LossConfig } from '../../contract/run-config.ts'
import { op, type Graph, type Value } from '../graph/index.ts'
import { usesSequence } from '../policy/surrogates.ts'

/** Everything the loss reads about each predicted token; all columns are [M, 1]. */
export interface TokenColumns {
  /** log pi(token), fp32, of the policy being trained. */
  readonly logprob: Value
  /** Entropy of the law the token was drawn from (nats). */
  readonly entropy: Value
}

/**
 * logits [M, V], targets int64 [M, 1] -> log-probability and entropy [M, 1] of the law softmax(logits / temperature).
 *   log pi(y) = z_y - logsumexp(z),   H = logsumexp(z) - sum_v softmax(z)_v z_v
 */
export function tokenColumns(logits: Value, targets: Value, temperature: number): TokenColumns {
  return logits.graph.within('token_columns', () => {
    const scaled = temperature === 1 ? logits : op.div(logits, temperature)
    const normaliser = op.reduceLogSumExp(scaled, [1], true)
    const logprob = op.sub(op.gatherElements(scaled, targets), normaliser)
    const expected = op.reduceSum(op.mul(op.exp(op.sub(scaled, normaliser)), scaled), [1], true)
    return { logprob, entropy: op.sub(normaliser, expected) }
  })
}

/** What a policy-gradient loss reads beside the log-probability; all inputs are [M, 1]. */
export type LossKind =
  | { readonly kind: 'policy'; readonly loss: LossConfig }
  /** Supervised fine-tuning: weighted cross-entropy. */
  | { readonly kind: 'supervised' }

/** Names of the per-token inputs a loss declares. `weight` holds the aggregation (and is 0 for tokens that do not count). */
export function lossInputNames(kind: LossKind): readonly string[] {
  if (kind.kind === 'supervised') return ['weight']
  const sequence = usesSequence(kind.loss.surrogate)
  return [
    'weight',
    'advantage',
    ...(sequence ? ['pivot', 'slope', 'clipFloor', 'clipCeiling'] : []),
    ...(!sequence || weighsKl(kind.loss) ? ['oldLogprob'] : []),
    ...(hasKlTerm(kind.loss) ? ['referenceLogprob'] : []),
  ]
}

function weighsKl(loss: LossConfig): boolean {
  return hasKlTerm(loss) && loss.klUnbiased
}

function hasKlTerm({ klCoefficient, klPlace }: LossConfig): boolean {
  return klCoefficient > 0 && klPlace === 'loss'
}

/**
 * The loss as one number: sum over tokens of weight * token loss. Declares its inputs on the graph.
 *   policy:  surrogate (policy/surrogates.ts) + beta * kl
 */
export function tokenLoss(graph: Graph, logprob: Value, kind: LossKind): Value {
  return graph.within('loss', () => {
    const declared = new Map<string, Value>()
    const input = (name: string): Value => {
      const value = declared.get(name) ?? graph.input(name, 'float32', logprob.shape)
      declared.set(name, value)
      return value
    }
    const weight = input('weight')
    switch (kind.kind) {
      case 'supervised':
        return op.neg(op.sumAll(op.mul(weight, logprob)))
      case 'policy': {
        const surrogate = surrogateTerm(kind.loss, logprob, input)
        if (!hasKlTerm(kind.loss)) return op.sumAll(op.mul(weight, surrogate))
        const estimate = klTerm(logprob, input('referenceLogprob'), kind.loss.klEstimator)
        const kl = weighsKl(kind.loss) ? op.mul(op.exp(op.sub(logprob, input('oldLogprob'))), estimate) : estimate
        return op.sumAll(op.mul(weight, op.add(surrogate, op.mul(kl, kind.loss.klCoefficient))))
      }
    }
  })
}

/** The surrogate of each token [M, 1]; see policy/surrogates.ts. */
function surrogateTerm(config: LossConfig, logprob: Value, input: (name: string) => Value): Value {
  const advantage = input('advantage')
  switch (config.surrogate) {
    case 'token': {
      const ratio = op.exp(op.sub(logprob, input('oldLogprob')))
      const loss = clippedTerm(ratio, advantage, 1 - config.clipLow, 1 + config.clipHigh)
      return config.dualClip === null ? loss : op.where(op.less(advantage, 0), op.min(loss, op.mul(advantage, -config.dualClip)), loss)
    }
    case 'sequence':
    case 'sequence-token':
    case 'sequence-sum': {
      // The mean over the sequence is no matter of one chunk of rows: it comes in through the pivot, from a forward pass.
      const ratio = op.exp(op.mul(input('slope'), op.sub(logprob, input('pivot'))))
      return clippedTerm(ratio, advantage, input('clipFloor'), input('clipCeiling'))
    }
    case 'cispo': {
      const ratio = op.exp(op.sub(logprob, input('oldLogprob')))
      return op.neg(op.mul(op.mul(op.detach(op.min(ratio, config.cispoCap)), advantage), logprob))
    }
    case 'sapo': {
      const ratio = op.exp(op.sub(logprob, input('oldLogprob')))
      const tau = op.where(op.less(0, advantage), config.sapoTemperaturePositive, config.sapoTemperatureNegative)
      return op.neg(op.mul(op.div(op.mul(op.sigmoid(op.mul(tau, op.sub(ratio, 1))), 4), tau), advantage))
    }
  }
}

/** -min(ratio A, clip(ratio) A) */
function clippedTerm(ratio: Value, advantage: Value, floor: Value | number, ceiling: Value | number): Value {
  const clipped = op.min(op.max(ratio, floor), ceiling)
  return op.neg(op.min(op.mul(ratio, advantage), op.mul(clipped, advantage)))
}

/** KL(pi || reference) estimated on the drawn token, d = log ref - log pi (Schulman 2020): k1 = -d, k2 = d^2/2, k3 = exp(d) - 1 - d. */
function klTerm(logprob: Value, reference: Value, estimator: LossConfig['klEstimator']): Value {
  const difference = op.sub(reference, logprob)
  switch (estimator) {
    case 'k1':
      return op.neg(difference)
    case 'k2':
      return op.mul(op.mul(difference, difference), 0.5)
    case 'k3':
      return op.sub(op.sub(op.exp(difference), 1), difference)
  }
}
