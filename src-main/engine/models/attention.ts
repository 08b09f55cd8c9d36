// Two ways to attend: over whole right-padded sequences (differentiable), and over a key/value cache (sampling).
import { op, multiplyDimensions, type Graph, type Value } from '../graph/index.ts'
import type { DecoderConfig } from './config.ts'
import type { Attend } from './decoder.ts'

/** Rotary tables and positions of the sequences at hand: positions int64 [B, T]; cos, sin [P, rotary/2]. */
export interface RotaryInputs {
  readonly positions: Value
  readonly cos: Value
  readonly sin: Value
}

function rotate(x: Value, heads: number, config: DecoderConfig, rotary: RotaryInputs | undefined): Value {
  if (rotary === undefined) return x
  const { headSize, rotaryDimensions } = config
  return op.rotary(x, rotary.positions, rotary.cos, rotary.sin, { heads, headSize, rotaryDimensions })
}

/**
 * Causal attention over [B, T]. Sequences are padded on the right, so the causal mask alone keeps padding out of every
 * valid token. Query heads that share a key head are stacked along time, which spares repeating keys and values:
 *
 *   q [B, KV, G*T, d] x k [B, KV, T, d]^T -> [B, KV, G, T, T] + mask -> softmax -> x v [B, KV, T, d] -> [B*T, H*d]
 *
 * `mask` is [T, T] with 0 on and below the diagonal and a large negative number above.
 */
export function sequenceAttention(config: DecoderConfig, mask: Value, rotary: RotaryInputs | undefined): Attend {
  const { heads, kvHeads, headSize } = config
  const groups = heads / kvHeads
  return (query, key, value) => {
    const stackedTime = multiplyDimensions(groups, 'T')
    const queries = rotate(op.reshape(query, ['B', 'T', heads * headSize]), heads, config, rotary)
    const keys = rotate(op.reshape(key, ['B', 'T', kvHeads * headSize]), kvHeads, config, rotary)
    const q = op.reshape(op.transpose(op.reshape(queries, ['B', 'T', kvHeads, groups, headSize]), [0, 2, 3, 1, 4]), ['B', kvHeads, stackedTime, headSize])
    const k = op.transpose(op.reshape(keys, ['B', 'T', kvHeads, headSize]), [0, 2, 1, 3])
    const v = op.transpose(op.reshape(value, ['B', 'T', kvHeads, headSize]), [0, 2, 1, 3])
    const scores = op.matMul(q, k, { transposeB: true, scale: headSize ** -0.5 })
    const masked = op.add(op.reshape(scores, ['B', kvHeads, groups, 'T', 'T']), mask)
    const weights = op.reshape(op.softmax(masked, -1), ['B', kvHeads, stackedTime, 'T'])
    const attended = op.reshape(op.matMul(weights, v), ['B', kvHeads, groups, 'T', headSize])
    return op.reshape(op.transpose(attended, [0, 3, 1, 2, 4]), ['B*T', heads * headSize])
  }
}

/** The causal mask [T, T] for `sequenceAttention`. */
export function causalMask(length: number): Float32Array {
  const mask = new Float32Array(length * length)
  for (let row = 0; row < length; row++) mask.fill(-1e9, row * length + row + 1, (row + 1) * length)
  return mask
}

/** Names of a layer's cache tensors in the sampling graph. */
export const cacheNames = (layer: number): { pastKey: string; pastValue: string; presentKey: string; presentValue: string } => ({
  pastKey: `past.${layer}.key`,
  pastValue: `past.${layer}.value`,
  presentKey: `present.${layer}.key`,
  presentValue: `present.${layer}.value`,
})

/**
 * Attention of one new token a row over a cache [B, kvHeads, S, d] in plain products, which the CPU runs several times faster than its
 * attention operator. The new key and value are outputs [B, kvHeads, 1, d]; the host puts them into the cache afterwards.
 *
 *   q [B, KV, G, d] x K^T -> [B, KV, G, S] + mask [B, 1, 1, S] | q x k_new^T -> softmax over S + 1 -> x V + x v_new
 */
export function singleTokenAttention(graph: Graph, config: DecoderConfig, layer: number, rotary: RotaryInputs | undefined, mask: Value): Attend {
  const { heads, kvHeads, headSize } = config
  const names = cacheNames(layer)
  const pastKey = graph.input(names.pastKey, 'float32', ['B', kvHeads, 'S', headSize])
  const pastValue = graph.input(names.pastValue, 'float32', ['B', kvHeads, 'S', headSize])
  return (query, key, value) => {
    const newKey = rotate(op.reshape(key, ['B', kvHeads, 1, headSize]), kvHeads, config, rotary)
    const newValue = op.reshape(value, ['B', kvHeads, 1, headSize])
    graph.output(names.presentKey, newKey)
    graph.output(names.presentValue, newValue)
    const q = op.reshape(rotate(op.reshape(query, ['B', heads, 1, headSize]), heads, config, rotary), ['B', kvHeads, heads / kvHeads, headSize])
    const scale = headSize ** -0.5
    const past = op.add(op.matMul(q, pastKey, { transposeB: true, scale }), mask)
    const own = op.matMul(q, newKey, { transposeB: true, scale })
    const { rest, last } = op.splitLast(op.softmax(op.concatNamed(past, own, 3, 'S1'), -1), 3, 'S')
    const attended = op.add(op.matMul(rest, pastValue), op.mul(last, newValue))
    return op.reshape(attended, ['B', heads * headSize])
  }
}

/** Attention over a cache [B, kvHeads, S, d]; rows differ in length. Registers the layer's cache inputs and outputs on the graph. */
export function cachedAttention(graph: Graph, config: DecoderConfig, layer: number, rotary: RotaryInputs | undefined, lastIndex: Value, total: Value): Attend {
  const { heads, kvHeads, headSize } = config
  const names = cacheNames(layer)
  const pastKey = graph.input(names.pastKey, 'float32', ['B', kvHeads, 'S', headSize])
  const pastValue = graph.input(names.pastValue, 'float32', ['B', kvHeads, 'S', headSize])
  return (query, key, value) => {
    const result = op.groupQueryAttention(
      {
        query: rotate(op.reshape(query, ['B', 'T', heads * headSize]), heads, config, rotary),
        key: rotate(op.reshape(key, ['B', 'T', kvHeads * headSize]), kvHeads, config, rotary),
        value: op.reshape(value, ['B', 'T', kvHeads * headSize]),
        pastKey,
        pastValue,
        lastIndex,
        total,
      },
      { heads, kvHeads, headSize, scale: headSize ** -0.5 },
    )
    graph.output(names.presentKey, result.presentKey)
    graph.output(names.presentValue, result.presentValue)
    return op.reshape(result.attended, ['B*T', heads * headSize])
  }
}
