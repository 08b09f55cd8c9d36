import { closeSync, openSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync, writeSync } from 'node:fs'
import type * as FileSystem from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { openSafetensors } from '../../../src-main/engine/models/safetensors.ts'
import { writeSafetensors } from '../../../src-main/engine/models/safetensors-write.ts'
import type { TensorSource } from '../../../src-main/engine/models/safetensors-write.ts'
import { fixture, temporaryFolder, userError } from './fixtures.ts'

// A disk that fails with `code` after `bytes` written bytes and takes `atOnce` bytes a call.
const space = vi.hoisted(() => ({ bytes: Infinity, atOnce: Infinity, code: 'ENOSPC' }))
vi.mock('node:fs/promises', async (original) => {
  const real = await original<typeof FileSystem>()
  return {
    ...real,
    open: async (...args: Parameters<typeof real.open>) => {
      const handle = await real.open(...args)
      const write = handle.write.bind(handle) as (buffer: Uint8Array, offset: number, length: number) => Promise<{ bytesWritten: number }>
      handle.write = (async (buffer: Uint8Array, offset: number, length: number) => {
        if (space.bytes <= 0) throw Object.assign(new Error(space.code), { code: space.code })
        const fits = Math.min(length, space.bytes, space.atOnce)
        space.bytes -= fits
        return write(buffer, offset, fits)
      }) as typeof handle.write
      return handle
    },
  }
})
beforeEach(() => {
  Object.assign(space, { bytes: Infinity, atOnce: Infinity, code: 'ENOSPC' })
})

/** A file from its header (an object or raw text) and data bytes; `claimed` overrides the header length it states. */
function rawFile(header: unknown, dataBytes: number, claimed?: number): string {
  const path = join(temporaryFolder(), 'lying.safetensors')
  const json = Buffer.isBuffer(header) ? header : Buffer.from(typeof header === 'string' ? header : JSON.stringify(header))
  const prefix = Buffer.alloc(8)
  prefix.writeBigUInt64LE(BigInt(claimed ?? json.length))
  writeFileSync(path, Buffer.concat([prefix, json, Buffer.alloc(dataBytes)]))
  return path
}

const f32 = (shape: number[], begin: number, end: number): Record<string, unknown> => ({ dtype: 'F32', shape, data_offsets: [begin, end] })

describe('reading', () => {
  test("the reference library's files: float32, float16 and bfloat16", async () => {
    // First values of the first q_proj as the reference reads them:
    //   safetensors.torch.load_file(...)["model.layers.0.self_attn.q_proj.weight"].float().flatten()[:3].tolist()
    const golden: [string, number[]][] = JSON.parse(readFileSync(fixture('first-values.json'), 'utf8')) as [string, number[]][]
    expect(golden).toHaveLength(4)
    for (const [path, values] of golden) {
      const file = await openSafetensors(fixture(...path.split('/')))
      const read = await file.readFloat32('model.layers.0.self_attn.q_proj.weight')
      await file.close()
      expect([...read.subarray(0, 3)]).toEqual(values)
    }
  })

  test('names come in the order of their bytes, with type and shape', async () => {
    const path = rawFile({ second: f32([2], 4, 12), first: f32([], 0, 4), __metadata__: { format: 'pt' } }, 12)
    const file = await openSafetensors(path)
    expect([file.names, file.metadata, file.tensor('second')?.shape, file.tensor('first')?.elements, file.tensor('third')]).toEqual([['first', 'second'], { format: 'pt' }, [2], 1, undefined])
    await file.close()
  })

  test('an unknown name and a type that is no weight are errors', async () => {
    const file = await openSafetensors(rawFile({ counts: { dtype: 'I64', shape: [1], data_offsets: [0, 8] } }, 8))
    expect((await userError(async () => file.readFloat32('counts'))).what).toContain('I64')
    expect((await userError(async () => file.readFloat32('other'))).place.field).toBe('other')
    await file.close()
  })

  test('a file that shrinks after it was opened is reported, not read as zeros', async () => {
    const path = rawFile({ w: f32([4], 0, 16) }, 16)
    const file = await openSafetensors(path)
    truncateSync(path, statSync(path).size - 4)
    expect((await userError(async () => file.readFloat32('w'))).what).toContain('truncated')
    await file.close()
  })

  test('a tensor behind the first 2 GiB is read from where it lies', async () => {
    // The file is sparse: only its header and last bytes take space.
    const large = 2 ** 31 + 8
    const path = rawFile({ large: { dtype: 'U8', shape: [large], data_offsets: [0, large] }, late: f32([2], large, large + 8) }, 0)
    const start = statSync(path).size
    const handle = openSync(path, 'r+')
    writeSync(handle, new Uint8Array(Float32Array.of(1.5, -2).buffer), 0, 8, start + large)
    closeSync(handle)
    const file = await openSafetensors(path)
    expect(await file.readFloat32('late')).toEqual(Float32Array.of(1.5, -2))
    await file.close()
  })

  test('an empty tensor and header padding are fine', async () => {
    const file = await openSafetensors(rawFile(`${JSON.stringify({ none: f32([0, 5], 0, 0), some: f32([1], 0, 4) })}     `, 4))
    expect([...(await file.readFloat32('none'))]).toEqual([])
    await file.close()
  })
})

