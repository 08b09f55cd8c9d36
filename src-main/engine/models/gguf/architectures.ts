// A GGUF file's architecture as Hugging Face's config.json, and back.
// Source: llama.cpp's converters (conversion/llama.py, qwen.py, smollm3.py, phi.py) and loaders (src/models).
import { UserError } from '../../../contract/errors.ts'
import type { DecoderConfig, ModelFamily } from '../config.ts'
import type { GgufFile } from './file.ts'
import { metadataOf, wrongMetadata } from './metadata.ts'
import type { Metadata } from './metadata.ts'
import type { MetadataEntry } from './write.ts'

/** Architectures that are read, with the class Hugging Face has for them. They bear our families' names. */
const CLASSES: Readonly<Record<ModelFamily, string>> = { llama: 'LlamaForCausalLM', qwen2: 'Qwen2ForCausalLM', smollm3: 'SmolLM3ForCausalLM', phi3: 'Phi3ForCausalLM' }

const LONG_FACTORS = 'rope_factors_long.weight'
const SHORT_FACTORS = 'rope_factors_short.weight'
/** llama.cpp leaves rotary out in every fourth layer of this architecture; the file has no key for it. */
const NO_ROPE_STEP = 4

/** The file's architecture. @throws UserError for one that is not supported. */
export function architectureOf(metadata: Metadata): ModelFamily {
  const name = metadata.requiredText('general.architecture')
  if (Object.hasOwn(CLASSES, name)) return name as ModelFamily
  throw wrongMetadata(metadata.path, 'general.architecture', `the architecture "${name}" is not supported`, `one of ${Object.keys(CLASSES).join(', ')}`, 'Choose a model of a supported family.')
}

/**
 * The `config.json` that belongs to a file's metadata and tensors; special ids are left out.
 * @throws UserError naming the key for whatever is missing, or would change the numbers and is not computed
 */
export async function configOfGguf(file: GgufFile): Promise<Record<string, unknown>> {
  const metadata = metadataOf(file.path, file.metadata)
  const family = architectureOf(metadata)
  const key = (name: string): string => `${family}.${name}`
  refuseUnsupported(file, metadata, family)
  const heads = metadata.requiredNumber(key('attention.head_count'))
  const hiddenSize = metadata.requiredNumber(key('embedding_length'))
  const headSize = metadata.number(key('attention.key_length')) ?? hiddenSize / heads
  const rotated = metadata.number(key('rope.dimension_count')) ?? headSize
  const layers = metadata.requiredNumber(key('block_count'))
  if (layers > file.tensors.size) throw wrongMetadata(file.path, key('block_count'), `${layers} layers cannot be in a file of ${file.tensors.size} tensors`)
  const has = (name: string): boolean => file.tensors.has(name)
  return {
    architectures: [CLASSES[family]],
    model_type: family,
    vocab_size: vocabularySizeOf(file),
    hidden_size: hiddenSize,
    intermediate_size: metadata.requiredNumber(key('feed_forward_length')),
    num_hidden_layers: layers,
    num_attention_heads: heads,
    num_key_value_heads: metadata.number(key('attention.head_count_kv')) ?? heads,
    head_dim: headSize,
    hidden_act: 'silu',
    rms_norm_eps: shortest(metadata.requiredNumber(key('attention.layer_norm_rms_epsilon'))),
    rope_theta: shortest(metadata.number(key('rope.freq_base')) ?? 10_000),
    ...(rotated === headSize ? {} : { partial_rotary_factor: rotated / headSize }),
    ...(await longRopeOf(file, metadata, family)),
    max_position_embeddings: metadata.requiredNumber(key('context_length')),
    tie_word_embeddings: !has('output.weight'),
    ...(family === 'llama' || family === 'smollm3' ? { attention_bias: has('blk.0.attn_q.bias'), mlp_bias: has('blk.0.ffn_gate.bias') } : {}),
    ...(family === 'smollm3' ? { no_rope_layer_interval: NO_ROPE_STEP } : {}),
    ...slidingWindowOf(metadata, family),
    torch_dtype: storedTypeOf(file),
  }
}

