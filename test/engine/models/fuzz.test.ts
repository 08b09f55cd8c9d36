// Damaged model files by the thousand, from a seed: each opens, or is refused in words a person can act on. Nothing crashes or hangs, no read goes
// past the end of a file, none asks for more bytes than the file has.
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type * as FilesModule from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { UserError } from '../../../src-main/contract/errors.ts'
import { createChatTemplate } from '../../../src-main/engine/models/chat-template.ts'
import { readAdapter, writeAdapter } from '../../../src-main/engine/models/adapter.ts'
import type { DecoderConfig } from '../../../src-main/engine/models/config.ts'
import type { MetadataEntry } from '../../../src-main/engine/models/gguf/write.ts'
import { openModelFolder, writeModelFolder } from '../../../src-main/engine/models/model-folder.ts'
import { openTokenizer } from '../../../src-main/engine/models/tokenizer.ts'
import { expectedTensors } from '../../../src-main/engine/models/weights.ts'
import { createStream } from '../../../src-main/engine/runtime/random.ts'
import type { RandomStream } from '../../../src-main/engine/runtime/random.ts'
import { buildGguf, tinyMetadata, tinyTensors } from '../../support/gguf-fixture.ts'
import { mutateBytes, mutateJson } from '../../support/mutate.ts'
import { fixture } from './fixtures.ts'

/** SATCHEL_FUZZ_SEED=2 does other damage, for a longer search by hand. */
const seed = Number(process.env['SATCHEL_FUZZ_SEED'] ?? 1)

const reads = vi.hoisted(() => ({ beyond: [] as string[] }))

vi.mock('node:fs/promises', async (original) => {
  const files = await original<typeof FilesModule>()
  type Read = (target: Uint8Array, offset: number, length: number, position: number) => Promise<{ bytesRead: number }>
  const open = async (...parameters: Parameters<typeof files.open>): Promise<FileHandle> => {
    const handle = await files.open(...parameters)
    const { size } = await handle.stat()
    const read = handle.read.bind(handle) as unknown as Read
    const watched: Read = (target, offset, length, position) => {
      if (position < 0 || position + length > size || offset + length > target.length) reads.beyond.push(`${length} bytes at ${position} of ${size}`)
      return read(target, offset, length, position)
    }
    return Object.assign(handle, { read: watched })
  }
  return { ...files, open }
})

let folder = ''
let model = ''
let sharded = ''
let adapter = ''
let config: DecoderConfig

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'satchel-fuzz-'))
  model = join(folder, 'model')
  sharded = join(folder, 'sharded')
  adapter = join(folder, 'adapter')
  const tokenizerFrom = fixture('tokenizers', 'smollm3')
  const { size } = await openTokenizer(tokenizerFrom, { vocabularySize: 1 << 20 })
  config = {
    family: 'smollm3', vocabularySize: size + 3, hiddenSize: 8, intermediateSize: 8, layers: 4, heads: 2, kvHeads: 1, headSize: 4, rmsEpsilon: 1e-6, ropeTheta: 1e4, rotaryDimensions: 4, ropeScaling: null, noRopeLayers: [3],
    slidingWindow: null, maxPositions: 64, tieWordEmbeddings: true, packedProjections: false, qkvBias: false, outputBias: false, mlpBias: false, torchDtype: 'bfloat16', bosId: null, eosIds: [1], padId: null,
  }
  const shapes = new Map(expectedTensors(config).map(({ name, shape }) => [name, shape]))
  const tensors = (name: string): Float32Array => new Float32Array((shapes.get(name) ?? []).reduce((product, dimension) => product * dimension, 1)).fill(0.5)
  await writeModelFolder(model, { config, tensors, tokenizerFrom })
  await writeModelFolder(sharded, { config: { ...config, torchDtype: 'float32' }, tensors, maxShardBytes: 3000 })
  const [a, b] = [new Float32Array(2 * 8), new Float32Array(8 * 2)]
  await writeAdapter(adapter, { config: { rank: 2, alpha: 4, dropout: 0, targetModules: ['q_proj'], rankStabilized: false, baseModel: null }, layers: new Map([['model.layers.0.self_attn.q_proj', { a, b }]]) }, config)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))
