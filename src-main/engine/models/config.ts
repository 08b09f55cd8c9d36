// What a decoder looks like, read from Hugging Face's config.json and generation_config.json.
// Both spellings are understood: transformers 4 (`torch_dtype`, `rope_theta`) and 5 (`dtype`, `rope_parameters`).
import { join } from 'node:path'
import { UserError } from '../../contract/errors.ts'
import { configSchema, generationSchema, namesSchema, REMEDY, wrongField } from './config-fields.ts'
import type { RawConfig } from './config-fields.ts'
import { checkFile, readJsonFile, readOptionalJsonFile } from './json-file.ts'

/** Families whose forward pass is exact. Another family is another entry here and in `FAMILIES`. */
export type ModelFamily = 'llama' | 'qwen2' | 'smollm3' | 'phi3'

/** How weights are stored in the files. Computation is always float32. */
export type StoredType = 'float32' | 'float16' | 'bfloat16'

/** Everything that decides the shape and the arithmetic of a decoder. Sizes are in elements, positions in tokens. */
export interface DecoderConfig {
  readonly family: ModelFamily
  /** Rows of the embedding; may exceed the tokenizer's size (padding rows take part in the softmax). */
  readonly vocabularySize: number
  readonly hiddenSize: number
  readonly intermediateSize: number
  readonly layers: number
  readonly heads: number
  /** Key/value heads; `heads / kvHeads` query heads share one. */
  readonly kvHeads: number
  readonly headSize: number
  readonly rmsEpsilon: number
  readonly ropeTheta: number
  /** Leading dimensions of each head that are rotated; equals `headSize` unless rotary is partial. */
  readonly rotaryDimensions: number
  /** Frequencies other than theta^(-2i/d). Kinds that are not here (YaRN, llama3) are refused when a configuration is read. */
  readonly ropeScaling: LongRope | null
  /** Layers (from 0) that use no rotary at all. */
  readonly noRopeLayers: readonly number[]
  /** Attention window in tokens, or null for full attention. */
  readonly slidingWindow: number | null
  readonly maxPositions: number
  readonly tieWordEmbeddings: boolean
  /** q, k and v are the rows of one matrix `qkv_proj`, gate and up those of `gate_up_proj`, in this order. */
  readonly packedProjections: boolean
  readonly qkvBias: boolean
  readonly outputBias: boolean
  readonly mlpBias: boolean
  readonly torchDtype: StoredType
  readonly bosId: number | null
  /** Ids that end a completion: generation_config.json's, otherwise config.json's. May be empty. */
  readonly eosIds: readonly number[]
  readonly padId: number | null
}

/** Which of LongRoPE's factors hold. */
export type RotaryRegime = 'short' | 'long'

/**
 * LongRoPE (Ding et al. 2024): frequency i is theta^(-2i/d) / factor i. The factors hold for a whole forward pass: the short ones up to
 * `originalPositions` tokens, the long ones for anything longer.
 */
export interface LongRope {
  readonly kind: 'longrope'
  /** One factor for each rotated pair. */
  readonly shortFactors: readonly number[]
  readonly longFactors: readonly number[]
  readonly originalPositions: number
  /** Multiplies cos and sin, whichever factors hold. */
  readonly attentionFactor: number
  /** Fixed by the run the weights come from; otherwise the lengths at hand decide. No part of config.json. */
  readonly regime?: RotaryRegime
}

/** A folder's configuration beside the raw JSON it came from, which is kept so that it can be written back unharmed. */
export interface ConfigFiles {
  readonly config: DecoderConfig
  readonly rawConfig: Readonly<Record<string, unknown>>
  readonly rawGeneration: Readonly<Record<string, unknown>> | null
}

/** What a family fixes, and what its config.json may leave unsaid: the defaults of the reference's configuration classes. */
interface FamilyDetails {
  readonly architecture: string
  readonly ropeTheta: number
  readonly rmsEpsilon: number
  readonly tieWordEmbeddings: boolean
  readonly packedProjections: boolean
  /** `partial_rotary_factor` counts. */
  readonly partialRotary: boolean
  /** `no_rope_layers` counts. */
  readonly skipsRotary: boolean
  /** `sliding_window` needs no switch beside it. */
  readonly windowedWhenSet: boolean
  readonly biases: (fields: RawConfig) => Pick<DecoderConfig, 'qkvBias' | 'outputBias' | 'mlpBias'>
}

const noBiases = { qkvBias: false, outputBias: false, mlpBias: false }
const llama: FamilyDetails = {
  architecture: 'LlamaForCausalLM',
  ropeTheta: 10_000,
  rmsEpsilon: 1e-6,
  tieWordEmbeddings: false,
  packedProjections: false,
  partialRotary: false,
  skipsRotary: false,
  windowedWhenSet: false,
  biases: (fields) => ({ qkvBias: fields.attention_bias ?? false, outputBias: fields.attention_bias ?? false, mlpBias: fields.mlp_bias ?? false }),
}

