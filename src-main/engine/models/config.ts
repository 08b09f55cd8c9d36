// What a decoder looks like, read from Hugging Face's config.json and generation_config.json.
// Both spellings are understood: transformers 4 (`torch_dtype`, `rope_theta`) and 5 (`dtype`, `rope_parameters`).
import { join } from 'node:path'
import { z } from 'zod'
import { UserError } from '../../contract/errors.ts'
import { checkFile, readJsonFile, readOptionalJsonFile } from './json-file.ts'

/** Families whose forward pass is exact. Another family is another entry here, in `FAMILY_DETAILS` and in the decoder. */
export type ModelFamily = 'llama' | 'qwen2'

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
  /**
   * Frequencies other than theta^(-2i/d) (LongRoPE, YaRN, llama3). No supported family uses one yet, so reading a configuration
   * that does is an error; a family that needs it widens this type and the decoder's cos/sin table.
   */
  readonly ropeScaling: null
  /** Layers (from 0) that use no rotary at all. */
  readonly noRopeLayers: readonly number[]
  /** Attention window in tokens, or null for full attention. */
  readonly slidingWindow: number | null
  readonly maxPositions: number
  readonly tieWordEmbeddings: boolean
  readonly qkvBias: boolean
  readonly outputBias: boolean
  readonly mlpBias: boolean
  readonly torchDtype: StoredType
  readonly bosId: number | null
  /** Ids that end a completion: generation_config.json's, otherwise config.json's. May be empty. */
  readonly eosIds: readonly number[]
  readonly padId: number | null
}

/** A folder's configuration beside the raw JSON it came from, which is kept so that it can be written back unharmed. */
export interface ConfigFiles {
  readonly config: DecoderConfig
  readonly rawConfig: Readonly<Record<string, unknown>>
  readonly rawGeneration: Readonly<Record<string, unknown>> | null
}

const FAMILY_OF_ARCHITECTURE: Readonly<Record<string, ModelFamily>> = { LlamaForCausalLM: 'llama', Qwen2ForCausalLM: 'qwen2' }
const ARCHITECTURE_OF_FAMILY: Readonly<Record<ModelFamily, string>> = { llama: 'LlamaForCausalLM', qwen2: 'Qwen2ForCausalLM' }
const REMEDY = 'Correct the field, or copy the model folder again from where it came.'

const SIZE_RULE = 'must be a whole number above 0'
const ID_RULE = 'must be a token id (a whole number from 0)'
const size = z.number(SIZE_RULE).int(SIZE_RULE).positive(SIZE_RULE)
const id = z.number(ID_RULE).int(ID_RULE).nonnegative(ID_RULE)
const positive = z.number('must be a number above 0').positive('must be a number above 0')
const flag = z.boolean('must be true or false')
const eosIds = z.union([id, z.array(id)], 'must be a token id or a list of token ids').nullish()
const rope = z
  .looseObject({ rope_theta: positive.nullish(), rope_type: z.string().nullish(), type: z.string().nullish(), partial_rotary_factor: positive.nullish() }, 'must be an object')
  .nullish()

const configSchema = z.looseObject(
  {
    architectures: z.array(z.string('must be a list of class names'), 'must be a list of class names').nullish(),
    model_type: z.string('must be a text').nullish(),
    vocab_size: size,
    hidden_size: size,
    intermediate_size: size,
    num_hidden_layers: size,
    num_attention_heads: size,
    num_key_value_heads: size.nullish(),
    head_dim: size.nullish(),
    hidden_act: z.string('must be a text').nullish(),
    rms_norm_eps: positive.nullish(),
    rope_theta: positive.nullish(),
    rope_scaling: rope,
    rope_parameters: rope,
    partial_rotary_factor: positive.nullish(),
    max_position_embeddings: size,
    tie_word_embeddings: flag.nullish(),
    attention_bias: flag.nullish(),
    mlp_bias: flag.nullish(),
    sliding_window: size.nullish(),
    use_sliding_window: flag.nullish(),
    layer_types: z.array(z.string()).nullish(),
    torch_dtype: z.string('must be a text').nullish(),
    dtype: z.string('must be a text').nullish(),
    bos_token_id: eosIds,
    eos_token_id: eosIds,
    pad_token_id: id.nullish(),
    quantization_config: z.unknown().optional(),
  },
  'must hold one JSON object',
)

const generationSchema = z.looseObject({ bos_token_id: eosIds, eos_token_id: eosIds, pad_token_id: id.nullish() }, 'must hold one JSON object')

type RawConfig = z.infer<typeof configSchema>

/** Names of the model classes that Satchel computes exactly. */
export function supportedArchitectures(): readonly string[] {
  return Object.keys(FAMILY_OF_ARCHITECTURE)
}

