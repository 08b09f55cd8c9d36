import { readFile, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { AdapterConfig } from '../../../../src-main/contract/run-config.ts'
import { exportPolicy } from '../../../../src-main/engine/models/export.ts'
import type { ExportSource, ExportType } from '../../../../src-main/engine/models/export.ts'
import { askPolicy, compareAnswers } from '../../../../src-main/engine/models/export-comparison.ts'
import { openModelFolder } from '../../../../src-main/engine/models/model-folder.ts'
import { askOnnxModel } from '../../../../src-main/engine/models/onnx-export/model-file.ts'
import { openModelFile } from '../../../../src-main/engine/runtime/ort.ts'
import { cpu } from '../../../support/evaluate.ts'
import { movedPolicy } from '../../../support/moved-policy.ts'
import { parityCases } from '../../../support/parity.ts'
import { useTemporaryFolder } from '../../../support/run-folder.ts'

const temporaryFolder = useTemporaryFolder()
const everywhere: AdapterConfig = { kind: 'lora', rank: 3, alpha: 5, dropout: 0, targets: ['all-linear'] }

async function moved(fixture?: string, adapter = everywhere): Promise<{ source: ExportSource; folder: string }> {
  const folder = await temporaryFolder()
  return { source: await movedPolicy(folder, adapter, fixture), folder: join(folder, 'out') }
}

const json = async (...parts: string[]): Promise<unknown> => JSON.parse(await readFile(join(...parts), 'utf8')) as unknown

describe('an exported ONNX model', () => {
  it.each(parityCases)('of %s answers as the policy does, from the file alone', async (fixture) => {
    const { source, folder } = await moved(fixture)
    const { comparison } = await exportPolicy(source, { format: 'onnx', folder, storedType: 'float32' })
    expect(comparison.largestDifference).toBeLessThan(5e-5)
    expect(comparison.greedy).toEqual({ prompts: 3, tokens: 5, equal: 3 })
  })

  it('answers the same whether a text is read at once or in pieces with its cache', async () => {
    const { source, folder } = await moved('smollm3')
    await exportPolicy(source, { format: 'onnx', folder, storedType: 'float32' })
    // Two pieces of 64 tokens, up to the end of the context.
    const long = Array.from({ length: 128 }, (_, index) => (index * 7) % 90)
    const texts = { sequences: [long], prompts: [long.slice(0, 120)], newTokens: 8, longest: 128 }
    const own = await askPolicy(source.device, source.policy, texts)
    const written = await askOnnxModel(source.device, join(folder, 'onnx', 'model.onnx'), texts)
    expect(compareAnswers(texts, own, written)).toMatchObject({ greedy: { equal: 1 } })
    expect(compareAnswers(texts, own, written).largestDifference).toBeLessThan(5e-5)
  })

  it.each<[ExportType, number]>([['float16', 5e-3], ['int8', 4e-2], ['int4', 0.4]])('stored as %s is near the policy, not equal to it, and smaller than float32', async (storedType, most) => {
    // Inputs of every matrix must divide into blocks of 32, which the fixtures' do not.
    const { source, folder } = await moved()
    const whole = await exportPolicy(source, { format: 'onnx', folder: `${folder}-whole`, storedType: 'float32' })
    expect(whole.comparison.meanDifference).toBeLessThan(1e-5)
    const { comparison } = await exportPolicy(source, { format: 'onnx', folder, storedType })
    expect(comparison.meanDifference).toBeGreaterThan(whole.comparison.meanDifference)
    expect(comparison.meanDifference).toBeLessThan(most)
    const size = async (path: string): Promise<number> => (await stat(join(path, 'onnx', 'model.onnx_data'))).size
    expect(await size(folder)).toBeLessThan(0.8 * (await size(`${folder}-whole`)))
  })

  it('says what it takes and gives under the names that genai_config.json and transformers.js know', async () => {
    const { source, folder } = await moved('qwen2-tied-sharded')
    await exportPolicy(source, { format: 'onnx', folder, storedType: 'float32' })
    const file = await openModelFile(join(folder, 'onnx', 'model.onnx'), 1)
    const caches = (side: string): string[] => [0, 1].flatMap((layer) => [`${side}.${layer}.key`, `${side}.${layer}.value`])
    expect([...file.inputNames].toSorted()).toEqual(['attention_mask', 'input_ids', ...caches('past_key_values'), 'position_ids'])
    expect([...file.outputNames].toSorted()).toEqual(['logits', ...caches('present')])
    expect(file.inputShape('past_key_values.1.value')).toEqual(['batch_size', 2, 'past_sequence_length', 16])
    await file.release()
    expect(await json(folder, 'genai_config.json')).toMatchObject({
      model: { type: 'qwen2', bos_token_id: 1, eos_token_id: 2, pad_token_id: 0, vocab_size: 96, context_length: 128, decoder: { filename: 'onnx/model.onnx', num_hidden_layers: 2, num_key_value_heads: 2, head_size: 16 } },
    })
    expect(await json(folder, 'config.json')).toMatchObject({ model_type: 'qwen2', 'transformers.js_config': { use_external_data_format: { 'model.onnx': 1 } } })
  })

  it('lies beside its tokenizer and a README', async () => {
    const { source, folder } = await moved()
    await writeFile(join(source.base, 'README.md'), 'about the base')
    await exportPolicy(source, { format: 'onnx', folder })
    expect((await readdir(folder, { recursive: true })).toSorted()).toEqual([
      'README.md', 'config.json', 'export.json', 'genai_config.json', 'generation_config.json', 'onnx', join('onnx', 'model.onnx'), join('onnx', 'model.onnx_data'), 'tokenizer.json', 'tokenizer_config.json',
    ])
    expect(await readFile(join(folder, 'README.md'), 'utf8')).toContain('og.Model')
  })

  it.each([['phi3-short', 32], ['phi3-long', 128]])('of %s keeps the rotary factors of the run, and takes texts of up to %i tokens', async (fixture, positions) => {
    const { source, folder } = await moved(fixture)
    await exportPolicy(source, { format: 'onnx', folder, storedType: 'float32' })
    expect(await json(folder, 'genai_config.json')).toMatchObject({ model: { context_length: positions } })
    expect(await readFile(join(folder, 'README.md'), 'utf8')).toContain(`the ${fixture.slice(5)} ones of LongRoPE`)
  })

  it('keeps an adapted head that was tied', async () => {
    const { source, folder } = await moved('llama-tied', { ...everywhere, targets: ['q_proj', 'lm_head'] })
    const { comparison } = await exportPolicy(source, { format: 'onnx', folder })
    expect(comparison.largestDifference).toBeLessThan(5e-5)
    expect(await json(folder, 'config.json')).toMatchObject({ tie_word_embeddings: false })
  })

  it('cannot be in blocks where its sizes do not divide, and says which', async () => {
    const { source, folder } = await moved('llama-tied')
    await expect(exportPolicy(source, { format: 'onnx', folder, storedType: 'int4' })).rejects.toThrow('down_proj: a matrix with 48 inputs cannot be stored as int4')
    await expect(readdir(folder)).rejects.toThrow('ENOENT')
  })

  it('is refused with its name when a file beside it is gone or it is something else', async () => {
    const { source, folder } = await moved()
    await exportPolicy(source, { format: 'onnx', folder })
    const path = join(folder, 'onnx', 'model.onnx')
    await rm(`${path}_data`)
    await expect(askOnnxModel(await cpu(), path, source.texts)).rejects.toMatchObject({ envelope: { code: 'bad-input', place: { file: path } } })
    await writeFile(path, 'not a model')
    await expect(askOnnxModel(await cpu(), path, source.texts)).rejects.toMatchObject({ envelope: { code: 'bad-input', place: { file: path } } })
  })

  it('leaves the base as it was', async () => {
    const { source, folder } = await moved()
    const before = await openModelFolder(source.base)
    const hash = await before.hash()
    await before.close()
    await exportPolicy(source, { format: 'onnx', folder })
    const after = await openModelFolder(source.base)
    expect(await after.hash()).toBe(hash)
    await after.close()
  })
})