const FAMILIES: Readonly<Record<ModelFamily, FamilyDetails>> = {
  llama,
  qwen2: { ...llama, architecture: 'Qwen2ForCausalLM', biases: () => ({ ...noBiases, qkvBias: true }) },
  smollm3: { ...llama, architecture: 'SmolLM3ForCausalLM', ropeTheta: 2_000_000, tieWordEmbeddings: true, skipsRotary: true },
  phi3: { ...llama, architecture: 'Phi3ForCausalLM', rmsEpsilon: 1e-5, packedProjections: true, partialRotary: true, windowedWhenSet: true, biases: () => noBiases },
}
const FAMILY_NAMES = Object.keys(FAMILIES) as ModelFamily[]

/** Names of the model classes that Satchel computes exactly. */
export function supportedArchitectures(): readonly string[] {
  return FAMILY_NAMES.map((family) => FAMILIES[family].architecture)
}

/**
 * Reads a model folder's `config.json` and, where there is one, `generation_config.json`.
 * @throws UserError naming file and field for whatever is missing, wrong or not supported.
 */
export async function readDecoderConfig(folder: string): Promise<ConfigFiles> {
  const file = join(folder, 'config.json')
  const raw = await readJsonFile(file, 'Choose a folder that holds a Hugging Face model (config.json beside its safetensors files), or a .gguf file.')
  const generationFile = join(folder, 'generation_config.json')
  const generation = await readOptionalJsonFile(generationFile)
  const config = parseDecoderConfig(raw, generation ?? null, file, generationFile)
  return { config, rawConfig: raw as Record<string, unknown>, rawGeneration: (generation ?? null) as Record<string, unknown> | null }
}

/** The pure part of {@link readDecoderConfig}: parsed JSON in, checked configuration out. The file names only serve the errors. */
export function parseDecoderConfig(raw: unknown, generation: unknown, file = 'config.json', generationFile = 'generation_config.json'): DecoderConfig {
  const family = familyOf(raw, file)
  const fields = checkFile(configSchema, raw, file, REMEDY)
  const generationFields = generation === null ? {} : checkFile(generationSchema, generation, generationFile, REMEDY)
  const details = FAMILIES[family]
  refuseUnsupported(details, fields, file)

  const heads = fields.num_attention_heads
  const kvHeads = fields.num_key_value_heads ?? heads
  const headSize = headSizeOf(fields, file)
  if (heads % kvHeads !== 0) throw wrongField(file, 'num_key_value_heads', `${kvHeads} does not divide the ${heads} attention heads`)
  const rotaryDimensions = rotaryDimensionsOf(details, fields, headSize, file)

  const eos = [generationFields.eos_token_id, fields.eos_token_id].map(asList).find((ids) => ids.length > 0) ?? []
  const bos = [generationFields.bos_token_id, fields.bos_token_id].map(asList).find((ids) => ids.length > 0) ?? []
  const config: DecoderConfig = {
    family,
    vocabularySize: fields.vocab_size,
    hiddenSize: fields.hidden_size,
    intermediateSize: fields.intermediate_size,
    layers: fields.num_hidden_layers,
    heads,
    kvHeads,
    headSize,
    rmsEpsilon: fields.rms_norm_eps ?? details.rmsEpsilon,
    ropeTheta: fields.rope_parameters?.rope_theta ?? fields.rope_scaling?.rope_theta ?? fields.rope_theta ?? details.ropeTheta,
    rotaryDimensions,
    ropeScaling: ropeScalingOf(fields, rotaryDimensions, file),
    noRopeLayers: details.skipsRotary ? noRopeLayersOf(fields, file) : [],
    slidingWindow: null,
    maxPositions: fields.max_position_embeddings,
    tieWordEmbeddings: fields.tie_word_embeddings ?? details.tieWordEmbeddings,
    packedProjections: details.packedProjections,
    ...details.biases(fields),
    torchDtype: storedTypeOf(fields, file),
    bosId: bos[0] ?? null,
    eosIds: eos,
    padId: generationFields.pad_token_id ?? fields.pad_token_id ?? null,
  }
  const ids = [['bos_token_id', config.bosId], ['pad_token_id', config.padId], ...config.eosIds.map((value) => ['eos_token_id', value] as const)] as const
  for (const [field, value] of ids) {
    if (value !== null && value >= config.vocabularySize) throw wrongField(file, field, `id ${value} lies outside the vocabulary of ${config.vocabularySize}`)
  }
  return config
}