function vocabularySizeOf(file: GgufFile): number {
  const embedding = file.tensors.get('token_embd.weight')
  const rows = embedding?.shape[0]
  if (rows === undefined) throw new UserError({ code: 'bad-input', what: 'the weights lack this tensor', place: { file: file.path, field: 'token_embd.weight' }, remedy: 'Choose a complete model; vocabulary files and adapters are none.' })
  return rows
}

/** What would change the numbers and is not computed. */
function refuseUnsupported(file: GgufFile, metadata: Metadata, family: ModelFamily): void {
  const refuse = (key: string, what: string, expected: string): never => {
    throw wrongMetadata(file.path, key, `${what} is not supported yet`, expected, 'Choose another model.')
  }
  const splits = metadata.number('split.count') ?? 0
  if (splits > 1) throw wrongMetadata(file.path, 'split.count', `the model is split into ${splits} files`, 'one file', 'Join the files with llama.cpp\'s llama-gguf-split --merge.')
  for (const name of ['expert_count', 'attention.scale', 'attention.clamp_kqv', 'logit_scale', 'embedding_scale', 'residual_scale', 'attention.max_alibi_bias']) {
    const value = metadata.number(`${family}.${name}`) ?? 0
    if (value !== 0) refuse(`${family}.${name}`, `a value of ${value}`, 'none')
  }
  const scaling = metadata.text(`${family}.rope.scaling.type`) ?? 'none'
  if (scaling !== 'none' && scaling !== 'longrope') refuse(`${family}.rope.scaling.type`, `rotary scaling "${scaling}"`, 'none, or longrope')
  const factor = metadata.number(`${family}.rope.scaling.factor`) ?? metadata.number(`${family}.rope.scale_linear`) ?? 1
  if (scaling === 'none' && factor !== 1 && factor !== 0) refuse(`${family}.rope.scaling.factor`, `a factor of ${factor}`, '1')
  if (file.tensors.has('rope_freqs.weight')) refuse('rope_freqs.weight', 'rotary scaling by frequency (Llama 3.1)', 'no such tensor')
  const usual = metadata.requiredNumber(`${family}.embedding_length`) / metadata.requiredNumber(`${family}.attention.head_count`)
  const [keys, values] = ['key_length', 'value_length'].map((name) => metadata.number(`${family}.attention.${name}`) ?? usual)
  if (keys !== values) refuse(`${family}.attention.value_length`, `a head of ${String(keys)} for keys and ${String(values)} for values`, 'equal sizes')
}

/** LongRoPE's factors are tensors. The files of other families have none. */
async function longRopeOf(file: GgufFile, metadata: Metadata, family: ModelFamily): Promise<Record<string, unknown>> {
  const [long, short] = [file.tensors.has(LONG_FACTORS), file.tensors.has(SHORT_FACTORS)]
  if (!long && !short) return { rope_scaling: null }
  if (family !== 'phi3') throw wrongMetadata(file.path, LONG_FACTORS, `LongRoPE is not part of ${CLASSES[family]}`)
  if (!long || !short) throw wrongMetadata(file.path, long ? SHORT_FACTORS : LONG_FACTORS, 'the file has LongRoPE factors for one regime only', 'short and long ones')
  const originalPositions = metadata.requiredNumber(`${family}.rope.scaling.original_context_length`)
  const factor = metadata.number(`${family}.rope.scaling.attn_factor`)
  const stretch = metadata.requiredNumber(`${family}.context_length`) / originalPositions
  const usual = stretch <= 1 ? 1 : Math.sqrt(1 + Math.log(stretch) / Math.log(originalPositions))
  return {
    rope_scaling: {
      type: 'longrope',
      short_factor: [...(await file.readFloat32(SHORT_FACTORS))].map(shortest),
      long_factor: [...(await file.readFloat32(LONG_FACTORS))].map(shortest),
      // The file has float32; where it is the usual value, that is computed in full.
      ...(factor === undefined || factor === Math.fround(usual) ? {} : { attention_factor: shortest(factor) }),
    },
    original_max_position_embeddings: originalPositions,
  }
}

