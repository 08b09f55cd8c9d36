import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { decoderConfigToJson, generationConfigToJson, parseDecoderConfig, readDecoderConfig } from '../../../src-main/engine/models/config.ts'
import { parameterCount } from '../../../src-main/engine/models/weights.ts'
import { copyOfFixture, fixture, MODEL_FIXTURES, temporaryFolder, userError } from './fixtures.ts'
import { PHI_4_MINI, SMOLLM3_3B } from './published-configs.ts'

/** The published configuration of Qwen2.5-3B, reduced to the fields that matter. */
const QWEN_3B = {
  architectures: ['Qwen2ForCausalLM'], model_type: 'qwen2', vocab_size: 151936, hidden_size: 2048, intermediate_size: 11008, num_hidden_layers: 36,
  num_attention_heads: 16, num_key_value_heads: 2, hidden_act: 'silu', rms_norm_eps: 1e-6, rope_theta: 1e6, max_position_embeddings: 32768,
  tie_word_embeddings: true, use_sliding_window: false, sliding_window: 32768, torch_dtype: 'bfloat16', bos_token_id: 151643, eos_token_id: 151643,
}

describe('reading a decoder configuration', () => {
  test('the old spelling (torch_dtype, rope_theta) is understood', async () => {
    const { config } = await readDecoderConfig(fixture('llama-tied'))
    expect(config).toEqual({
      family: 'llama', vocabularySize: 96, hiddenSize: 64, intermediateSize: 48, layers: 2, heads: 4, kvHeads: 2, headSize: 16, rmsEpsilon: 1e-5,
      ropeTheta: 10000, rotaryDimensions: 16, ropeScaling: null, noRopeLayers: [], slidingWindow: null, maxPositions: 128, tieWordEmbeddings: true,
      packedProjections: false, qkvBias: false, outputBias: false, mlpBias: false, torchDtype: 'float32', bosId: 1, eosIds: [2], padId: 0,
    })
  })

  test('the new spelling (dtype, rope_parameters) is understood', async () => {
    const { config } = await readDecoderConfig(fixture('llama-biases'))
    expect(config).toMatchObject({ torchDtype: 'float16', ropeTheta: 500000, headSize: 32, qkvBias: true, outputBias: true, mlpBias: true })
  })

  test('qwen2 has biases on q, k, v and nowhere else, although its file does not say so', async () => {
    const { config } = await readDecoderConfig(fixture('qwen2-tied-sharded'))
    expect(config).toMatchObject({ family: 'qwen2', qkvBias: true, outputBias: false, mlpBias: false, headSize: 16, torchDtype: 'bfloat16' })
  })

  test('Qwen2.5-3B has as many parameters as published', () => {
    // 3,085,938,688 from the checkpoint's own index (spec/models.md).
    expect(parameterCount(parseDecoderConfig(QWEN_3B, null))).toBe(3_085_938_688)
  })

  test('SmolLM2-135M has as many parameters as published', () => {
    const config = parseDecoderConfig(
      { architectures: ['LlamaForCausalLM'], vocab_size: 49152, hidden_size: 576, intermediate_size: 1536, num_hidden_layers: 30, num_attention_heads: 9, num_key_value_heads: 3, rms_norm_eps: 1e-5, rope_theta: 100000, max_position_embeddings: 8192, tie_word_embeddings: true, torch_dtype: 'bfloat16' },
      null,
    )
    expect(parameterCount(config)).toBe(134_515_008)
  })

  test('SmolLM3-3B: as many parameters as published, a tied head although the file does not say so, no rotary in every fourth layer', () => {
    const config = parseDecoderConfig(SMOLLM3_3B, null)
    expect(parameterCount(config)).toBe(3_075_098_624)
    expect(config).toMatchObject({ family: 'smollm3', tieWordEmbeddings: true, noRopeLayers: [3, 7, 11, 15, 19, 23, 27, 31, 35], ropeTheta: 5e6, qkvBias: false, packedProjections: false })
    // no_rope_layers left out: every fourth layer, or every so many as the file says.
    const { no_rope_layers: _, ...unsaid } = SMOLLM3_3B
    expect(parseDecoderConfig(unsaid, null).noRopeLayers).toEqual(config.noRopeLayers)
    expect(parseDecoderConfig({ ...unsaid, no_rope_layer_interval: 12 }, null).noRopeLayers).toEqual([11, 23, 35])
  })

  test('Phi-4-mini: as many parameters as published, partial rotary, LongRoPE, a window that never acts', () => {
    const config = parseDecoderConfig(PHI_4_MINI, null)
    expect(parameterCount(config)).toBe(3_836_021_760)
    expect(config).toMatchObject({ family: 'phi3', packedProjections: true, headSize: 128, rotaryDimensions: 96, slidingWindow: null, tieWordEmbeddings: true, noRopeLayers: [] })
    expect(config.ropeScaling).toMatchObject({ kind: 'longrope', originalPositions: 4096, shortFactors: Array.from({ length: 48 }, () => 1) })
    // sqrt(1 + ln(131072 / 4096) / ln 4096)
    expect(config.ropeScaling?.attentionFactor).toBeCloseTo(1.1902380714, 10)
  })

  test('LongRoPE: a factor or an attention factor in the file wins over the one that follows from the sizes', () => {
    const scaled = (extra: object): number | undefined => parseDecoderConfig({ ...PHI_4_MINI, rope_scaling: { ...PHI_4_MINI.rope_scaling, ...extra } }, null).ropeScaling?.attentionFactor
    expect(scaled({ attention_factor: 1.5 })).toBe(1.5)
    expect(scaled({ factor: 64 })).toBeCloseTo(Math.sqrt(1 + Math.log(64) / Math.log(4096)), 12)
    expect(scaled({ factor: 1 })).toBe(1)
    expect(scaled({ type: 'su' })).toBeCloseTo(1.1902380714, 10)
    const written = decoderConfigToJson(parseDecoderConfig({ ...PHI_4_MINI, rope_scaling: { ...PHI_4_MINI.rope_scaling, attention_factor: 1.5 } }, null))
    expect(parseDecoderConfig(written, null).ropeScaling?.attentionFactor).toBe(1.5)
  })

  test("generation_config.json's end ids win over config.json's, and may be several", () => {
    const config = parseDecoderConfig(QWEN_3B, { eos_token_id: [151645, 151643], pad_token_id: 151643 })
    expect(config.eosIds).toEqual([151645, 151643])
    expect(config.padId).toBe(151643)
    expect(parseDecoderConfig(QWEN_3B, null).eosIds).toEqual([151643])
    expect(parseDecoderConfig({ ...QWEN_3B, eos_token_id: null }, null).eosIds).toEqual([])
  })

  test('what is written reads back as the same configuration', async () => {
    for (const name of MODEL_FIXTURES) {
      const { config } = await readDecoderConfig(fixture(name))
      expect(parseDecoderConfig(decoderConfigToJson(config), generationConfigToJson(config))).toEqual(config)
    }
  })

  test('a file with a byte order mark and Windows line ends is read', async () => {
    const folder = copyOfFixture('llama-tied')
    const path = join(folder, 'config.json')
    writeFileSync(path, `\uFEFF${readFileSync(path, 'utf8').replaceAll('\n', '\r\n')}`)
    expect((await readDecoderConfig(folder)).config.hiddenSize).toBe(64)
  })
})