describe('a file that lies is refused by name', () => {
  test.each<[string, () => string, string, string | undefined]>([
    ['shorter than a header length', () => rawFileOf(Buffer.alloc(5)), 'the file is truncated: it has 5 bytes, not even a header length', undefined],
    ['header length beyond the file', () => rawFile({ w: f32([1], 0, 4) }, 4, 10_000), 'the header claims 10000 bytes, but only', undefined],
    ['absurd header length', () => rawFile({ w: f32([1], 0, 4) }, 4, Number.MAX_SAFE_INTEGER), 'the header claims 9007199254740991 bytes', undefined],
    ['header cut inside', () => rawFile({ w: f32([1], 0, 4) }, 4, 10), 'the safetensors header is not JSON', undefined],
    ['not a safetensors file', () => rawFile('PK\u0003\u0004hello world', 4), 'this is not a safetensors file', undefined],
    ['header not UTF-8', () => rawFile(Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]), 4), 'the safetensors header is not UTF-8', undefined],
    ['data cut off', () => rawFile({ w: f32([4], 0, 16) }, 12), 'the file is truncated: the tensor ends at byte', 'w'],
    ['bytes at the end', () => rawFile({ w: f32([4], 0, 16) }, 20), '4 bytes at the end of the file belong to no tensor', undefined],
    ['a hole', () => rawFile({ a: f32([1], 0, 4), b: f32([1], 8, 12) }, 12), '4 bytes before it belong to no tensor', 'b'],
    ['data that does not start at 0', () => rawFile({ a: f32([1], 4, 8) }, 8), '4 bytes before it belong to no tensor', 'a'],
    ['overlap', () => rawFile({ a: f32([2], 0, 8), b: f32([2], 4, 12) }, 12), 'its bytes overlap those of another tensor', 'b'],
    ['two tensors on the same bytes', () => rawFile({ a: f32([2], 0, 8), b: f32([2], 0, 8) }, 8), 'its bytes overlap those of another tensor', 'b'],
    ['offsets outside the file', () => rawFile({ a: f32([2], 1000, 1008) }, 8), 'bytes before it belong to no tensor', 'a'],
    ['offsets backwards', () => rawFile({ a: f32([0], 8, 0) }, 8), 'data_offsets [8, 0] run backwards', 'a'],
    ['negative offset', () => rawFile({ a: f32([1], -4, 0) }, 4), 'the header entry is not valid', 'a'],
    ['shape against bytes', () => rawFile({ a: f32([3], 0, 8) }, 8), 'shape [3] of F32 needs 12 bytes, but data_offsets hold 8', 'a'],
    ['shape that overflows', () => rawFile({ a: f32([2 ** 40, 2 ** 40], 0, 0) }, 0), 'is too large', 'a'],
    ['fractional shape', () => rawFile({ a: f32([1.5], 0, 6) }, 6), 'the header entry is not valid', 'a'],
    ['unknown type', () => rawFile({ a: { dtype: 'Q4', shape: [1], data_offsets: [0, 4] } }, 4), 'unknown element type "Q4"', 'a'],
    ['type from the prototype', () => rawFile({ a: { dtype: 'toString', shape: [1], data_offsets: [0, 4] } }, 4), 'unknown element type "toString"', 'a'],
    ['a name twice', () => rawFile(`{"a":${JSON.stringify(f32([1], 0, 4))},"a":${JSON.stringify(f32([1], 4, 8))}}`, 8), 'the safetensors header names "a" twice', 'a'],
    ['a name twice, one escaped', () => rawFile(`{"a":${JSON.stringify(f32([1], 0, 4))},"\\u0061":${JSON.stringify(f32([1], 4, 8))}}`, 8), 'the safetensors header names "a" twice', 'a'],
    ['entry that is no object', () => rawFile({ a: 5 }, 4), 'the header entry is not valid', 'a'],
    ['metadata that is no map of texts', () => rawFile({ __metadata__: { step: 5 } }, 0), 'the metadata is not a map of texts', '__metadata__'],
  ])('%s', async (_, make, what, field) => {
    const path = make()
    const envelope = await userError(async () => openSafetensors(path))
    expect(envelope.code).toBe('bad-input')
    expect(envelope.what).toContain(what)
    expect(envelope.place).toEqual(field === undefined ? { file: path } : { file: path, field })
    expect(envelope.remedy).not.toBe('')
  })

  test('a missing file', async () => {
    const path = join(temporaryFolder(), 'absent.safetensors')
    expect(await userError(async () => openSafetensors(path))).toMatchObject({ code: 'not-found', place: { file: path } })
  })

  test('a folder in its place', async () => {
    const folder = temporaryFolder()
    expect(await userError(async () => openSafetensors(folder))).toMatchObject({ code: 'bad-input', place: { file: folder } })
  })
})

