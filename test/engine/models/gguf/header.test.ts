import { describe, expect, it } from 'vitest'
import type { MetadataEntry } from '../../../../src-main/engine/models/gguf/write.ts'
import { MAX_HEADER_BYTES, parseGgufHeader } from '../../../../src-main/engine/models/gguf/header.ts'
import { buildGguf, tinyGguf } from '../../../support/gguf-fixture.ts'
import { userError } from '../fixtures.ts'

const parse = (bytes: Uint8Array) => parseGgufHeader(bytes, bytes.length, 'a.gguf')

/** A header by hand: little-endian parts after the magic and version 3. */
function bytesOf(...parts: (number | bigint | string | Uint8Array)[]): Uint8Array {
  return Buffer.concat(['GGUF', 3, ...parts].map((part) => {
    if (typeof part === 'string') return Buffer.from(part, 'latin1')
    if (part instanceof Uint8Array) return part
    const buffer = Buffer.alloc(typeof part === 'bigint' ? 8 : 4)
    if (typeof part === 'bigint') buffer.writeBigUInt64LE(part)
    else buffer.writeUInt32LE(part)
    return buffer
  }))
}
const named = (text: string): Uint8Array => Buffer.concat([Buffer.from(new BigUint64Array([BigInt(text.length)]).buffer), Buffer.from(text)])
const zeros = (count: number): Uint8Array => new Uint8Array(count)

describe('a header', () => {
  it('gives back every kind of value', () => {
    const entries: MetadataEntry[] = [
      { key: 'a text', type: 'string', value: 'Grüße 👋' }, { key: 'yes', type: 'bool', value: true }, { key: 'u32', type: 'u32', value: 4_294_967_295 }, { key: 'i32', type: 'i32', value: -7 },
      { key: 'f32', type: 'f32', value: 0.5 }, { key: 'u64', type: 'u64', value: 2 ** 40 }, { key: 'texts', type: 'strings', value: ['', 'b'] }, { key: 'numbers', type: 'i32s', value: [-1, 2] },
    ]
    const header = parse(buildGguf(entries, []))
    expect([...(header?.metadata ?? [])]).toEqual(entries.map(({ key, value }) => [key, value]))
  })

  it('keeps 64-bit numbers that a double cannot hold, and reads lists in lists', () => {
    const bytes = bytesOf(0n, 2n, named('big'), 10, 2n ** 63n, named('nested'), 9, 9, 1n, 0, 2n, Uint8Array.of(1, 2))
    expect([...(parse(bytes)?.metadata ?? [])]).toEqual([['big', 2n ** 63n], ['nested', [[1, 2]]]])
  })

  it('lists tensors in row-major shapes, at places inside the file', () => {
    const bytes = buildGguf([], [{ name: 'a', type: 'F32', shape: [2, 3], values: new Float32Array(6) }, { name: 'b', type: 'Q8_0', shape: [32], values: new Float32Array(32) }])
    const tensors = [...(parse(bytes)?.tensors.values() ?? [])]
    expect(tensors.map(({ name, type, shape, byteLength, elements }) => ({ name, type, shape, byteLength, elements }))).toEqual([
      { name: 'a', type: 'F32', shape: [2, 3], byteLength: 24, elements: 6 },
      { name: 'b', type: 'Q8_0', shape: [32], byteLength: 34, elements: 32 },
    ])
    expect(tensors.map(({ offset }) => offset % 32)).toEqual([0, 0])
    expect((tensors[1]?.offset ?? 0) + 64).toBe(bytes.length)
  })

  it('asks for more of the file when it ends behind the bytes at hand, at any place', () => {
    const whole = tinyGguf()
    const length = [...Array(whole.length).keys()].find((end) => parseGgufHeader(whole.subarray(0, end), whole.length, 'a.gguf') !== undefined) ?? 0
    expect(length).toBeGreaterThan(1000)
    expect(parseGgufHeader(whole.subarray(0, length - 1), whole.length, 'a.gguf')).toBeUndefined()
  })
})

