// The decoder as composition: what a layer is, independent of whether it is trained, recomputed or sampled from.
//
//   x ── rms ── q,k,v ── rotary ── attention ── o ──(+)── rms ── gate,up ── silu·mul ── down ──(+)── x'
//    └───────────────────────────────────────────────┘ └────────────────────────────────────────┘
// Families differ only by what their configuration says: biases, packed projections, layers without rotary, how much of a head rotates.
//
// Attention itself is passed in (`Attend`): training attends over whole sequences, sampling over a cache.
// All activations are flat [tokens, width]; weights keep Hugging Face's [out, in] layout and are never transposed in memory.
import { op, type Value } from '../graph/index.ts'
import type { DecoderConfig } from './config.ts'

/** Where a graph gets a weight from (an input or an initializer). Names are relative to `prefix` inside a layer. */
export interface WeightSource {
  /** A weight of the base model, e.g. 'model.layers.0.self_attn.q_proj.weight'. */
  base(name: string, shape: readonly number[]): Value
  /** A matrix held in blocks that the graph shall multiply with as they are, or undefined where `base` gives it in float32. */
  quantized?(name: string, shape: readonly [number, number]): QuantizedMatrix | undefined
  /** The low-rank pair of a projection, or undefined where it has no adapter. */
  adapter(projection: string, inSize: number, outSize: number): AdapterPair | undefined
  /** Dropout mask for what adapters read, shaped like `x` and scaled by 1/(1-p); undefined without dropout. */
  dropoutMask(site: string, x: Value): Value | undefined
}

/** A weight [out, in] for `op.quantizedMatMul`. */
export interface QuantizedMatrix {
  readonly packed: Value
  readonly scales: Value
  readonly bits: 4 | 8
  readonly blockSize: number
  readonly inSize: number
  readonly outSize: number
}

/** y = W x + scale * B A x. A [rank, in], B [out, rank]. */
export interface AdapterPair {
  readonly a: Value
  readonly b: Value
  readonly scale: number
}

/** q [tokens, heads*d], k and v [tokens, kvHeads*d] -> attended values [tokens, heads*d]. Rotation is the attention's business. */
export type Attend = (query: Value, key: Value, value: Value) => Value

/** One projection with its optional bias and adapter, added to `residual` where one is given: [tokens, in] -> [tokens, out]. */
function linear(x: Value, adapterInput: Value, weights: WeightSource, name: string, inSize: number, outSize: number, bias: boolean, residual: Value | undefined): Value {
  return x.graph.within(name.slice(name.lastIndexOf('.') + 1), () => {
    const offset = bias ? weights.base(`${name}.bias`, [outSize]) : undefined
    // Sums ride along with products: an addition of its own would read and write the activations once more.
    const addend = residual ?? offset
    const blocks = weights.quantized?.(`${name}.weight`, [outSize, inSize])
    let y: Value
    if (blocks === undefined) {
      y = op.matMul(x, weights.base(`${name}.weight`, [outSize, inSize]), { transposeB: true, ...(addend === undefined ? {} : { addend }) })
    } else {
      y = op.quantizedMatMul(x, blocks.packed, blocks.scales, blocks)
      if (addend !== undefined) y = op.add(y, addend)
    }
    if (residual !== undefined && offset !== undefined) y = op.add(y, offset)
    const adapter = weights.adapter(name, inSize, outSize)
    if (adapter === undefined) return y
    const low = op.matMul(adapterInput, adapter.a, { transposeB: true })
    return op.matMul(low, adapter.b, { transposeB: true, scale: adapter.scale, addend: y })
  })
}