/**
 * Reads a model folder's `config.json` and, where there is one, `generation_config.json`.
 * @throws UserError naming file and field for whatever is missing, wrong or not supported.
 */
export async function readDecoderConfig(folder: string): Promise<ConfigFiles> {
  const file = join(folder, 'config.json')
  const raw = await readJsonFile(file, 'Choose a folder that holds a Hugging Face model (config.json beside its safetensors files).')
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
  refuseUnsupported(fields, file)

  const heads = fields.num_attention_heads
  const kvHeads = fields.num_key_value_heads ?? heads
  const headSize = headSizeOf(fields, file)
  if (heads % kvHeads !== 0) throw wrongField(file, 'num_key_value_heads', `${kvHeads} does not divide the ${heads} attention heads`)
  const rotaryDimensions = rotaryDimensionsOf(fields, headSize, file)

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
    rmsEpsilon: fields.rms_norm_eps ?? 1e-6,
    ropeTheta: fields.rope_parameters?.rope_theta ?? fields.rope_theta ?? 10_000,
    rotaryDimensions,
    ropeScaling: null,
    noRopeLayers: [],
    slidingWindow: null,
    maxPositions: fields.max_position_embeddings,
    tieWordEmbeddings: fields.tie_word_embeddings ?? false,
    ...biasesOf(family, fields),
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
    architectures: [ARCHITECTURE_OF_FAMILY[config.family]],
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
    rope_scaling: null,
    max_position_embeddings: config.maxPositions,
    tie_word_embeddings: config.tieWordEmbeddings,
    ...(config.family === 'llama' ? { attention_bias: config.qkvBias, mlp_bias: config.mlpBias } : { use_sliding_window: false, sliding_window: null }),
    attention_dropout: 0,
    torch_dtype: config.torchDtype,
    bos_token_id: config.bosId,
    eos_token_id: config.eosIds.length === 1 ? config.eosIds[0] : config.eosIds.length === 0 ? null : config.eosIds,
    pad_token_id: config.padId,
  }
}

/** The `generation_config.json` that belongs to a configuration: its special ids, no sampling defaults. */
export function generationConfigToJson(config: DecoderConfig): Record<string, unknown> {
  return { bos_token_id: config.bosId, eos_token_id: config.eosIds, pad_token_id: config.padId }
}

function familyOf(raw: unknown, file: string): ModelFamily {
  const namesSchema = z.looseObject({ architectures: configSchema.shape.architectures, model_type: configSchema.shape.model_type }, 'must hold one JSON object')
  const named = checkFile(namesSchema, raw, file, REMEDY)
  const architecture = named.architectures?.[0]
  const family = architecture !== undefined ? FAMILY_OF_ARCHITECTURE[architecture] : Object.values(FAMILY_OF_ARCHITECTURE).find((known) => known === named.model_type)
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
function refuseUnsupported(fields: RawConfig, file: string): void {
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
    const kind = fields[field]?.rope_type ?? fields[field]?.type ?? 'default'
    if (kind !== 'default') throw wrongField(file, field, `rotary scaling "${kind}" is not supported yet`, 'no scaling', 'Choose a model without rotary scaling.')
  }
  const windowed = fields.use_sliding_window === true || (fields.layer_types ?? []).includes('sliding_attention')
  if (windowed && (fields.sliding_window ?? 0) < fields.max_position_embeddings) {
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

function rotaryDimensionsOf(fields: RawConfig, headSize: number, file: string): number {
  const factor = fields.rope_parameters?.partial_rotary_factor ?? fields.partial_rotary_factor ?? 1
  const dimensions = Math.floor(headSize * factor)
  if (factor > 1 || dimensions % 2 !== 0) {
    const field = fields.head_dim === undefined || fields.head_dim === null ? 'num_attention_heads' : 'head_dim'
    throw wrongField(file, field, `${dimensions} rotary dimensions of a head of ${headSize} cannot be paired`, 'an even number, at most the head size')
  }
  return dimensions
}

function biasesOf(family: ModelFamily, fields: RawConfig): Pick<DecoderConfig, 'qkvBias' | 'outputBias' | 'mlpBias'> {
  switch (family) {
    case 'llama':
      return { qkvBias: fields.attention_bias ?? false, outputBias: fields.attention_bias ?? false, mlpBias: fields.mlp_bias ?? false }
    case 'qwen2':
      return { qkvBias: true, outputBias: false, mlpBias: false }
  }
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

function wrongField(file: string, field: string, what: string, expected = '', remedy = REMEDY): UserError {
  return new UserError({ code: 'bad-input', what, place: { file, field }, expected, remedy })
}
