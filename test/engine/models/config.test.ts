import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { decoderConfigToJson, generationConfigToJson, parseDecoderConfig, readDecoderConfig } from '../../../src-main/engine/models/config.ts'
import { parameterCount } from '../../../src-main/engine/models/weights.ts'
import { copyOfFixture, fixture, MODEL_FIXTURES, temporaryFolder, userError } from './fixtures.ts'

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