/** The `config.json` of a configuration, in transformers 4's spelling, which every version since reads. */
export function decoderConfigToJson(config: DecoderConfig): Record<string, unknown> {
  return {
    architectures: [FAMILIES[config.family].architecture],
    model_type: config.family,
    vocab_size: config.vocabularySize,
    hidden_size: config.hiddenSize,
    intermediate_size: config.intermediateSize,
    num_hidden_layers: config.layers,
    num_attention_heads: config.heads,
    num_key_value_heads: config.kvHeads,
    head_dim: config.headSize,
    hidden_act: 'silu',
    rms_norm_eps: config.rmsEpsilon,
    rope_theta: config.ropeTheta,
    ...rotaryToJson(config),
    max_position_embeddings: config.maxPositions,
    tie_word_embeddings: config.tieWordEmbeddings,
    ...particularsOf(config),
    attention_dropout: 0,
    torch_dtype: config.torchDtype,
    bos_token_id: config.bosId,
    eos_token_id: config.eosIds.length === 1 ? config.eosIds[0] : config.eosIds.length === 0 ? null : config.eosIds,
    pad_token_id: config.padId,
  }
}

/** What only some families' files say. */
function particularsOf(config: DecoderConfig): Record<string, unknown> {
  const biases = { attention_bias: config.qkvBias, mlp_bias: config.mlpBias }
  switch (config.family) {
    case 'llama':
      return biases
    case 'qwen2':
      return { use_sliding_window: false, sliding_window: null }
    case 'smollm3': {
      const rotates = Array.from({ length: config.layers }, (_, layer) => (config.noRopeLayers.includes(layer) ? 0 : 1))
      return { ...biases, no_rope_layers: rotates, use_sliding_window: false, sliding_window: null }
    }
    case 'phi3':
      return {}
  }
}

/** The reference's older releases insist on exactly three fields of `rope_scaling`, so a factor that follows from the sizes is left out. */
function rotaryToJson({ ropeScaling, rotaryDimensions, headSize, maxPositions }: DecoderConfig): Record<string, unknown> {
  const partial = rotaryDimensions === headSize ? {} : { partial_rotary_factor: rotaryDimensions / headSize }
  if (ropeScaling === null) return { rope_scaling: null, ...partial }
  const { shortFactors, longFactors, originalPositions, attentionFactor } = ropeScaling
  const usual = attentionFactor === attentionFactorOf(maxPositions / originalPositions, originalPositions)
  return {
    rope_scaling: { type: 'longrope', short_factor: shortFactors, long_factor: longFactors, ...(usual ? {} : { attention_factor: attentionFactor }) },
    original_max_position_embeddings: originalPositions,
    ...partial,
  }
}

/** The `generation_config.json` that belongs to a configuration: its special ids, no sampling defaults. */
export function generationConfigToJson(config: DecoderConfig): Record<string, unknown> {
  return { bos_token_id: config.bosId, eos_token_id: config.eosIds, pad_token_id: config.padId }
}

function familyOf(raw: unknown, file: string): ModelFamily {
  const named = checkFile(namesSchema, raw, file, REMEDY)
  const architecture = named.architectures?.[0]
  const family = FAMILY_NAMES.find((known) => (architecture === undefined ? known === named.model_type : FAMILIES[known].architecture === architecture))
  if (family !== undefined) return family
  const name = architecture ?? named.model_type ?? undefined
  throw new UserError({
    code: 'bad-input',
    what: name === undefined ? 'no architecture is named' : `the architecture "${name}" is not supported`,
    place: { file, field: architecture === undefined ? 'model_type' : 'architectures' },
    expected: `one of ${supportedArchitectures().join(', ')}`,
    remedy: 'Choose a model of a supported family.',
  })
}

/** Whatever would change the numbers and is not computed is refused here, never ignored. */
function refuseUnsupported(details: FamilyDetails, fields: RawConfig, file: string): void {
  if (fields.quantization_config !== undefined && fields.quantization_config !== null) {
    throw new UserError({
      code: 'bad-input',
      what: 'the weights are quantised',
      place: { file, field: 'quantization_config' },
      expected: 'float32, float16 or bfloat16 weights',
      remedy: 'Choose the original, not quantised checkpoint of this model.',
    })
  }
  const activation = fields.hidden_act ?? 'silu'
  if (activation !== 'silu') throw wrongField(file, 'hidden_act', `"${activation}" is not supported`, '"silu"')
  for (const field of ['rope_scaling', 'rope_parameters'] as const) {
    const kind = ropeKind(fields[field])
    if (kind !== 'default' && kind !== 'longrope') throw wrongField(file, field, `rotary scaling "${kind}" is not supported yet`, 'no scaling, or longrope', 'Choose a model without this scaling.')
  }
  const { sliding_window: window } = fields
  const windowed = fields.use_sliding_window === true || (fields.layer_types ?? []).includes('sliding_attention') || (details.windowedWhenSet && window !== undefined && window !== null)
  if (windowed && (window ?? 0) < fields.max_position_embeddings) {
    throw wrongField(file, 'sliding_window', 'attention over a sliding window is not supported yet', 'full attention', 'Choose a model with full attention.')
  }
}

