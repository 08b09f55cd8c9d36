// The fields of Hugging Face's config.json and generation_config.json that Satchel reads, in both spellings.
import { z } from 'zod'
import { UserError } from '../../contract/errors.ts'

export const REMEDY = 'Correct the field, or copy the model folder again from where it came.'

const SIZE_RULE = 'must be a whole number above 0'
const ID_RULE = 'must be a token id (a whole number from 0)'
const size = z.number(SIZE_RULE).int(SIZE_RULE).positive(SIZE_RULE)
const id = z.number(ID_RULE).int(ID_RULE).nonnegative(ID_RULE)
/** The largest published models have about 130 layers; a list of tensors is made for every one of them before any file is looked at. */
const layerCount = size.max(10_000, 'must be at most 10000')
const positive = z.number('must be a number above 0').positive('must be a number above 0')
const flag = z.boolean('must be true or false')
const eosIds = z.union([id, z.array(id)], 'must be a token id or a list of token ids').nullish()
const factors = z.array(positive, 'must be a list of numbers').nullish()
const rope = z
  .looseObject(
    {
      rope_theta: positive.nullish(),
      rope_type: z.string().nullish(),
      type: z.string().nullish(),
      partial_rotary_factor: positive.nullish(),
      short_factor: factors,
      long_factor: factors,
      factor: positive.nullish(),
      attention_factor: positive.nullish(),
      original_max_position_embeddings: size.nullish(),
    },
    'must be an object',
  )
  .nullish()

export const configSchema = z.looseObject(
  {
    architectures: z.array(z.string('must be a list of class names'), 'must be a list of class names').nullish(),
    model_type: z.string('must be a text').nullish(),
    vocab_size: size,
    hidden_size: size,
    intermediate_size: size,
    num_hidden_layers: layerCount,
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
    original_max_position_embeddings: size.nullish(),
    no_rope_layers: z.array(z.number('must hold 1 (rotary) or 0 (none) for each layer'), 'must be a list').nullish(),
    no_rope_layer_interval: size.nullish(),
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

export const generationSchema = z.looseObject({ bos_token_id: eosIds, eos_token_id: eosIds, pad_token_id: id.nullish() }, 'must hold one JSON object')

/** Enough to tell the family before anything else is looked at. */
export const namesSchema = z.looseObject({ architectures: configSchema.shape.architectures, model_type: configSchema.shape.model_type }, 'must hold one JSON object')

export type RawConfig = z.infer<typeof configSchema>

/** A field of a configuration file that cannot be used. */
export function wrongField(file: string, field: string, what: string, expected = '', remedy = REMEDY): UserError {
  return new UserError({ code: 'bad-input', what, place: { file, field }, expected, remedy })
}
