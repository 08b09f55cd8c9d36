import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openModelFolder, writeModelFolder } from '../../../src-main/engine/models/model-folder.ts'
import { openSafetensors } from '../../../src-main/engine/models/safetensors.ts'
import { writeSafetensors } from '../../../src-main/engine/models/safetensors-write.ts'
import type { TensorSource } from '../../../src-main/engine/models/safetensors-write.ts'
import { expectedTensors } from '../../../src-main/engine/models/weights.ts'
import { copyOfFixture, fixture, MODEL_FIXTURES, temporaryFolder, userError } from './fixtures.ts'

const SHARD = (index: number): string => `model-0000${index}-of-00003.safetensors`

/** Rewrites one weights file with some tensors changed or left out. */
async function rewrite(path: string, change: (tensor: TensorSource) => TensorSource | null, extra: TensorSource[] = []): Promise<void> {
  const file = await openSafetensors(path)
  const tensors: TensorSource[] = []
  for (const name of file.names) {
    const changed = change({ name, dtype: 'F32', shape: file.tensor(name)?.shape ?? [], data: await file.readFloat32(name) })
    if (changed !== null) tensors.push(changed)
  }
  await file.close()
  await writeSafetensors(path, [...tensors, ...extra])
}

function editIndex(folder: string, edit: (weightMap: Record<string, unknown>) => void): void {
  const path = join(folder, 'model.safetensors.index.json')
  const index = JSON.parse(readFileSync(path, 'utf8')) as { weight_map: Record<string, unknown> }
  edit(index.weight_map)
  writeFileSync(path, JSON.stringify(index))
}

describe('opening a model folder', () => {
  test.each(MODEL_FIXTURES)("%s: the expected tensors are exactly the reference's", async (name) => {
    const model = await openModelFolder(fixture(name))
    expect(model.warnings).toEqual([])
    expect(expectedTensors(model.config).map((tensor) => tensor.name).toSorted()).toEqual([...model.names].toSorted())
    await model.close()
  })

  test('the names and shapes of the gradients the reference computed are those of the weights', async () => {
    for (const name of MODEL_FIXTURES) {
      const model = await openModelFolder(fixture(name))
      const gradients = await openSafetensors(fixture(name, 'gradients.safetensors'))
      for (const tensor of expectedTensors(model.config)) expect(gradients.tensor(tensor.name)?.shape).toEqual(tensor.shape)
      await gradients.close()
      await model.close()
    }
  })

  test('a tensor is read through the index from its shard', async () => {
    const model = await openModelFolder(fixture('qwen2-tied-sharded'))
    const norm = await model.readTensor('model.norm.weight')
    expect([norm.length, model.shape('model.norm.weight'), model.has('lm_head.weight'), model.has('model.norm.weight')]).toEqual([64, [64], false, true])
    expect((await userError(async () => model.readTensor('lm_head.weight'))).place.field).toBe('lm_head.weight')
    await model.close()
  })

  test('the hash depends on every byte of configuration and weights, not on the place', async () => {
    const hash = async (folder: string): Promise<string> => {
      const model = await openModelFolder(folder)
      const value = await model.hash()
      await model.close()
      return value
    }
    const folder = copyOfFixture('qwen2-tied-sharded')
    const before = await hash(folder)
    expect(before).toMatch(/^[0-9a-f]{64}$/)
    expect(await hash(fixture('qwen2-tied-sharded'))).toBe(before)
    const shard = join(folder, SHARD(3))
    const bytes = readFileSync(shard)
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1
    writeFileSync(shard, bytes)
    expect(await hash(folder)).not.toBe(before)
  })

  test('tensors the model does not use are named, not refused', async () => {
    const folder = copyOfFixture('llama-tied')
    await rewrite(join(folder, 'model.safetensors'), (tensor) => tensor, [
      { name: 'lm_head.weight', dtype: 'F32', shape: [96, 64], data: new Float32Array(96 * 64) },
      { name: 'model.layers.0.self_attn.rotary_emb.inv_freq', dtype: 'F32', shape: [8], data: new Float32Array(8) },
    ])
    const model = await openModelFolder(folder)
    expect(model.warnings).toEqual(['the tensor lm_head.weight is stored although the head is tied to the embedding; it is not used', 'the tensor model.layers.0.self_attn.rotary_emb.inv_freq is not part of the model; it is not used'])
    await model.close()
  })
})

