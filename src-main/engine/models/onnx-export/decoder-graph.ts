// The decoder as other programs expect it: onnxruntime-genai and transformers.js feed the same names.
//
//   input_ids, position_ids int64 [batch_size, sequence_length]; attention_mask int64 [batch_size, total_sequence_length]
//   past_key_values.N.key, .value [batch_size, kvHeads, past_sequence_length, d] ->
//   logits [batch_size, sequence_length, vocabulary]; present.N.key, .value [batch_size, kvHeads, total_sequence_length, d]
//
// attention_mask is 1 on tokens and 0 on padding, which lies on the right: what com.microsoft.GroupQueryAttention can do.
import { Graph, op, type Value } from '../../graph/index.ts'
import { quantizationBlock } from '../../runtime/quantization.ts'
import type { DecoderConfig } from '../config.ts'
import { decoderLayer, embed, outputHead } from '../decoder.ts'
import type { Attend, WeightSource } from '../decoder.ts'
import { usesRotary } from '../rotary.ts'

const batch = 'batch_size'
const length = 'sequence_length'
const past = 'past_sequence_length'
const total = 'total_sequence_length'

/** Names of the rotary tables among the graph's weights. */
export const ROTARY_TABLES = { cos: 'rotary.cos', sin: 'rotary.sin' } as const

/** A layer's cache, as genai_config.json and transformers.js name it. */
export const cacheNames = (layer: number | '%d') => ({
  pastKey: `past_key_values.${layer}.key`,
  pastValue: `past_key_values.${layer}.value`,
  presentKey: `present.${layer}.key`,
  presentValue: `present.${layer}.value`,
})

/** A matrix in blocks is two weights of the graph. */
export const blockNames = (name: string) => ({ packed: `${name}.packed`, scales: `${name}.scales` })

/** How the matrices of the layers are held: in float32 or float16, or in blocks of so many bits. Embedding and head are never in blocks. */
export type MatrixType = 'float32' | 'float16' | 'int8' | 'int4'

export const bitsOf: Readonly<Record<MatrixType, 4 | 8 | undefined>> = { float32: undefined, float16: undefined, int8: 8, int4: 4 }

/**
 * Builds the graph; weights, under their Hugging Face names, and rotary tables are inputs for `writeOnnxFile` to turn into files.
 * @param positions rows of the rotary tables: the longest text the model takes
 */
export function decoderGraph(config: DecoderConfig, positions: number, type: MatrixType): Graph {
  const graph = new Graph('decoder')
  const ids = graph.input('input_ids', 'int64', [batch, length])
  const mask = graph.input('attention_mask', 'int64', [batch, total])
  const half = config.rotaryDimensions / 2
  const rotary = {
    positions: graph.input('position_ids', 'int64', [batch, length]),
    cos: graph.input(ROTARY_TABLES.cos, 'float32', [positions, half]),
    sin: graph.input(ROTARY_TABLES.sin, 'float32', [positions, half]),
  }
  const lengths = graph.within('lengths', () => ({
    last: op.cast(op.sub(op.reduceSum(op.cast(mask, 'float32'), [1]), 1), 'int32'),
    longest: op.reshape(op.cast(graph.dimension(total), 'int32'), []),
  }))
  const weights = weightInputs(graph, bitsOf[type])
  const hidden = graph.within('model', () => {
    let x = embed(op.reshape(ids, [`${batch}*${length}`]), config, weights)
    for (let layer = 0; layer < config.layers; layer++) {
      const attend = cacheAttention(graph, config, layer, lengths, usesRotary(config, layer) ? rotary : undefined)
      x = graph.within(`layers.${layer}`, () => decoderLayer(x, config, weights, `model.layers.${layer}.`, attend))
    }
    return x
  })
  graph.output('logits', op.reshape(outputHead(hidden, config, weights), [batch, length, config.vocabularySize]))
  return graph
}

/** Weights as inputs of the graph, each declared once; adapters are folded in. */
function weightInputs(graph: Graph, bits: 4 | 8 | undefined): WeightSource {
  const declared = new Map<string, Value>()
  return {
    base(name, shape) {
      const known = declared.get(name) ?? graph.input(name, 'float32', shape)
      declared.set(name, known)
      return known
    },
    quantized(name, [outSize, inSize]) {
      if (bits === undefined) return undefined
      const names = blockNames(name)
      const blocks = inSize / quantizationBlock
      const packed = graph.input(names.packed, 'uint8', [outSize, blocks, (quantizationBlock * bits) / 8])
      return { packed, scales: graph.input(names.scales, 'float32', [outSize * blocks]), bits, blockSize: quantizationBlock, inSize, outSize }
    },
    adapter: () => undefined,
    dropoutMask: () => undefined,
  }
}

interface RotaryValues {
  readonly positions: Value
  readonly cos: Value
  readonly sin: Value
}

/** GroupQueryAttention over a cache that grows, or, where past and present are one buffer, stays. Keys are rotated before. */
function cacheAttention(graph: Graph, config: DecoderConfig, layer: number, lengths: { readonly last: Value; readonly longest: Value }, rotary: RotaryValues | undefined): Attend {
  const { heads, kvHeads, headSize, rotaryDimensions } = config
  const names = cacheNames(layer)
  const pastKey = graph.input(names.pastKey, 'float32', [batch, kvHeads, past, headSize])
  const pastValue = graph.input(names.pastValue, 'float32', [batch, kvHeads, past, headSize])
  const rotated = (x: Value, count: number): Value => {
    const rows = op.reshape(x, [batch, length, count * headSize])
    return rotary === undefined ? rows : op.rotary(rows, rotary.positions, rotary.cos, rotary.sin, { heads: count, headSize, rotaryDimensions })
  }
  return (query, key, value) => {
    const q = rotated(query, heads)
    const inputs = [q, rotated(key, kvHeads), op.reshape(value, [batch, length, kvHeads * headSize]), pastKey, pastValue, lengths.last, lengths.longest]
    const cache = { type: 'float32', shape: [batch, kvHeads, total, headSize] } as const
    const outputs = graph.append('GroupQueryAttention', inputs, { heads, kvHeads, headSize, scale: headSize ** -0.5 }, [{ type: 'float32', shape: q.shape }, cache, cache])
    const [attended, presentKey, presentValue] = outputs as readonly [Value, Value, Value]
    graph.output(names.presentKey, presentKey)
    graph.output(names.presentValue, presentValue)
    return op.reshape(attended, [`${batch}*${length}`, heads * headSize])
  }
}