function headSizeOf(fields: RawConfig, file: string): number {
  if (fields.head_dim !== undefined && fields.head_dim !== null) return fields.head_dim
  if (fields.hidden_size % fields.num_attention_heads !== 0) {
    throw wrongField(file, 'num_attention_heads', `${fields.num_attention_heads} does not divide the hidden size ${fields.hidden_size}`)
  }
  return fields.hidden_size / fields.num_attention_heads
}

function rotaryDimensionsOf(details: FamilyDetails, fields: RawConfig, headSize: number, file: string): number {
  const factor = fields.rope_parameters?.partial_rotary_factor ?? fields.partial_rotary_factor ?? 1
  if (factor !== 1 && !details.partialRotary) throw wrongField(file, 'partial_rotary_factor', `rotary over a share of ${factor} of each head is not part of ${details.architecture}`, '1')
  const dimensions = Math.floor(headSize * factor)
  if (factor > 1 || dimensions % 2 !== 0) {
    const field = fields.head_dim === undefined || fields.head_dim === null ? 'num_attention_heads' : 'head_dim'
    throw wrongField(file, field, `${dimensions} rotary dimensions of a head of ${headSize} cannot be paired`, 'an even number, at most the head size')
  }
  return dimensions
}

/** The kind of rotary scaling; 'su' is what the first LongRoPE files called it. */
function ropeKind(rope: RawConfig['rope_scaling']): string {
  const kind = rope?.rope_type ?? rope?.type ?? 'default'
  return kind === 'su' ? 'longrope' : kind
}

function ropeScalingOf(fields: RawConfig, rotaryDimensions: number, file: string): LongRope | null {
  const source = (['rope_parameters', 'rope_scaling'] as const).find((field) => ropeKind(fields[field]) === 'longrope')
  if (source === undefined) return null
  const rope = fields[source]
  const listed = (field: 'short_factor' | 'long_factor'): readonly number[] => {
    const list = rope?.[field] ?? []
    if (list.length !== rotaryDimensions / 2) throw wrongField(file, `${source}.${field}`, `it has ${list.length} factors`, `${rotaryDimensions / 2}, one for each rotated pair of a head`)
    return list
  }
  const originalPositions = fields.original_max_position_embeddings ?? rope?.original_max_position_embeddings ?? 0
  if (originalPositions < 2) throw wrongField(file, 'original_max_position_embeddings', 'LongRoPE needs the length up to which its short factors hold', 'a whole number above 1')
  const attentionFactor = rope?.attention_factor ?? attentionFactorOf(rope?.factor ?? fields.max_position_embeddings / originalPositions, originalPositions)
  return { kind: 'longrope', shortFactors: listed('short_factor'), longFactors: listed('long_factor'), originalPositions, attentionFactor }
}

/** sqrt(1 + ln(stretch) / ln(original)): what LongRoPE multiplies cos and sin with. Phi-4-mini: sqrt(1 + ln 32 / ln 4096) = 1.190238. */
function attentionFactorOf(stretch: number, originalPositions: number): number {
  return stretch <= 1 ? 1 : Math.sqrt(1 + Math.log(stretch) / Math.log(originalPositions))
}

/** `no_rope_layers` holds 1 where rotary is applied. Without it every fourth layer (or every so many as the file says) has none. */
function noRopeLayersOf(fields: RawConfig, file: string): number[] {
  const layers = Array.from({ length: fields.num_hidden_layers }, (_, layer) => layer)
  const rotates = fields.no_rope_layers
  if (rotates === undefined || rotates === null) return layers.filter((layer) => (layer + 1) % (fields.no_rope_layer_interval ?? 4) === 0)
  if (rotates.length < layers.length) throw wrongField(file, 'no_rope_layers', `it has ${rotates.length} entries for ${layers.length} layers`, '1 (rotary) or 0 (none) for each layer')
  return layers.filter((layer) => rotates[layer] === 0)
}

function storedTypeOf(fields: RawConfig, file: string): StoredType {
  const field = fields.dtype === undefined || fields.dtype === null ? 'torch_dtype' : 'dtype'
  const value = fields[field] ?? 'float32'
  if (value === 'float32' || value === 'float16' || value === 'bfloat16') return value
  throw wrongField(file, field, `"${value}" is not supported`, 'float32, float16 or bfloat16')
}

function asList(value: number | readonly number[] | null | undefined): readonly number[] {
  if (value === undefined || value === null) return []
  return typeof value === 'number' ? [value] : value
}