describe('a folder that cannot be used is refused with file and tensor', () => {
  test('no weights at all, saying which formats are read', async () => {
    const folder = copyOfFixture('llama-tied')
    renameSync(join(folder, 'model.safetensors'), join(folder, 'pytorch_model.bin'))
    expect(await userError(async () => openModelFolder(folder))).toMatchObject({ code: 'not-found', place: { file: folder } })
  })

  test('a missing tensor', async () => {
    const folder = copyOfFixture('llama-tied')
    await rewrite(join(folder, 'model.safetensors'), (tensor) => (tensor.name === 'model.layers.1.mlp.up_proj.weight' ? null : tensor))
    expect(await userError(async () => openModelFolder(folder))).toMatchObject({ place: { field: 'model.layers.1.mlp.up_proj.weight' }, expected: 'shape [48, 64]' })
  })

  test('a tensor of another shape, with both shapes', async () => {
    const folder = copyOfFixture('llama-tied')
    await rewrite(join(folder, 'model.safetensors'), (tensor) => (tensor.name === 'model.layers.0.self_attn.k_proj.weight' ? { ...tensor, shape: [64, 32] } : tensor))
    const envelope = await userError(async () => openModelFolder(folder))
    expect(envelope).toMatchObject({ what: 'the tensor has shape [64, 32]', expected: '[32, 64], as config.json says', place: { field: 'model.layers.0.self_attn.k_proj.weight', file: join(folder, 'model.safetensors') } })
  })

  test('an untied head that is missing', async () => {
    const folder = copyOfFixture('qwen2-untied')
    await rewrite(join(folder, 'model.safetensors'), (tensor) => (tensor.name === 'lm_head.weight' ? null : tensor))
    expect((await userError(async () => openModelFolder(folder))).place.field).toBe('lm_head.weight')
  })

  test('weights stored as whole numbers', async () => {
    const folder = copyOfFixture('llama-tied')
    const path = join(folder, 'model.safetensors')
    // Same width, another meaning: only the type's name in the header changes.
    writeFileSync(path, Buffer.from(readFileSync(path).toString('latin1').replaceAll('"F32"', '"I32"'), 'latin1'))
    expect((await userError(async () => openModelFolder(folder))).what).toBe('the tensor is stored as I32')
  })

  test('a missing shard', async () => {
    const folder = copyOfFixture('qwen2-tied-sharded')
    rmSync(join(folder, SHARD(2)))
    expect(await userError(async () => openModelFolder(folder))).toMatchObject({ code: 'not-found', place: { file: join(folder, SHARD(2)) } })
  })

  test('a truncated shard', async () => {
    const folder = copyOfFixture('qwen2-tied-sharded')
    const path = join(folder, SHARD(2))
    writeFileSync(path, readFileSync(path).subarray(0, -100))
    const envelope = await userError(async () => openModelFolder(folder))
    expect([envelope.place.file, envelope.what]).toEqual([path, expect.stringContaining('the file is truncated')])
  })

  test('a tensor in another shard than the index says, and in none', async () => {
    const folder = copyOfFixture('qwen2-tied-sharded')
    editIndex(folder, (map) => {
      map['model.embed_tokens.weight'] = SHARD(3)
    })
    const wrong = await userError(async () => openModelFolder(folder))
    expect(wrong).toMatchObject({ what: `the index places this tensor in ${SHARD(3)}, but it lies in ${SHARD(1)}`, place: { field: 'model.embed_tokens.weight' } })
    editIndex(folder, (map) => {
      map['model.embed_tokens.weight'] = SHARD(1)
      map['model.phantom'] = SHARD(1)
    })
    expect((await userError(async () => openModelFolder(folder))).what).toContain('does not hold it')
  })

  test.each(['../model.safetensors', 'sub/model.safetensors', 'sub\\model.safetensors', '..'])('an index that points to %s', async (shard) => {
    const folder = copyOfFixture('qwen2-tied-sharded')
    editIndex(folder, (map) => {
      map['model.norm.weight'] = shard
    })
    expect((await userError(async () => openModelFolder(folder))).what).toContain("is not the name of a file in the model's folder")
  })

  test('an index that is no index', async () => {
    const folder = copyOfFixture('qwen2-tied-sharded')
    editIndex(folder, (map) => {
      map['model.norm.weight'] = 3
    })
    expect((await userError(async () => openModelFolder(folder))).place.field).toBe('weight_map.model.norm.weight')
  })

  test('a tensor the index does not list is a warning', async () => {
    const folder = copyOfFixture('qwen2-tied-sharded')
    await rewrite(join(folder, SHARD(3)), (tensor) => tensor, [{ name: 'extra', dtype: 'F32', shape: [1], data: new Float32Array(1) }])
    const model = await openModelFolder(folder)
    expect(model.warnings).toEqual([`the tensor extra in ${SHARD(3)} is not listed there by model.safetensors.index.json; it is not used`])
    await model.close()
  })
})

