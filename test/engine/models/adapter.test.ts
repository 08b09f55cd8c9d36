import { cpSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { adapterScale, mergeAdapter, readAdapter, writeAdapter } from '../../../src-main/engine/models/adapter.ts'
import type { Adapter } from '../../../src-main/engine/models/adapter.ts'
import { readDecoderConfig } from '../../../src-main/engine/models/config.ts'
import { openModelFolder } from '../../../src-main/engine/models/model-folder.ts'
import { openSafetensors } from '../../../src-main/engine/models/safetensors.ts'
import { writeSafetensors } from '../../../src-main/engine/models/safetensors-write.ts'
import type { TensorSource } from '../../../src-main/engine/models/safetensors-write.ts'
import { fixture, MODEL_FIXTURES, temporaryFolder, userError } from './fixtures.ts'

interface Expected {
  readonly adapter: { readonly merged: Readonly<Record<string, { readonly sum: number; readonly squares: number }>> }
}

async function load(name: string): Promise<Adapter> {
  return readAdapter(fixture(name, 'adapter'), (await readDecoderConfig(fixture(name))).config)
}

describe('PEFT adapters', () => {
  test('a reference adapter is read with its settings and shapes', async () => {
    const adapter = await load('llama-biases')
    expect(adapter.config).toEqual({ rank: 4, alpha: 6, dropout: 0, targetModules: ['q_proj', 'v_proj'], rankStabilized: false, baseModel: 'llama-biases' })
    expect([...adapter.layers.keys()]).toEqual(['model.layers.0.self_attn.q_proj', 'model.layers.0.self_attn.v_proj', 'model.layers.1.self_attn.q_proj', 'model.layers.1.self_attn.v_proj'])
    const query = adapter.layers.get('model.layers.0.self_attn.q_proj')
    expect([query?.a.length, query?.b.length]).toEqual([4 * 64, 128 * 4])
  })

  test.each(MODEL_FIXTURES)('%s: the merged weights are those of the reference (merge_and_unload)', async (name) => {
    const expected = JSON.parse(readFileSync(fixture(name, 'expected.json'), 'utf8')) as Expected
    const model = await openModelFolder(fixture(name))
    const merged = mergeAdapter(model.readTensor, await load(name))
    for (const [tensor, { sum, squares }] of Object.entries(expected.adapter.merged)) {
      const values = await merged(tensor)
      // The reference multiplies in float32: sums over 2,000 to 8,000 values agree to a few of its roundings.
      expect(values.reduce((total, value) => total + value, 0)).toBeCloseTo(sum, 3)
      expect(values.reduce((total, value) => total + value * value, 0)).toBeCloseTo(squares, 3)
    }
    await model.close()
  })

  test('merging leaves every other tensor alone', async () => {
    const model = await openModelFolder(fixture('llama-biases'))
    const merged = mergeAdapter(model.readTensor, await load('llama-biases'))
    for (const name of ['model.layers.0.self_attn.q_proj.bias', 'model.layers.0.self_attn.k_proj.weight', 'lm_head.weight']) expect(await merged(name)).toEqual(await model.readTensor(name))
    expect(await merged('model.layers.0.self_attn.q_proj.weight')).not.toEqual(await model.readTensor('model.layers.0.self_attn.q_proj.weight'))
    await model.close()
  })

  test('the update is scale times B A, by hand', async () => {
    // rank 2, alpha 3: scale 1.5. B = [[1, 2], [0, -1]], A = [[1, 0, 2], [3, 1, 0]] -> BA = [[7, 2, 2], [-3, -1, 0]].
    const config = { rank: 2, alpha: 3, dropout: 0, targetModules: ['q_proj'], rankStabilized: false, baseModel: null }
    const layers = new Map([['m', { a: Float32Array.of(1, 0, 2, 3, 1, 0), b: Float32Array.of(1, 2, 0, -1) }]])
    const merged = mergeAdapter(async () => Promise.resolve(Float32Array.of(10, 20, 30, 40, 50, 60)), { config, layers })
    expect(await merged('m.weight')).toEqual(Float32Array.of(20.5, 23, 33, 35.5, 48.5, 60))
    expect(adapterScale({ ...config, rankStabilized: true })).toBeCloseTo(3 / Math.SQRT2, 12)
  })

  test.each(MODEL_FIXTURES)('%s: what is written reads back, with the reference names and shapes', async (name) => {
    const { config } = await readDecoderConfig(fixture(name))
    const adapter = await load(name)
    const folder = join(temporaryFolder(), 'adapter')
    await writeAdapter(folder, adapter, config, { baseHash: 'abc' })
    expect(await readAdapter(folder, config, 'abc')).toEqual(adapter)
    const [ours, theirs] = [await openSafetensors(join(folder, 'adapter_model.safetensors')), await openSafetensors(fixture(name, 'adapter', 'adapter_model.safetensors'))]
    expect([...ours.names].toSorted()).toEqual([...theirs.names].toSorted())
    for (const tensor of theirs.names) expect(ours.tensor(tensor)?.shape).toEqual(theirs.tensor(tensor)?.shape)
    await ours.close()
    await theirs.close()
    expect(readdirSync(folder).toSorted()).toEqual(['adapter_config.json', 'adapter_model.safetensors'])
  })
})

describe('an adapter that does not fit is refused', () => {
  const damaged = (name: string, change: Record<string, unknown>): string => {
    const folder = join(temporaryFolder(), 'adapter')
    cpSync(fixture(name, 'adapter'), folder, { recursive: true })
    const path = join(folder, 'adapter_config.json')
    writeFileSync(path, JSON.stringify({ ...(JSON.parse(readFileSync(path, 'utf8')) as object), ...change }))
    return folder
  }
  const refusal = async (folder: string, base = 'llama-tied', baseHash?: string): ReturnType<typeof userError> => {
    const { config } = await readDecoderConfig(fixture(base))
    return userError(async () => readAdapter(folder, config, baseHash))
  }

  test('for a base of another shape, naming the tensor and both shapes', async () => {
    const envelope = await refusal(fixture('llama-biases', 'adapter'))
    expect(envelope).toMatchObject({ code: 'bad-input', what: 'the tensor has shape [128, 4]', expected: '[64, 4], as the base model and the rank say', place: { field: 'base_model.model.model.layers.0.self_attn.q_proj.lora_B.weight' } })
    expect(envelope.remedy).toContain('this base model')
  })

  test('for a base with fewer layers', async () => {
    const { config } = await readDecoderConfig(fixture('llama-tied'))
    const envelope = await userError(async () => readAdapter(fixture('llama-tied', 'adapter'), { ...config, layers: 1 }))
    expect(envelope).toMatchObject({ what: 'the base model has no linear layer for this tensor', place: { field: expect.stringContaining('layers.1.') as string } })
  })

  test('for a base of the same shape but another hash', async () => {
    const { config } = await readDecoderConfig(fixture('llama-tied'))
    const folder = join(temporaryFolder(), 'adapter')
    await writeAdapter(folder, await load('llama-tied'), config, { baseHash: 'a'.repeat(64) })
    expect((await refusal(folder, 'llama-tied', 'b'.repeat(64))).what).toBe('the adapter was trained from another base model')
  })

  test.each([
    ['peft_type', { peft_type: 'IA3' }],
    ['r', { r: 0 }],
    ['r', { r: 'four' }],
    ['lora_alpha', { lora_alpha: null }],
    ['lora_dropout', { lora_dropout: 1 }],
    ['use_dora', { use_dora: true }],
    ['bias', { bias: 'all' }],
    ['modules_to_save', { modules_to_save: ['lm_head'] }],
    ['rank_pattern', { rank_pattern: { q_proj: 8 } }],
    ['fan_in_fan_out', { fan_in_fan_out: true }],
  ])('with %s as in %j', async (field, change) => {
    const envelope = await refusal(damaged('llama-tied', change))
    expect([envelope.code, envelope.place.field]).toEqual(['bad-input', field])
  })

  test('with another rank than its tensors', async () => {
    expect((await refusal(damaged('llama-tied', { r: 8 }))).what).toBe('the tensor has shape [4, 48]')
  })

  test('without its weights, or its configuration', async () => {
    const folder = damaged('llama-tied', {})
    rmSync(join(folder, 'adapter_model.safetensors'))
    expect((await refusal(folder)).code).toBe('not-found')
    rmSync(join(folder, 'adapter_config.json'))
    expect((await refusal(folder)).place.file).toBe(join(folder, 'adapter_config.json'))
  })

  test('with one factor missing, a tensor of another kind, or no tensor at all', async () => {
    const folder = damaged('llama-tied', {})
    const path = join(folder, 'adapter_model.safetensors')
    const a: TensorSource = { name: 'base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight', dtype: 'F32', shape: [4, 64], data: new Float32Array(256) }
    await writeSafetensors(path, [a])
    expect(await refusal(folder)).toMatchObject({ what: 'the other factor of this layer is missing', place: { field: a.name.replace('lora_A', 'lora_B') } })
    for (const name of ['base_model.model.model.embed_tokens.lora_A.weight', 'base_model.model.model.layers.0.mlp.q_proj.lora_A.weight', 'base_model.model.model.layers.0.self_attn.toString_proj.lora_A.weight', 'model.norm.weight']) {
      await writeSafetensors(path, [{ ...a, name }])
      expect((await refusal(folder)).place.field).toBe(name)
    }
    await writeSafetensors(path, [])
    expect((await refusal(folder)).what).toBe('the adapter holds no tensors')
  })
})