beforeEach(() => {
  reads.beyond.length = 0
})

/** Damages one file of a folder `times` times and opens the folder each time; the file is whole again afterwards. */
async function fuzz(file: string, times: number, damage: (stream: RandomStream, original: Buffer, index: number) => Uint8Array, open: () => Promise<void>): Promise<void> {
  const original = readFileSync(file)
  const faults: string[] = []
  let opened = 0
  try {
    for (let index = 0; index < times; index += 1) {
      writeFileSync(file, damage(createStream(seed, `fuzz ${file.slice(folder.length)}`, index), original, index))
      try {
        await open()
        opened += 1
      } catch (error) {
        if (!(error instanceof UserError)) faults.push(`damage ${index}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
        else if (error.envelope.what === '' || error.message.length > 5000) faults.push(`damage ${index}: ${error.message.length} characters of message`)
      }
    }
  } finally {
    writeFileSync(file, original)
  }
  expect(faults.slice(0, 5)).toEqual([])
  expect(reads.beyond).toEqual([])
  // Damage that always or never shows would test one path only.
  expect(opened).toBeGreaterThan(0)
  expect(opened).toBeLessThan(times)
}

const hardText = 'Hello, <|im_end|> w\u00f6rld \u{1f600}\r\n  return x;\u0000'

async function openAndUse(path: string): Promise<void> {
  const opened = await openModelFolder(path)
  try {
    for (const name of opened.names) {
      const { length } = await opened.readTensor(name).catch(unreadable)
      if (length > 1e6) throw new Error(`${name} has ${length} values, the whole file has fewer`)
    }
    const tokenizer = await opened.tokenizer()
    const ids = [...tokenizer.encode(hardText), ...tokenizer.encodePrompt('a')]
    tokenizer.decode(ids, { keepSpecial: true })
    tokenizer.tokenOffsets(Array.from({ length: Math.min(tokenizer.size, 300) }, (_, id) => id))
    if (opened.chatTemplate !== null) createChatTemplate(opened.chatTemplate, tokenizer).encode([{ role: 'system', content: 'Be brief.' }, { role: 'user', content: hardText }])
  } finally {
    await opened.close()
  }
}

/** A tensor the model does not use may be of a type that is no weight. */
function unreadable(error: unknown): Float32Array {
  if (error instanceof UserError) return new Float32Array(0)
  throw error
}

const bytes = (hot?: number) => (stream: RandomStream, original: Buffer): Uint8Array => mutateBytes(stream, original, hot)
const json = (stream: RandomStream, original: Buffer): Uint8Array => mutateJson(stream, original.toString('utf8'))
const headerBytes = (file: string): number => 8 + Number(readFileSync(file).readBigUInt64LE(0))

describe('damaged files of a Hugging Face folder', () => {
  test('1500 weights: header lengths, shapes, offsets, types, data', async () => {
    const file = join(model, 'model.safetensors')
    await fuzz(file, 1500, bytes(headerBytes(file)), async () => {
      const opened = await openModelFolder(model)
      for (const name of opened.names) await opened.readTensor(name).catch(unreadable)
      await opened.close()
    })
  })

  test('600 headers of weights, as JSON that still fits its length', async () => {
    const file = join(model, 'model.safetensors')
    const withHeader = (stream: RandomStream, original: Buffer): Uint8Array => {
      const end = 8 + Number(original.readBigUInt64LE(0))
      const header = mutateJson(stream, original.toString('utf8', 8, end))
      const length = Buffer.alloc(8)
      length.writeBigUInt64LE(BigInt(header.length))
      return Buffer.concat([length, header, original.subarray(end)])
    }
    await fuzz(file, 600, withHeader, async () => {
      const opened = await openModelFolder(model)
      for (const name of opened.names) await opened.readTensor(name).catch(unreadable)
      await opened.close()
    })
  })

  test('300 lists of shards', async () => {
    await fuzz(join(sharded, 'model.safetensors.index.json'), 300, json, async () => (await openModelFolder(sharded)).close())
  })

  test('1000 configurations', async () => {
    await fuzz(join(model, 'config.json'), 1000, json, async () => (await openModelFolder(model)).close())
  })

  test('every number of a configuration set to every extreme', async () => {
    const file = join(model, 'config.json')
    const original = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>
    const fields = Object.keys(original).filter((name) => typeof original[name] === 'number')
    const values = [-1, 0, 0.5, 1, 1e5, 1e8, 2 ** 31, 2 ** 32, Number.MAX_SAFE_INTEGER, 1e300]
    expect(fields.length).toBeGreaterThan(10)
    const cases = fields.flatMap((name) => values.map((value) => ({ ...original, [name]: value })))
    // With and without the list that says which layers rotate: its length bounds the number of layers, its absence must not unbound it.
    const all = [...cases, ...cases.map(({ no_rope_layers: _list, ...rest }: Record<string, unknown>) => rest)]
    await fuzz(file, all.length, (_stream, _original, index) => Buffer.from(JSON.stringify(all[index])), async () => (await openModelFolder(model)).close())
  })

  test('200 generation configurations', async () => {
    await fuzz(join(model, 'generation_config.json'), 200, json, async () => (await openModelFolder(model)).close())
  })

  test('1000 tokenizers, each of which then encodes and decodes', async () => {
    await fuzz(join(model, 'tokenizer.json'), 1000, json, () => openAndUse(model))
  })

  test('300 tokenizer configurations, each with its chat template', async () => {
    await fuzz(join(model, 'tokenizer_config.json'), 300, json, () => openAndUse(model))
  })

  test('400 chat templates', async () => {
    const { chat_template: template } = JSON.parse(readFileSync(join(model, 'tokenizer_config.json'), 'utf8')) as { chat_template: string }
    const own = join(model, 'chat_template.jinja')
    writeFileSync(own, template)
    await fuzz(own, 400, bytes(), () => openAndUse(model))
    rmSync(own)
  })
})

describe('damaged adapters', () => {
  test('300 configurations and 300 weights', async () => {
    const weights = join(adapter, 'adapter_model.safetensors')
    const read = async (): Promise<void> => void (await readAdapter(adapter, config))
    await fuzz(join(adapter, 'adapter_config.json'), 300, json, read)
    await fuzz(weights, 300, bytes(headerBytes(weights)), read)
  })
})

describe('damaged GGUF files', () => {
  test('1500 of them: counts, lengths, types, offsets, metadata, blocks', async () => {
    const file = join(folder, 'model.gguf')
    const whole = buildGguf(tinyMetadata(), tinyTensors())
    writeFileSync(file, whole)
    const header = whole.length - tinyTensors().reduce((sum, { values }) => sum + values.length, 0)
    await fuzz(file, 1500, bytes(Math.max(1000, Math.min(header, 2500))), () => openAndUse(file))
  })
})

test('every number of a GGUF file\'s metadata set to every extreme', async () => {
  const file = join(folder, 'numbers.gguf')
  writeFileSync(file, buildGguf(tinyMetadata(), tinyTensors()))
  const numbers = tinyMetadata().flatMap((entry, at) => (entry.type === 'u32' ? [at] : []))
  const values = [0, 1, 3, 64, 1000, 1e8, 2 ** 31, 2 ** 32 - 1]
  const all = numbers.flatMap((at) => values.map((value) => tinyMetadata().map((entry, index): MetadataEntry => (index === at ? { key: entry.key, type: 'u32', value } : entry))))
  expect(numbers.length).toBeGreaterThan(7)
  await fuzz(file, all.length, (_stream, _original, index) => buildGguf(all[index]!, tinyTensors()), () => openAndUse(file))
})

test('what was not damaged still opens', async () => {
  await openAndUse(model)
  await openAndUse(join(folder, 'model.gguf'))
  cpSync(model, join(folder, 'again'), { recursive: true })
  await openAndUse(join(folder, 'again'))
})