/** One decoder layer, pre-norm: [tokens, hidden] -> [tokens, hidden]. `prefix` is '' or 'model.layers.N.'. */
export function decoderLayer(x: Value, config: DecoderConfig, weights: WeightSource, prefix: string, attend: Attend): Value {
  const { hiddenSize, intermediateSize, heads, kvHeads, headSize, rmsEpsilon } = config
  const project = (input: Value, site: string, names: readonly [name: string, inSize: number, outSize: number, bias: boolean][], residual?: Value): Value[] => {
    const mask = weights.dropoutMask(`${prefix}${site}`, input)
    const adapterInput = mask === undefined ? input : op.mul(input, mask)
    return names.map(([name, inSize, outSize, bias]) => linear(input, adapterInput, weights, `${prefix}${name}`, inSize, outSize, bias, residual))
  }
  /** Several projections of one input: a matrix for each, or the rows of one matrix in this order. */
  const projectAll = (input: Value, site: string, packed: string, parts: readonly [name: string, outSize: number][], bias: boolean): Value[] => {
    if (!config.packedProjections) return project(input, site, parts.map(([name, outSize]) => [name, hiddenSize, outSize, bias]))
    const ends = parts.map((_, part) => parts.slice(0, part + 1).reduce((sum, [, outSize]) => sum + outSize, 0))
    const whole = project(input, site, [[packed, hiddenSize, ends.at(-1) as number, bias]])[0] as Value
    return parts.map(([, outSize], part) => op.slice(whole, 1, (ends[part] as number) - outSize, ends[part] as number))
  }
  const attentionInput = x.graph.within('input_layernorm', () => op.rmsNormalization(x, weights.base(`${prefix}input_layernorm.weight`, [hiddenSize]), rmsEpsilon).y)
  const middle = x.graph.within('self_attn', () => {
    const parts: [string, number][] = [['self_attn.q_proj', heads * headSize], ['self_attn.k_proj', kvHeads * headSize], ['self_attn.v_proj', kvHeads * headSize]]
    const [query, key, value] = projectAll(attentionInput, 'self_attn.input', 'self_attn.qkv_proj', parts, config.qkvBias) as [Value, Value, Value]
    const attended = attend(query, key, value)
    return project(attended, 'self_attn.attended', [['self_attn.o_proj', heads * headSize, hiddenSize, config.outputBias]], x)[0] as Value
  })
  const mlpInput = x.graph.within('post_attention_layernorm', () => op.rmsNormalization(middle, weights.base(`${prefix}post_attention_layernorm.weight`, [hiddenSize]), rmsEpsilon).y)
  return x.graph.within('mlp', () => {
    const parts: [string, number][] = [['mlp.gate_proj', intermediateSize], ['mlp.up_proj', intermediateSize]]
    const [gate, up] = projectAll(mlpInput, 'mlp.input', 'mlp.gate_up_proj', parts, config.mlpBias) as [Value, Value]
    return project(op.mul(op.silu(gate), up), 'mlp.inner', [['mlp.down_proj', intermediateSize, hiddenSize, config.mlpBias]], middle)[0] as Value
  })
}

/** Token embedding: ids int64 [tokens] -> [tokens, hidden]. */
export function embed(ids: Value, config: DecoderConfig, weights: WeightSource): Value {
  return ids.graph.within('embed_tokens', () => op.gather(weights.base('model.embed_tokens.weight', [config.vocabularySize, config.hiddenSize]), ids))
}

/** Final norm and output projection: [tokens, hidden] -> logits [tokens, vocabulary]. Tied heads read the embedding. */
export function outputHead(x: Value, config: DecoderConfig, weights: WeightSource): Value {
  const normal = x.graph.within('norm', () => op.rmsNormalization(x, weights.base('model.norm.weight', [config.hiddenSize]), config.rmsEpsilon).y)
  const name = config.tieWordEmbeddings ? 'model.embed_tokens.weight' : 'lm_head.weight'
  return x.graph.within('lm_head', () => {
    const logits = op.matMul(normal, weights.base(name, [config.vocabularySize, config.hiddenSize]), { transposeB: true })
    const adapter = weights.adapter('lm_head', config.hiddenSize, config.vocabularySize)
    if (adapter === undefined) return logits
    return op.matMul(op.matMul(normal, adapter.a, { transposeB: true }), adapter.b, { transposeB: true, scale: adapter.scale, addend: logits })
  })
}