function slidingWindowOf(metadata: Metadata, family: ModelFamily): Record<string, unknown> {
  const window = metadata.number(`${family}.attention.sliding_window`) ?? 0
  return window === 0 ? { sliding_window: null } : { sliding_window: window, use_sliding_window: true }
}

/** How the weights would be stored in a Hugging Face folder: as the largest matrices are; half precision for packed ones. */
function storedTypeOf(file: GgufFile): string {
  const type = storageOf(file)
  return type === 'F32' ? 'float32' : type === 'BF16' ? 'bfloat16' : 'float16'
}

/** The type that most of the weights have. */
export function storageOf(file: GgufFile): string {
  const elements = new Map<string, number>()
  for (const tensor of file.tensors.values()) elements.set(tensor.type, (elements.get(tensor.type) ?? 0) + tensor.elements)
  return [...elements].toSorted((a, b) => b[1] - a[1])[0]?.[0] ?? 'F32'
}

/** The shortest decimal that is this float32, which is what the number was written as before it was rounded. */
export function shortest(value: number): number {
  for (let digits = 1; digits <= 9; digits += 1) {
    const candidate = Number(value.toPrecision(digits))
    if (Math.fround(candidate) === Math.fround(value)) return candidate
  }
  return value
}

/**
 * The metadata of a configuration, as llama.cpp's converters write it.
 * @throws UserError for a model whose numbers llama.cpp would not reproduce
 */
export function metadataOfConfig(config: DecoderConfig): MetadataEntry[] {
  const { family } = config
  refuseInexpressible(config)
  const u32 = (name: string, value: number): MetadataEntry => ({ key: `${family}.${name}`, type: 'u32', value })
  const f32 = (name: string, value: number): MetadataEntry => ({ key: `${family}.${name}`, type: 'f32', value })
  const headKeys = config.headSize * config.heads === config.hiddenSize ? [] : [u32('attention.key_length', config.headSize), u32('attention.value_length', config.headSize)]
  return [
    u32('block_count', config.layers),
    u32('context_length', config.maxPositions),
    u32('embedding_length', config.hiddenSize),
    u32('feed_forward_length', config.intermediateSize),
    u32('attention.head_count', config.heads),
    u32('attention.head_count_kv', config.kvHeads),
    ...headKeys,
    f32('attention.layer_norm_rms_epsilon', config.rmsEpsilon),
    f32('rope.freq_base', config.ropeTheta),
    u32('rope.dimension_count', config.rotaryDimensions),
    u32('vocab_size', config.vocabularySize),
    ...(family === 'phi3' ? [u32('attention.sliding_window', 0)] : []),
    ...(config.ropeScaling === null ? [] : [u32('rope.scaling.original_context_length', config.ropeScaling.originalPositions), f32('rope.scaling.attn_factor', config.ropeScaling.attentionFactor)]),
  ]
}

/** LongRoPE's factors as tensors; none for other models. */
export function ropeTensors({ ropeScaling }: DecoderConfig): { readonly name: string; readonly values: Float32Array }[] {
  if (ropeScaling === null) return []
  return [
    { name: LONG_FACTORS, values: Float32Array.from(ropeScaling.longFactors) },
    { name: SHORT_FACTORS, values: Float32Array.from(ropeScaling.shortFactors) },
  ]
}

function refuseInexpressible({ family, layers, noRopeLayers, heads, headSize, hiddenSize }: DecoderConfig): void {
  const refuse = (what: string): never => {
    throw new UserError({ code: 'bad-input', what: `GGUF cannot express this model: ${what}`, remedy: 'Export it as safetensors or ONNX instead.' })
  }
  if (family === 'smollm3') {
    const usual = Array.from({ length: layers }, (_, layer) => layer).filter((layer) => (layer + 1) % NO_ROPE_STEP === 0)
    if (usual.join() !== noRopeLayers.join()) refuse(`layers ${noRopeLayers.join(', ')} use no rotary, llama.cpp leaves it out in layers ${usual.join(', ')}`)
  }
  if (family === 'phi3' && heads * headSize !== hiddenSize) refuse(`${heads} heads of ${headSize} do not make up the hidden size ${hiddenSize}`)
}