describe('a configuration that cannot be used is refused with file and field', () => {
  const refusal = async (change: Record<string, unknown>, generation: unknown = null): Promise<{ field: string | undefined; what: string; expected: string }> => {
    const envelope = await userError(() => parseDecoderConfig({ ...QWEN_3B, ...change }, generation, 'm/config.json', 'm/generation_config.json'))
    expect(envelope.code).toBe('bad-input')
    expect(envelope.place.file).toMatch(/^m\//)
    return { field: envelope.place.field, what: envelope.what, expected: envelope.expected }
  }

  test('an unknown architecture, listing the known ones', async () => {
    const { field, what, expected } = await refusal({ architectures: ['GPT2LMHeadModel'] })
    expect([field, what]).toEqual(['architectures', 'the architecture "GPT2LMHeadModel" is not supported'])
    expect(expected).toBe('one of LlamaForCausalLM, Qwen2ForCausalLM, SmolLM3ForCausalLM, Phi3ForCausalLM')
  })

  test('no architecture at all', async () => {
    expect((await refusal({ architectures: undefined, model_type: undefined })).what).toBe('no architecture is named')
    expect((await refusal({ architectures: [], model_type: 'mamba' })).what).toContain('"mamba"')
  })

  test.each([
    ['hidden_size', { hidden_size: undefined }],
    ['hidden_size', { hidden_size: -1 }],
    ['hidden_size', { hidden_size: 20.5 }],
    ['vocab_size', { vocab_size: '151936' }],
    ['tie_word_embeddings', { tie_word_embeddings: 'yes' }],
    ['rope_theta', { rope_theta: 0 }],
    ['eos_token_id', { eos_token_id: 'end' }],
    ['num_key_value_heads', { num_key_value_heads: 3 }],
    ['num_attention_heads', { num_attention_heads: 15, num_key_value_heads: 15 }],
    ['head_dim', { head_dim: 63 }],
    ['hidden_act', { hidden_act: 'gelu' }],
    ['rope_scaling', { rope_scaling: { rope_type: 'yarn', factor: 4 } }],
    ['rope_parameters', { rope_parameters: { rope_type: 'llama3', rope_theta: 1e6 } }],
    ['sliding_window', { use_sliding_window: true, sliding_window: 4096 }],
    ['torch_dtype', { torch_dtype: 'float8_e4m3fn' }],
    ['dtype', { dtype: 'int8' }],
    ['quantization_config', { quantization_config: { quant_method: 'gptq' } }],
    ['eos_token_id', { eos_token_id: 151936 }],
  ])('%s in %j', async (field, change) => {
    expect((await refusal(change)).field).toBe(field)
  })

  test.each([
    ['no_rope_layers', SMOLLM3_3B, { no_rope_layers: [1, 1, 1, 0] }],
    ['partial_rotary_factor', SMOLLM3_3B, { partial_rotary_factor: 0.5 }],
    ['sliding_window', SMOLLM3_3B, { use_sliding_window: true, sliding_window: 8192 }],
    ['sliding_window', PHI_4_MINI, { sliding_window: 2047 }],
    ['rope_scaling.long_factor', PHI_4_MINI, { rope_scaling: { ...PHI_4_MINI.rope_scaling, long_factor: [1, 2] } }],
    ['rope_scaling.short_factor', PHI_4_MINI, { rope_scaling: { type: 'longrope', long_factor: PHI_4_MINI.rope_scaling.long_factor } }],
    ['original_max_position_embeddings', PHI_4_MINI, { original_max_position_embeddings: undefined }],
  ])('%s of SmolLM3 or Phi', async (field, published, change) => {
    const envelope = await userError(() => parseDecoderConfig({ ...published, ...change }, null, 'm/config.json'))
    expect(envelope).toMatchObject({ code: 'bad-input', place: { file: 'm/config.json', field } })
  })

  test('a wrong generation_config.json is named itself', async () => {
    const envelope = await userError(() => parseDecoderConfig(QWEN_3B, { eos_token_id: {} }, 'm/config.json', 'm/generation_config.json'))
    expect(envelope.place).toEqual({ file: 'm/generation_config.json', field: 'eos_token_id' })
  })

  test('a missing config.json', async () => {
    const folder = temporaryFolder()
    const envelope = await userError(async () => readDecoderConfig(folder))
    expect([envelope.code, envelope.place.file]).toEqual(['not-found', join(folder, 'config.json')])
  })

  test('a config.json that is not JSON, and one that is not an object', async () => {
    const folder = temporaryFolder()
    cpSync(fixture('llama-tied'), folder, { recursive: true })
    writeFileSync(join(folder, 'config.json'), '{"hidden_size": 64,')
    expect((await userError(async () => readDecoderConfig(folder))).what).toContain('not JSON')
    writeFileSync(join(folder, 'config.json'), '[1]')
    expect((await userError(async () => readDecoderConfig(folder))).what).toBe('must hold one JSON object')
    rmSync(join(folder, 'config.json'))
    expect((await userError(async () => readDecoderConfig(folder))).code).toBe('not-found')
  })
})
