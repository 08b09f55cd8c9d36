// Written files: what is in them, and what is left when the disk fills. llama.cpp's own reading of them is in test/parity/llama-cpp.ts.
import { readdir, readFile, writeFile } from 'node:fs/promises'
import type * as FilesModule from 'node:fs/promises'
import { basename, join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { DecoderConfig } from '../../../../src-main/engine/models/config.ts'
import { exportGguf } from '../../../../src-main/engine/models/gguf/export-gguf.ts'
import type { GgufContent } from '../../../../src-main/engine/models/gguf/export-gguf.ts'
import { openGguf } from '../../../../src-main/engine/models/gguf/file.ts'
import { openModelFolder } from '../../../../src-main/engine/models/model-folder.ts'
import { expectedTensors } from '../../../../src-main/engine/models/weights.ts'
import { resourcePath } from '../../../../src-main/engine/runtime/paths.ts'
import { letterTokenizer } from '../../../support/gguf-fixture.ts'
import { fixture, temporaryFolder, userError } from '../fixtures.ts'

const disk = vi.hoisted(() => ({ bytesLeft: Infinity, bytesWritten: 0 }))

vi.mock('node:fs/promises', async (original) => {
  const files = await original<typeof FilesModule>()
  const { openOnSmallDisk } = await import('../../../support/small-disk.ts')
  return { ...files, open: openOnSmallDisk(files.open, disk) }
})

afterEach(() => {
  disk.bytesLeft = Infinity
})

/** A reference checkpoint as content to write, and a file in an empty folder to write it to. */
async function content(name: string, change: Partial<DecoderConfig> = {}): Promise<{ content: GgufContent; file: string }> {
  const base = await openModelFolder(fixture(name))
  const values = new Map<string, Float32Array>()
  for (const tensor of base.names) values.set(tensor, await base.readTensor(tensor))
  await base.close()
  const tokenizerFrom = temporaryFolder()
  await writeFile(join(tokenizerFrom, 'tokenizer.json'), JSON.stringify(letterTokenizer(base.config.vocabularySize)))
  return { content: { config: { ...base.config, ...change }, tensors: (tensor) => values.get(tensor) as Float32Array, type: 'f16', tokenizerFrom, name }, file: join(temporaryFolder(), 'model.gguf') }
}

describe('a written file', () => {
  it.each(['f16', 'bf16', 'q8_0'] as const)('%s: holds every weight within the rounding of its type, vectors exactly', async (type) => {
    const { content: base, file } = await content('llama-biases')
    const report = await exportGguf(file, { ...base, type })
    expect(report).toMatchObject({ file, type })
    const stored = await openGguf(file)
    const kinds = new Set([...stored.tensors.values()].map(({ shape, type: kind }) => `${shape.length} ${kind}`))
    // The down projections have rows of 48: no whole blocks of Q8_0.
    expect(kinds).toEqual(new Set(['1 F32', `2 ${type.toUpperCase()}`, ...(type === 'q8_0' ? ['2 F16'] : [])]))
    await stored.close()
    const model = await openModelFolder(file)
    // Half of the last place of the largest magnitude of a row of 32, relative to it.
    const relative = { f16: 2 ** -11, bf16: 2 ** -8, q8_0: 0.5 / 127 + 2 ** -10 }[type]
    for (const { name, shape } of expectedTensors(base.config)) {
      const [values, back] = [base.tensors(name) as Float32Array, await model.readTensor(name)]
      const largest = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
      const worst = values.reduce((most, value, index) => Math.max(most, Math.abs(value - (back[index] as number))), 0)
      expect(worst, name).toBeLessThanOrEqual(shape.length === 1 ? 0 : relative * largest)
    }
    await model.close()
  })

  it('of rows that are no whole blocks says which type they got', async () => {
    const { content: base, file } = await content('phi3-short')
    expect((await exportGguf(file, { ...base, type: 'q8_0' })).notes).toEqual(['2 matrices whose rows are no whole blocks of 32 are stored as F16'])
  })

  it('has what llama.cpp asks of Phi: LongRoPE as tensors and a length, no window', async () => {
    const { content: base, file } = await content('phi3-long')
    await exportGguf(file, { ...base, name: 'Phi-3 of mine' })
    const { metadata, tensors, close } = await openGguf(file)
    expect(metadata.get('phi3.rope.scaling.original_context_length')).toBe(4)
    expect(metadata.get('phi3.rope.dimension_count')).toBe(12)
    expect(metadata.get('phi3.attention.sliding_window')).toBe(0)
    // A name with "phi-3" would make it look for SentencePiece tokens.
    expect(metadata.get('general.name')).toBe('phi 3 of mine')
    expect(tensors.get('rope_factors_long.weight')).toMatchObject({ type: 'F32', shape: [6] })
    await close()
  })

  it('of the built-in model carries its tokenizer whole, and a note', async () => {
    const folder = resourcePath('demo', 'model')
    const base = await openModelFolder(folder)
    const file = join(temporaryFolder(), 'model.gguf')
    const { notes } = await exportGguf(file, { config: base.config, tensors: (name) => base.readTensor(name), type: 'q8_0', tokenizerFrom: folder, name: 'built-in' })
    expect(notes.join()).toContain('llama.cpp has no name for the way this tokenizer cuts texts')
    const model = await openModelFolder(file)
    expect(model.config).toEqual({ ...base.config, torchDtype: 'float16' })
    expect(model.chatTemplate).toBe(base.chatTemplate)
    const text = 'export default function App() {\n  return <h1>Grüße</h1>\n}'
    expect((await model.tokenizer()).encode(text)).toEqual((await base.tokenizer()).encode(text))
    await Promise.all([base.close(), model.close()])
  })

  it('written again from itself is the same file', async () => {
    const { content: base, file } = await content('qwen2-tied-sharded')
    await exportGguf(file, { ...base, type: 'q8_0' })
    const model = await openModelFolder(file)
    const again = join(temporaryFolder(), 'model.gguf')
    await exportGguf(again, { ...base, config: model.config, tensors: (name) => model.readTensor(name), type: 'q8_0', tokenizerFrom: file })
    await model.close()
    expect((await readFile(again)).equals(await readFile(file))).toBe(true)
  })
})

describe('a model GGUF cannot express', () => {
  it('SmolLM3 with rotary left out elsewhere than llama.cpp does', async () => {
    const { content: base, file } = await content('smollm3')
    expect(await userError(() => exportGguf(file, base))).toMatchObject({ code: 'bad-input', what: 'GGUF cannot express this model: layers 1 use no rotary, llama.cpp leaves it out in layers 3' })
    const usual = await exportGguf(file, { ...base, config: { ...base.config, noRopeLayers: [3] } })
    expect(usual.notes).toEqual([])
    const model = await openModelFolder(file)
    expect(model.config.noRopeLayers).toEqual([3])
    await model.close()
  })
})

describe('a disk that fills while a file is written', () => {
  it.each([0, 100, 30_000, 60_000])('after %i bytes is told, and leaves nothing', async (bytesLeft) => {
    const { content: base, file } = await content('qwen2-untied')
    disk.bytesLeft = bytesLeft
    const error = await userError(() => exportGguf(file, base))
    expect(error).toMatchObject({ code: 'storage', place: { file } })
    expect(error.what).toContain('the disk is full')
    expect(await readdir(join(file, '..'))).toEqual([])
  })

  it('leaves an older file as it was', async () => {
    const { content: base, file } = await content('qwen2-untied')
    await writeFile(file, 'older')
    disk.bytesLeft = 50_000
    await userError(() => exportGguf(file, base))
    expect(await readdir(join(file, '..'))).toEqual([basename(file)])
    expect(await readFile(file, 'utf8')).toBe('older')
  })

  it('so does a tensor that cannot be had', async () => {
    const { content: base, file } = await content('qwen2-untied')
    await expect(exportGguf(file, { ...base, tensors: (name) => (name.includes('layers.1.mlp') ? Promise.reject(new Error('gone')) : base.tensors(name)) })).rejects.toThrow('gone')
    expect(await readdir(join(file, '..'))).toEqual([])
  })
})