describe('writing a model folder', () => {
  const copy = async (name: string, target: string, options: { maxShardBytes?: number; storedType?: 'float32' | 'float16' | 'bfloat16' } = {}): Promise<void> => {
    const model = await openModelFolder(fixture(name))
    await writeModelFolder(target, { config: model.config, tensors: model.readTensor, rawConfig: model.rawConfig, rawGeneration: model.rawGeneration, tokenizerFrom: model.folder, ...options })
    await model.close()
  }

  test.each(MODEL_FIXTURES)('%s comes back with every value and setting', async (name) => {
    const target = join(temporaryFolder(), 'out')
    await copy(name, target)
    const [before, after] = [await openModelFolder(fixture(name)), await openModelFolder(target)]
    expect(after.config).toEqual(before.config)
    for (const tensor of before.names) expect(await after.readTensor(tensor)).toEqual(await before.readTensor(tensor))
    expect([after.names.length, after.warnings]).toEqual([before.names.length, []])
    await before.close()
    await after.close()
    expect(existsSync(join(target, 'generation_config.json'))).toBe(true)
    expect(readdirSync(join(target, '..'))).toEqual(['out'])
  })

  test('weights are split into shards with an index when they exceed the limit', async () => {
    const target = join(temporaryFolder(), 'out')
    await copy('llama-biases', target, { maxShardBytes: 40_000 })
    expect(readdirSync(target).filter((file) => /^model-0000\d-of-0000\d\.safetensors$/.test(file)).length).toBeGreaterThan(2)
    expect(existsSync(join(target, 'model.safetensors'))).toBe(false)
    const model = await openModelFolder(target)
    expect(model.warnings).toEqual([])
    const original = await openModelFolder(fixture('llama-biases'))
    expect(await model.readTensor('lm_head.weight')).toEqual(await original.readTensor('lm_head.weight'))
    await model.close()
    await original.close()
  })

  test('another stored type is written and named in config.json', async () => {
    const target = join(temporaryFolder(), 'out')
    await copy('llama-tied', target, { storedType: 'bfloat16' })
    const model = await openModelFolder(target)
    expect(model.config.torchDtype).toBe('bfloat16')
    await model.close()
    const raw = JSON.parse(readFileSync(join(target, 'config.json'), 'utf8')) as Record<string, unknown>
    expect([raw['torch_dtype'], 'dtype' in raw, raw['initializer_range']]).toEqual(['bfloat16', false, 0.02])
  })

  test('tokenizer files are copied unchanged', async () => {
    const source = copyOfFixture('llama-tied')
    writeFileSync(join(source, 'chat_template.jinja'), '{{ messages }}\r\n')
    const model = await openModelFolder(source)
    const target = join(temporaryFolder(), 'out')
    await writeModelFolder(target, { config: model.config, tensors: model.readTensor, tokenizerFrom: source })
    await model.close()
    expect(readFileSync(join(target, 'chat_template.jinja'), 'utf8')).toBe('{{ messages }}\r\n')
  })

  test('a folder that holds something is not touched; an empty one is used', async () => {
    const target = join(temporaryFolder(), 'out')
    mkdirSync(target)
    await copy('llama-tied', target)
    const before = readdirSync(target)
    expect((await userError(async () => copy('qwen2-untied', target))).what).toBe('the folder already holds files')
    expect(readdirSync(target)).toEqual(before)
  })

  test('when a tensor cannot be had nothing is left behind', async () => {
    const parent = temporaryFolder()
    const model = await openModelFolder(fixture('llama-tied'))
    const content = { config: model.config, tensors: (name: string) => (name === 'model.norm.weight' ? Promise.reject(new Error('lost')) : model.readTensor(name)) }
    await expect(writeModelFolder(join(parent, 'out'), content)).rejects.toThrow('lost')
    await model.close()
    expect(readdirSync(parent)).toEqual([])
  })
})

test('opening a copied fixture does not need the parity files beside it', async () => {
  const folder = temporaryFolder()
  for (const file of ['config.json', 'model.safetensors']) cpSync(fixture('llama-tied', file), join(folder, file))
  const model = await openModelFolder(folder)
  expect([model.config.eosIds, model.chatTemplate]).toEqual([[2], null])
  await model.close()
})
