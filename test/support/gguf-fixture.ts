// Small valid GGUF files: in memory for tests that damage them, and tokenizers for models that have none.
import { ggufHeader } from '../../src-main/engine/models/gguf/write.ts'
import type { GgufTensorSource, MetadataEntry } from '../../src-main/engine/models/gguf/write.ts'
import { quantise } from '../../src-main/engine/models/gguf/quantise.ts'

/** A tensor with its values. */
export interface FixtureTensor extends Omit<GgufTensorSource, 'data'> {
  readonly values: Float32Array
}

/** The bytes of a whole file. */
export function buildGguf(metadata: readonly MetadataEntry[], tensors: readonly FixtureTensor[]): Uint8Array {
  const parts: Uint8Array[] = [ggufHeader(metadata, tensors)]
  for (const { type, values } of tensors) {
    const bytes = quantise(type, values)
    parts.push(bytes, new Uint8Array((32 - (bytes.length % 32)) % 32))
  }
  return Buffer.concat(parts)
}

const WIDTH = 32
const ROWS = 64

/** Metadata of a llama of one layer, width 32, two heads and 64 tokens. */
export function tinyMetadata(): MetadataEntry[] {
  const u32 = (key: string, value: number): MetadataEntry => ({ key, type: 'u32', value })
  const letters = Array.from({ length: ROWS - 2 }, (_, index) => String.fromCharCode(0x21 + index))
  return [
    { key: 'general.architecture', type: 'string', value: 'llama' },
    u32('llama.block_count', 1), u32('llama.context_length', 64), u32('llama.embedding_length', WIDTH), u32('llama.feed_forward_length', WIDTH),
    u32('llama.attention.head_count', 2), u32('llama.attention.head_count_kv', 1), u32('llama.rope.dimension_count', WIDTH / 2),
    { key: 'llama.attention.layer_norm_rms_epsilon', type: 'f32', value: 1e-5 },
    { key: 'llama.rope.freq_base', type: 'f32', value: 10_000 },
    { key: 'tokenizer.ggml.model', type: 'string', value: 'gpt2' },
    { key: 'tokenizer.ggml.pre', type: 'string', value: 'smollm' },
    { key: 'tokenizer.ggml.tokens', type: 'strings', value: [...letters, '!"', '<|im_end|>'] },
    { key: 'tokenizer.ggml.token_type', type: 'i32s', value: [...letters.map(() => 1), 1, 3] },
    { key: 'tokenizer.ggml.merges', type: 'strings', value: ['! "'] },
    u32('tokenizer.ggml.eos_token_id', ROWS - 1),
  ]
}

/** Tensors that fit {@link tinyMetadata}; the head is tied. One is packed, so that damage to blocks is met too. */
export function tinyTensors(): FixtureTensor[] {
  const tensor = (name: string, shape: readonly number[], type: FixtureTensor['type'] = 'F32'): FixtureTensor => {
    const elements = shape.reduce((product, dimension) => product * dimension, 1)
    return { name, type, shape, values: Float32Array.from({ length: elements }, (_, index) => (shape.length === 1 ? 1 : Math.sin(index + name.length) / 4)) }
  }
  return [
    tensor('token_embd.weight', [ROWS, WIDTH], 'Q8_0'),
    tensor('blk.0.attn_norm.weight', [WIDTH]),
    tensor('blk.0.attn_q.weight', [WIDTH, WIDTH], 'F16'),
    tensor('blk.0.attn_k.weight', [WIDTH / 2, WIDTH]),
    tensor('blk.0.attn_v.weight', [WIDTH / 2, WIDTH]),
    tensor('blk.0.attn_output.weight', [WIDTH, WIDTH], 'BF16'),
    tensor('blk.0.ffn_norm.weight', [WIDTH]),
    tensor('blk.0.ffn_gate.weight', [WIDTH, WIDTH]),
    tensor('blk.0.ffn_up.weight', [WIDTH, WIDTH]),
    tensor('blk.0.ffn_down.weight', [WIDTH, WIDTH]),
    tensor('output_norm.weight', [WIDTH]),
  ]
}

/** A complete tiny model: opens, has a tokenizer, and can compute. */
export function tinyGguf(): Uint8Array {
  return buildGguf(tinyMetadata(), tinyTensors())
}

/** tokenizer.json of a byte-level tokenizer with exactly `size` single-letter tokens, for models whose fixtures have none. At most 188. */
export function letterTokenizer(size: number): Record<string, unknown> {
  const visible = Array.from({ length: 256 }, (_, byte) => byte).filter((byte) => (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae)
  if (size > visible.length) throw new Error(`${size} tokens of one letter cannot be`)
  return {
    version: '1.0', added_tokens: [], normalizer: null, post_processor: null,
    pre_tokenizer: { type: 'Sequence', pretokenizers: [{ type: 'Digits', individual_digits: true }, { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true }] },
    decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true },
    model: { type: 'BPE', vocab: Object.fromEntries(visible.slice(0, size).map((byte, id) => [String.fromCharCode(byte), id])), merges: [] },
  }
}
