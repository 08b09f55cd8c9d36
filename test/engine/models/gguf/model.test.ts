import { copyFile, mkdir, open, readFile, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { bfloat16ToFloat32, float16ToFloat32 } from '../../../../src-main/engine/models/float-formats.ts'
import { exportGguf } from '../../../../src-main/engine/models/gguf/export-gguf.ts'
import type { MetadataEntry } from '../../../../src-main/engine/models/gguf/write.ts'
import { copyTokenizerFiles, openModelFolder, writeModelFolder } from '../../../../src-main/engine/models/model-folder.ts'
import { openTokenizer } from '../../../../src-main/engine/models/tokenizer.ts'
import { buildGguf, letterTokenizer, tinyGguf, tinyMetadata, tinyTensors } from '../../../support/gguf-fixture.ts'
import type { FixtureTensor } from '../../../support/gguf-fixture.ts'
import { fixture, MODEL_FIXTURES, temporaryFolder, userError } from '../fixtures.ts'

async function fileOf(bytes: Uint8Array, name = 'model.gguf'): Promise<string> {
  const file = join(temporaryFolder(), name)
  await writeFile(file, bytes)
  return file
}

/** A folder that holds a tokenizer of 96 letters, as many as the reference checkpoints have rows. */
async function letters(): Promise<string> {
  const folder = temporaryFolder()
  await writeFile(join(folder, 'tokenizer.json'), JSON.stringify(letterTokenizer(96)))
  return folder
}

describe('a GGUF file as a model', () => {
  // The reference checkpoint of SmolLM3 leaves rotary out elsewhere than llama.cpp; export-gguf.test.ts has that.
  it.each(MODEL_FIXTURES.filter((name) => name !== 'smollm3'))('%s: has the configuration and, to the bit, the weights of the folder it was written from', async (name) => {
    const folder = await openModelFolder(fixture(name))
    const path = join(temporaryFolder(), 'model.gguf')
    await exportGguf(path, { config: folder.config, tensors: (tensor) => folder.readTensor(tensor), type: 'f32', tokenizerFrom: await letters(), name })
    const model = await openModelFolder(path)
    expect(model.config).toEqual({ ...folder.config, torchDtype: 'float32' })
    expect(model.warnings).toEqual([])
    for (const tensor of model.names) {
      expect(model.shape(tensor)).toEqual(folder.shape(tensor))
      expect(await model.readTensor(tensor)).toEqual(await folder.readTensor(tensor))
    }
    await Promise.all([folder.close(), model.close()])
  })

  it('has a tokenizer, a hash that changes with its bytes, and says what its weights are packed in', async () => {
    const path = await fileOf(tinyGguf())
    const model = await openModelFolder(path)
    const tokenizer = await model.tokenizer()
    expect(tokenizer.encode('!"#')).toEqual([62, 2])
    expect(model.config).toMatchObject({ family: 'llama', vocabularySize: 64, heads: 2, kvHeads: 1, tieWordEmbeddings: true, eosIds: [63], torchDtype: 'float32' })
    expect(model.quantisation).toBe('F32')
    const hash = await model.hash()
    await model.close()
    const copy = join(temporaryFolder(), 'renamed.gguf')
    await copyFile(path, copy)
    const renamed = await openModelFolder(copy)
    expect(await renamed.hash()).toBe(hash)
    await renamed.close()
    const handle = await open(copy, 'r+')
    await handle.write(Uint8Array.of(0x42), 0, 1, (await handle.stat()).size - 40)
    await handle.close()
    const changed = await openModelFolder(copy)
    expect(await changed.hash()).not.toBe(hash)
    await changed.close()
  })

  it('gives half formats as they lie in the file, and everything else widened', async () => {
    const model = await openModelFolder(await fileOf(tinyGguf()))
    const formats = new Map<string, string>()
    for (const name of model.names) {
      const stored = await model.readStored?.(name)
      if (stored === undefined) throw new Error('a GGUF model gives no stored tensors')
      formats.set(name.replace('model.layers.0.', ''), stored.format)
      const values = stored.format === 'float32' ? stored.values : new Float32Array(stored.bits.length)
      if (stored.format === 'float16') float16ToFloat32(stored.bits, values)
      if (stored.format === 'bfloat16') bfloat16ToFloat32(stored.bits, values)
      expect(values, name).toEqual(await model.readTensor(name))
    }
    expect([formats.get('self_attn.q_proj.weight'), formats.get('self_attn.o_proj.weight'), formats.get('model.embed_tokens.weight')]).toEqual(['float16', 'bfloat16', 'float32'])
    await model.close()
  })

  it('is told by its ending, in any case', async () => {
    const model = await openModelFolder(await fileOf(tinyGguf(), 'MODEL.GGUF'))
    await model.close()
  })

  it('can be written as a Hugging Face folder with its tokenizer', async () => {
    const path = await fileOf(tinyGguf())
    const model = await openModelFolder(path)
    const folder = join(temporaryFolder(), 'folder')
    await writeModelFolder(folder, { config: model.config, tensors: (name) => model.readTensor(name), rawConfig: model.rawConfig, tokenizerFrom: path })
    const back = await openModelFolder(folder)
    expect(back.config).toEqual(model.config)
    expect((await back.tokenizer()).encode('!"# <|im_end|>')).toEqual((await model.tokenizer()).encode('!"# <|im_end|>'))
    await Promise.all([model.close(), back.close()])
  })

  it('gives its tokenizer and template as files', async () => {
    const path = await fileOf(buildGguf([...tinyMetadata(), { key: 'tokenizer.chat_template', type: 'string', value: '{{ eos_token }}' }], tinyTensors()))
    const folder = temporaryFolder()
    await mkdir(folder, { recursive: true })
    expect(await copyTokenizerFiles(path, folder)).toEqual(['tokenizer.json', 'tokenizer_config.json'])
    expect((await openTokenizer(folder, { vocabularySize: 64 })).size).toBe(64)
    expect(JSON.parse(await readFile(join(folder, 'tokenizer_config.json'), 'utf8'))).toMatchObject({ chat_template: '{{ eos_token }}', eos_token: '<|im_end|>' })
  })
})

describe('a GGUF file that cannot be used', () => {
  const opening = async (bytes: Uint8Array) => {
    const path = await fileOf(bytes)
    const error = await userError(() => openModelFolder(path))
    expect(error.place.file).toBe(path)
    return error
  }
  const without = (key: string): MetadataEntry[] => tinyMetadata().filter((entry) => entry.key !== key)
  const having = (...entries: MetadataEntry[]): MetadataEntry[] => [...tinyMetadata().filter(({ key }) => !entries.some((entry) => entry.key === key)), ...entries]
  const u32 = (key: string, value: number): MetadataEntry => ({ key, type: 'u32', value })

  it.each<[string, MetadataEntry[], string, string]>([
    ['another architecture', having({ key: 'general.architecture', type: 'string', value: 'mamba' }), 'general.architecture', 'the architecture "mamba" is not supported'],
    ['no architecture', without('general.architecture'), 'general.architecture', 'the metadata lacks this key'],
    ['no width', without('llama.embedding_length'), 'llama.embedding_length', 'the metadata lacks this key'],
    ['no epsilon', without('llama.attention.layer_norm_rms_epsilon'), 'llama.attention.layer_norm_rms_epsilon', 'the metadata lacks this key'],
    ['more layers than tensors', having(u32('llama.block_count', 4_000_000_000)), 'llama.block_count', '4000000000 layers cannot be in a file of 11 tensors'],
    ['experts', having(u32('llama.expert_count', 8)), 'llama.expert_count', 'a value of 8 is not supported yet'],
    ['stretched rotary', having({ key: 'llama.rope.scaling.type', type: 'string', value: 'yarn' }), 'llama.rope.scaling.type', 'rotary scaling "yarn" is not supported yet'],
    ['one of several files', having(u32('split.count', 3)), 'split.count', 'the model is split into 3 files'],
    ['other heads for values', having(u32('llama.attention.value_length', 8)), 'llama.attention.value_length', 'a head of 16 for keys and 8 for values'],
    ['heads of no whole size', having(u32('llama.attention.head_count', 3)), 'head_dim', 'must be a whole number above 0'],
    ['a window', having(u32('llama.attention.sliding_window', 16)), 'sliding_window', 'attention over a sliding window is not supported yet'],
    ['an end id outside the vocabulary', having(u32('tokenizer.ggml.eos_token_id', 64)), 'tokenizer.ggml.eos_token_id', 'id 64 lies outside the vocabulary of 64'],
    ['a text for a number', having({ key: 'llama.context_length', type: 'string', value: 'long' }), 'llama.context_length', 'the value is "long"'],
  ])('%s', async (_, metadata, field, what) => {
    const error = await opening(buildGguf(metadata, tinyTensors()))
    expect(error.what).toContain(what)
    expect(error.place.field).toBe(field)
  })

  it.each<[string, (tensors: FixtureTensor[]) => FixtureTensor[], string, string]>([
    ['no embedding', (tensors) => tensors.filter(({ name }) => name !== 'token_embd.weight'), 'token_embd.weight', 'the weights lack this tensor'],
    ['a missing layer tensor', (tensors) => tensors.filter(({ name }) => name !== 'blk.0.ffn_up.weight'), 'blk.0.ffn_up.weight', 'the weights lack this tensor'],
    ['a tensor of another shape', (tensors) => tensors.map((tensor) => (tensor.name === 'blk.0.attn_k.weight' ? { ...tensor, shape: [8, 64] } : tensor)), 'blk.0.attn_k.weight', 'the tensor has shape [8, 64]'],
    ['frequencies of Llama 3.1', (tensors) => [...tensors, { name: 'rope_freqs.weight', type: 'F32', shape: [8], values: new Float32Array(8) }], 'rope_freqs.weight', 'rotary scaling by frequency'],
  ])('%s', async (_, change, field, what) => {
    const error = await opening(buildGguf(tinyMetadata(), change(tinyTensors())))
    expect(error.what).toContain(what)
    expect(error.place.field).toBe(field)
  })

  it('a type that is not read is named beside the tensor', async () => {
    const bytes = Buffer.from(tinyGguf())
    // The type stands behind name, rank and two dimensions.
    const at = bytes.indexOf('blk.0.ffn_up.weight') + 'blk.0.ffn_up.weight'.length + 4 + 16
    bytes.writeUInt32LE(10, at)
    expect(await opening(bytes)).toMatchObject({ what: 'tensors of type Q2_K cannot be read', place: { field: 'blk.0.ffn_up.weight' } })
    bytes.writeUInt32LE(77, at)
    expect((await opening(bytes)).what).toBe('tensors of type 77 cannot be read')
  })

  it('a tensor the model does not use is told and does no harm', async () => {
    const model = await openModelFolder(await fileOf(buildGguf(tinyMetadata(), [...tinyTensors(), { name: 'extra', type: 'F32', shape: [1], values: new Float32Array(1) }])))
    expect(model.warnings).toEqual(['the tensor extra is not part of the model; it is not used'])
    await model.close()
  })

  it('a tokenizer of another length than the embedding is refused when it is asked for', async () => {
    const metadata = having({ key: 'tokenizer.ggml.tokens', type: 'strings', value: ['a'] })
    const model = await openModelFolder(await fileOf(buildGguf(metadata.filter(({ key }) => key !== 'tokenizer.ggml.token_type'), tinyTensors())))
    expect((await userError(() => model.tokenizer())).what).toContain('it lists 1 tokens, the embedding has 64 rows')
    await model.close()
  })

  it('a file cut off anywhere is refused at once', async () => {
    const whole = tinyGguf()
    for (const share of [0, 0.01, 0.1, 0.3, 0.6, 0.9, 0.99]) expect((await opening(whole.subarray(0, Math.floor(share * whole.length)))).what).toMatch(/the file is truncated|but only \d+ bytes follow/)
  })

  it('a file that is cut off while it is open is told at the tensor', async () => {
    const path = await fileOf(tinyGguf())
    const model = await openModelFolder(path)
    await truncate(path, 3000)
    expect(await userError(() => model.readTensor('model.norm.weight'))).toMatchObject({ place: { file: path, field: 'output_norm.weight' } })
    await model.close()
  })

  it('a missing file is told', async () => {
    expect(await userError(() => openModelFolder(join(temporaryFolder(), 'none.gguf')))).toMatchObject({ code: 'not-found', what: 'the file does not exist' })
  })

  it('a folder of that name is told', async () => {
    const folder = join(temporaryFolder(), 'folder.gguf')
    await mkdir(folder)
    expect(await userError(() => openModelFolder(folder))).toMatchObject({ code: 'bad-input', place: { file: folder } })
  })
})
