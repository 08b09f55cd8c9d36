// What a training step needs at its peak, by formula. `npm run bench` prints it beside what was measured.
import type { PolicyWeights } from '../models/policy-weights.ts'

export interface StepMemoryOptions {
  /** Padded tokens of a micro-batch, B*T. */
  readonly tokens: number
  /** Padded length T. */
  readonly length: number
  readonly layout: 'whole' | 'layered'
  readonly headChunkTokens: number
  /** Frozen weights are kept inside the programs a second time (CPU, whole layout). */
  readonly embedFrozen?: boolean
}

/** Bytes by part. */
export interface StepMemory {
  readonly weights: number
  readonly gradients: number
  readonly optimizer: number
  readonly activations: number
  readonly logits: number
  readonly total: number
}

const FLOAT = 4

/**
 * Bytes of one forward and backward pass. Activations a layer keeps for its backward pass, per token, in floats:
 *   x, rms, two inverse-rms, q, k, v and their rotated or transposed forms, attended values twice, gate, up, sigmoid, silu, product
 * and per query head T scores and T probabilities. The layered layout keeps one hidden state a layer and one layer's activations.
 */
export function stepMemory(policy: Pick<PolicyWeights, 'config' | 'trainable' | 'parameters'>, options: StepMemoryOptions): StepMemory {
  const { hiddenSize, intermediateSize, heads, kvHeads, headSize, layers, vocabularySize } = policy.config
  const { tokens, length, layout } = options
  const queries = heads * headSize
  const keys = kvHeads * headSize
  const perToken = 4 * hiddenSize + 4 * queries + 6 * keys + 5 * intermediateSize + 2 * heads * length
  const layerActivations = tokens * perToken * FLOAT
  const activations = layout === 'whole' ? layers * layerActivations : layers * tokens * hiddenSize * FLOAT + 2 * layerActivations
  const rows = layout === 'whole' ? tokens : Math.min(tokens, options.headChunkTokens)
  const logits = 4 * rows * vocabularySize * FLOAT
  const size = (trainable: boolean): number => [...policy.parameters.values()].filter((parameter) => parameter.trainable === trainable).reduce((sum, { data }) => sum + data.byteLength, 0)
  const trained = size(true)
  const frozen = size(false)
  const weights = trained + frozen * (options.embedFrozen === true ? 3 : 1)
  const total = weights + 2 * trained + 2 * trained + activations + logits
  return { weights, gradients: 2 * trained, optimizer: 2 * trained, activations, logits, total }
}
