// Names and layouts of a decoder's tensors in GGUF, and Hugging Face's for the same weights.
import type { DecoderConfig } from '../config.ts'
import { expectedTensors } from '../weights.ts'
import type { ExpectedTensor } from '../weights.ts'

/** A tensor a model needs under both names. */
export interface NamedTensor extends ExpectedTensor {
  /** Name in the GGUF file. */
  readonly stored: string
  /**
   * Heads whose rows are stored with the two halves of the rotary pairs interleaved, or 0. Files of the llama and smollm3 architectures hold
   * q and k so, because ggml rotates neighbouring rows there; Hugging Face rotates row i with row i + head size / 2.
   */
  readonly interleavedHeads: number
}

const LAYER_PARTS: Readonly<Record<string, string>> = {
  input_layernorm: 'attn_norm',
  post_attention_layernorm: 'ffn_norm',
  'self_attn.q_proj': 'attn_q',
  'self_attn.k_proj': 'attn_k',
  'self_attn.v_proj': 'attn_v',
  'self_attn.qkv_proj': 'attn_qkv',
  'self_attn.o_proj': 'attn_output',
  'mlp.gate_proj': 'ffn_gate',
  'mlp.up_proj': 'ffn_up',
  'mlp.gate_up_proj': 'ffn_up',
  'mlp.down_proj': 'ffn_down',
}
const OUTER_NAMES: Readonly<Record<string, string>> = { 'model.embed_tokens.weight': 'token_embd.weight', 'model.norm.weight': 'output_norm.weight', 'lm_head.weight': 'output.weight' }

/** Every tensor of a decoder in computation order. */
export function ggufTensors(config: DecoderConfig): NamedTensor[] {
  const interleaves = config.family === 'llama' || config.family === 'smollm3'
  return expectedTensors(config).map((tensor) => {
    const part = /^model\.layers\.\d+\.(.+)\.(?:weight|bias)$/.exec(tensor.name)?.[1]
    const heads = part === 'self_attn.q_proj' ? config.heads : part === 'self_attn.k_proj' ? config.kvHeads : 0
    return { ...tensor, stored: storedName(tensor.name), interleavedHeads: interleaves ? heads : 0 }
  })
}

function storedName(name: string): string {
  const outer = OUTER_NAMES[name]
  if (outer !== undefined) return outer
  const [, layer, part, kind] = /^model\.layers\.(\d+)\.(.+)\.(weight|bias)$/.exec(name) ?? []
  const stored = part === undefined ? undefined : LAYER_PARTS[part]
  if (stored === undefined) throw new Error(`GGUF has no name for the tensor ${name}`)
  return `blk.${layer}.${stored}.${kind}`
}

/** Rows [head][half][pair] -> [head][pair][half]: from Hugging Face's order to the file's. */
export function interleaveHeads(values: Float32Array, rows: number, heads: number): Float32Array {
  return reorderRows(values, rows, heads, (pair, half, pairs) => ({ from: half * pairs + pair, to: 2 * pair + half }))
}

/** The inverse of {@link interleaveHeads}. */
export function separateHeads<Values extends Float32Array | Uint16Array>(values: Values, rows: number, heads: number): Values {
  return reorderRows(values, rows, heads, (pair, half, pairs) => ({ from: 2 * pair + half, to: half * pairs + pair }))
}

function reorderRows<Values extends Float32Array | Uint16Array>(values: Values, rows: number, heads: number, place: (pair: number, half: number, pairs: number) => { from: number; to: number }): Values {
  const width = values.length / rows
  const headSize = rows / heads
  const reordered = values.slice() as Values
  for (let head = 0; head < heads; head += 1) {
    for (let pair = 0; pair < headSize / 2; pair += 1) {
      for (const half of [0, 1]) {
        const { from, to } = place(pair, half, headSize / 2)
        const source = (head * headSize + from) * width
        reordered.set(values.subarray(source, source + width), (head * headSize + to) * width)
      }
    }
  }
  return reordered
}