describe('a header that lies', () => {
  it.each<[string, Uint8Array, string]>([
    ['another kind of file', Buffer.from('PK\u0003\u0004 and more than that'), 'this is not a GGUF file: it starts with "PK\\u0003\\u0004"'],
    ['an empty file', zeros(0), 'the file is truncated'],
    ['big-endian', Buffer.from([0x47, 0x47, 0x55, 0x46, 0, 0, 0, 3, ...zeros(16)]), 'the file is big-endian'],
    ['the first version', Buffer.from([0x47, 0x47, 0x55, 0x46, 1, 0, 0, 0, ...zeros(16)]), 'GGUF version 1 is not read'],
    ['a later version', Buffer.from([0x47, 0x47, 0x55, 0x46, 4, 0, 0, 0, ...zeros(16)]), 'GGUF version 4 is not read'],
    ['more tensors than bytes', bytesOf(2n ** 40n, 0n), 'the header claims 1099511627776 tensors, but only 8 bytes follow'],
    ['a count beyond any number', bytesOf(0n, 2n ** 64n - 1n), 'the number of metadata entries is 18446744073709551615'],
    ['a text longer than the file', bytesOf(0n, 1n, 1_000_000n, zeros(40)), 'a metadata key at byte 32 needs 1000000 bytes, 40 follow'],
    ['a list longer than the file', bytesOf(0n, 1n, named('list'), 9, 6, 2n ** 32n, zeros(40)), 'the header claims 4294967296 values of list'],
    ['an unknown kind of value', bytesOf(0n, 1n, named('k'), 13, zeros(16)), 'the value has an unknown type'],
    ['lists in lists in lists without end', bytesOf(0n, 1n, named('k'), 9, ...Array.from({ length: 20 }, () => [9, 1n]).flat(), zeros(200)), 'lists are nested more than 4 deep'],
    ['a key twice', bytesOf(0n, 2n, named('k'), 0, Uint8Array.of(1), named('k'), 0, Uint8Array.of(2)), 'the metadata names this key twice'],
    ['a key without a name', bytesOf(0n, 1n, 0n, 0, zeros(16)), 'a metadata key has 0 characters'],
    ['a key that would steer a terminal', bytesOf(0n, 1n, named('\u001b[2J'), 0, zeros(16)), 'a metadata key has control characters: "\\u001b[2J"'],
    ['nine dimensions', bytesOf(1n, 0n, named('t'), 9, zeros(100)), 'the tensor has 9 dimensions'],
    ['an empty dimension', bytesOf(1n, 0n, named('t'), 1, 0n, 0, 0n, zeros(64)), 'shape [0] is empty'],
    ['more elements than numbers reach', bytesOf(1n, 0n, named('t'), 2, 2n ** 40n, 2n ** 40n, 0, 0n, zeros(64)), 'is too large'],
    ['rows that are no whole blocks', bytesOf(1n, 0n, named('t'), 1, 33n, 8, 0n, zeros(64)), 'rows of 33 values cannot be stored as Q8_0'],
    ['a tensor behind the end of the file', bytesOf(1n, 0n, named('t'), 1, 8n, 0, 2n ** 40n, zeros(64)), 'the file is truncated: the tensor ends at byte'],
    ['a tensor that is not aligned', bytesOf(1n, 0n, named('t'), 1, 1n, 0, 4n, zeros(64)), 'its bytes start at 4'],
    ['an alignment of three', bytesOf(0n, 1n, named('general.alignment'), 4, 3), 'an alignment of 3 cannot be'],
    ['two tensors at one place', bytesOf(2n, 0n, named('t'), 1, 4n, 0, 0n, named('u'), 1, 4n, 0, 0n, zeros(64)), 'its bytes overlap those of another tensor'],
    ['a tensor twice', bytesOf(2n, 0n, named('t'), 1, 4n, 0, 0n, named('t'), 1, 4n, 0, 32n, zeros(96)), 'the header lists this tensor twice'],
  ])('%s', async (_, bytes, what) => {
    const { code, what: said, place, remedy } = await userError(() => parse(bytes))
    expect(code).toBe('bad-input')
    expect(said).toContain(what)
    expect(place.file).toBe('a.gguf')
    expect(remedy).not.toBe('')
  })

  it('about its own length is told before it is read', async () => {
    // The file is said to be large enough; the bytes of the text are never asked for.
    const bytes = bytesOf(0n, 1n, named('text'), 8, BigInt(MAX_HEADER_BYTES))
    expect((await userError(() => parseGgufHeader(bytes, 2 ** 40, 'a.gguf'))).what).toContain('the header is longer than')
  })
})