function rawFileOf(bytes: Buffer): string {
  const path = join(temporaryFolder(), 'short.safetensors')
  writeFileSync(path, bytes)
  return path
}

describe('writing', () => {
  const tensors: TensorSource[] = [
    { name: 'half', dtype: 'F16', shape: [3], data: Float32Array.of(1, -2.5, 65504) },
    { name: 'brain', dtype: 'BF16', shape: [1, 2], data: async () => Promise.resolve(Float32Array.of(1.0078125, -3)) },
    { name: 'full', dtype: 'F32', shape: [2, 2], data: Float32Array.of(0.1, NaN, -Infinity, -0) },
    { name: '1', dtype: 'F32', shape: [], data: Float32Array.of(7) },
  ]

  test('what is written reads back, and the header is aligned', async () => {
    const path = join(temporaryFolder(), 'deep', 'er', 'model.safetensors')
    await writeSafetensors(path, tensors, { format: 'pt', made: 'by a test' })
    const file = await openSafetensors(path)
    expect(file.names).toEqual(['1', 'full', 'brain', 'half'])
    expect(file.metadata).toEqual({ format: 'pt', made: 'by a test' })
    expect(await file.readFloat32('full')).toEqual(Float32Array.of(0.1, NaN, -Infinity, -0))
    expect(await file.readFloat32('half')).toEqual(Float32Array.of(1, -2.5, 65504))
    expect(await file.readFloat32('brain')).toEqual(Float32Array.of(1.0078125, -3))
    expect((file.tensor('1')?.offset ?? 1) % 8).toBe(0)
    await file.close()
    expect(readdirSync(join(path, '..'))).toEqual(['model.safetensors'])
  })

  test('pieces larger than one buffer are converted without a seam', async () => {
    // 9 million values cross the reader's and the writer's buffers of 8 and 4 million values.
    const values = Float32Array.from({ length: 9_000_000 }, (_, index) => (index % 251) - 125)
    const path = join(temporaryFolder(), 'large.safetensors')
    await writeSafetensors(path, [{ name: 'w', dtype: 'BF16', shape: [9, 1_000_000], data: values }])
    const file = await openSafetensors(path)
    const read = await file.readFloat32('w')
    await file.close()
    expect(Buffer.compare(Buffer.from(read.buffer), Buffer.from(values.buffer))).toBe(0)
  })

  test('a full disk is a storage error; the temporary file is gone and the old file stands', async () => {
    const path = join(temporaryFolder(), 'model.safetensors')
    await writeSafetensors(path, tensors)
    const before = readFileSync(path)
    for (const bytes of [0, 20, before.length - 1]) {
      space.bytes = bytes
      const envelope = await userError(async () => writeSafetensors(path, tensors))
      expect(envelope).toMatchObject({ code: 'storage', place: { file: path } })
      expect(envelope.what).toContain('the disk is full')
      expect(readdirSync(join(path, '..'))).toEqual(['model.safetensors'])
      expect(readFileSync(path).equals(before)).toBe(true)
    }
  })

  test.each([['EACCES', 'not writable'], ['EROFS', 'read-only'], ['EDQUOT', 'quota'], ['EFBIG', 'larger than this disk allows']])('%s is a storage error that says "%s"', async (code, words) => {
    Object.assign(space, { bytes: 0, code })
    const envelope = await userError(async () => writeSafetensors(join(temporaryFolder(), 'model.safetensors'), tensors))
    expect([envelope.code, envelope.what]).toEqual(['storage', expect.stringContaining(words)])
  })

  test('writes that stop early are continued', async () => {
    const [whole, pieces] = ['whole', 'pieces'].map((name) => join(temporaryFolder(), name)) as [string, string]
    await writeSafetensors(whole, tensors)
    space.atOnce = 7
    await writeSafetensors(pieces, tensors)
    expect(readFileSync(pieces).equals(readFileSync(whole))).toBe(true)
  })

  test('a folder that cannot be made is a storage error', async () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'occupied'), 'a file')
    const envelope = await userError(async () => writeSafetensors(join(folder, 'occupied', 'model.safetensors'), tensors))
    expect(envelope.code).toBe('storage')
  })

  test('values that do not fill the shape, or a name twice, are a broken invariant and leave nothing behind', async () => {
    const folder = temporaryFolder()
    const wrong: TensorSource = { name: 'w', dtype: 'F32', shape: [3], data: new Float32Array(2) }
    await expect(writeSafetensors(join(folder, 'a'), [wrong])).rejects.toThrow('tensor w has 2 values, its shape [3] needs 3')
    const right: TensorSource = { ...wrong, shape: [2] }
    await expect(writeSafetensors(join(folder, 'b'), [right, right])).rejects.toThrow('written twice')
    expect(readdirSync(folder)).toEqual([])
  })
})
