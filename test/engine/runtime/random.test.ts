import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createStream, philox4x32, streamFromState } from '../../../src-main/engine/runtime/random.ts'
import type { StreamState } from '../../../src-main/engine/runtime/random.ts'

function hexBlock(block: number, stream: [number, number], key: [number, number]): string[] {
  const out = new Uint32Array(4)
  philox4x32(out, block, stream, key)
  return [...out].map((word) => word.toString(16).padStart(8, '0'))
}

describe('philox4x32-10', () => {
  // Known-answer tests of the Random123 distribution (file kat_vectors, lines "philox4x32 10").
  it('gives the known answer for counter 0 and key 0', () => {
    expect(hexBlock(0, [0, 0], [0, 0])).toEqual(['6627e8d5', 'e169c58d', 'bc57ac4c', '9b00dbd8'])
  })

  it('agrees with the known answers whose counter uses all 128 bits', () => {
    // The lower counter half of these vectors exceeds 2^53, so the round function is repeated here on BigInt, checked against the
    // vectors, and then compared with the shipped one on counters both can express.
    expect(bigBlock([0xffffffffn, 0xffffffffn, 0xffffffffn, 0xffffffffn], [0xffffffffn, 0xffffffffn])).toEqual(['408f276d', '41c83b0e', 'a20bc7c6', '6d5451fd'])
    expect(bigBlock([0x243f6a88n, 0x85a308d3n, 0x13198a2en, 0x03707344n], [0xa4093822n, 0x299f31d0n])).toEqual(['d16cfe09', '94fdcceb', '5001e420', '24126ea1'])
    const word = fc.integer({ min: 0, max: 0xffffffff })
    fc.assert(
      fc.property(fc.maxSafeInteger().filter((n) => n >= 0), word, word, word, word, (block, s0, s1, k0, k1) => {
        const counter = [BigInt(block) & 0xffffffffn, BigInt(block) >> 32n, BigInt(s0), BigInt(s1)]
        expect(hexBlock(block, [s0, s1], [k0, k1])).toEqual(bigBlock(counter, [BigInt(k0), BigInt(k1)]))
      }),
    )
  })
})

/** The definition of the paper on BigInt. */
function bigBlock(counter: bigint[], key: bigint[]): string[] {
  const mask = 0xffffffffn
  let [c0, c1, c2, c3] = counter as [bigint, bigint, bigint, bigint]
  let [k0, k1] = key as [bigint, bigint]
  for (let round = 0; round < 10; round++) {
    const product0 = 0xd2511f53n * c0
    const product1 = 0xcd9e8d57n * c2
    ;[c0, c1, c2, c3] = [(product1 >> 32n) ^ c1 ^ k0, product1 & mask, (product0 >> 32n) ^ c3 ^ k1, product0 & mask]
    k0 = (k0 + 0x9e3779b9n) & mask
    k1 = (k1 + 0xbb67ae85n) & mask
  }
  return [c0, c1, c2, c3].map((word) => word.toString(16).padStart(8, '0'))
}

describe('createStream', () => {
  it('is determined by seed, purpose and keys, and by nothing else', () => {
    const draw = (...args: Parameters<typeof createStream>): number[] => Array.from({ length: 8 }, createStream(...args).uint32)
    expect(draw(1, 'sample', 2, 3, 4)).toEqual(draw(1, 'sample', 2, 3, 4))
    const variants = [draw(1, 'sample', 2, 3, 4), draw(2, 'sample', 2, 3, 4), draw(1, 'order', 2, 3, 4), draw(1, 'sample', 2, 4, 3), draw(1, 'sample', 2, 3), draw(1, 'sample', 2, 3, 4, 0)]
    expect(new Set(variants.map(String)).size).toBe(variants.length)
  })

  it('pins the numbers of one stream, so that a recorded run stays repeatable', () => {
    // Computed once by this implementation; the key derivation has no outside reference. A change breaks every recorded seed.
    const stream = createStream(7, 'sample', 1, 2, 3)
    expect([stream.uint32(), stream.uint32(), stream.uint32()]).toMatchInlineSnapshot(`
      [
        2007833930,
        2441392743,
        1516449854,
      ]
    `)
  })

  it('refuses seeds and keys that are not finite', () => {
    expect(() => createStream(Number.NaN, 'sample')).toThrow(/finite/)
    expect(() => createStream(1, 'sample', Number.POSITIVE_INFINITY)).toThrow(/finite/)
  })

  it('restores bit by bit through JSON from any position', () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer({ min: 0, max: 50 }), (seed, read) => {
        const stream = createStream(seed, 'restore')
        for (let i = 0; i < read; i++) stream.uint32()
        const copy = streamFromState(JSON.parse(JSON.stringify(stream.state())) as StreamState)
        for (let i = 0; i < 9; i++) expect(copy.uint32()).toBe(stream.uint32())
        expect(copy.normal()).toBe(stream.normal())
        expect(copy.state()).toEqual(stream.state())
      }),
    )
  })

  it('refuses a damaged state and names it', () => {
    const state = createStream(1, 'x').state()
    expect(() => streamFromState({ ...state, used: 4 })).toThrow(/state of a random stream/)
    expect(() => streamFromState({ ...state, block: -1 })).toThrow(/state of a random stream/)
    expect(() => streamFromState({ ...state, key: [1.5, 0] })).toThrow(/state of a random stream/)
  })
})

describe('distributions', () => {
  const n = 40000

  it.each([1, 2, 3])('uniform is in [0, 1) and fills 64 bins evenly (seed %i)', (seed) => {
    const stream = createStream(seed, 'uniform')
    const bins = new Array<number>(64).fill(0)
    for (let i = 0; i < n; i++) {
      const u = stream.uniform()
      expect(u >= 0 && u < 1).toBe(true)
      bins[Math.floor(u * 64)]! += 1
    }
    const expected = n / 64
    const chiSquare = bins.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0)
    expect(chiSquare).toBeLessThan(118) // 63 degrees of freedom: exceeded with probability 3e-5
  })

  it.each([1, 2, 3])('normal has the moments 0, 1, 0, 3 (seed %i)', (seed) => {
    const stream = createStream(seed, 'normal')
    const moments = [0, 0, 0, 0]
    for (let i = 0; i < n; i++) {
      const x = stream.normal()
      for (let p = 0; p < 4; p++) moments[p]! += x ** (p + 1) / n
    }
    // Five standard errors: sqrt(1/n), sqrt(2/n), sqrt(15/n), sqrt(96/n).
    expect(Math.abs(moments[0]!)).toBeLessThan(5 * Math.sqrt(1 / n))
    expect(Math.abs(moments[1]! - 1)).toBeLessThan(5 * Math.sqrt(2 / n))
    expect(Math.abs(moments[2]!)).toBeLessThan(5 * Math.sqrt(15 / n))
    expect(Math.abs(moments[3]! - 3)).toBeLessThan(5 * Math.sqrt(96 / n))
  })

  it('integer covers [0, n) evenly, also where n does not divide 2^32', () => {
    const stream = createStream(1, 'integer')
    const large = 3 * 2 ** 30 // without rejection the lowest third would be twice as likely
    let low = 0
    for (let i = 0; i < n; i++) if (stream.integer(large) < 2 ** 30) low += 1
    expect(Math.abs(low / n - 1 / 3)).toBeLessThan(5 * Math.sqrt(2 / 9 / n))
    expect(stream.integer(1)).toBe(0)
    expect(stream.integer(2 ** 32)).toBeLessThan(2 ** 32)
    for (const bad of [0, -1, 1.5, 2 ** 32 + 1, Number.NaN]) expect(() => stream.integer(bad)).toThrow(RangeError)
  })

  it('shuffle keeps the elements and reaches every order of three', () => {
    const stream = createStream(1, 'shuffle')
    const seen = new Map<string, number>()
    for (let i = 0; i < 6000; i++) {
      const order = stream.shuffle(['a', 'b', 'c']).join('')
      seen.set(order, (seen.get(order) ?? 0) + 1)
    }
    expect([...seen.keys()].sort()).toEqual(['abc', 'acb', 'bac', 'bca', 'cab', 'cba'])
    for (const count of seen.values()) expect(Math.abs(count - 1000)).toBeLessThan(5 * Math.sqrt(6000 * (5 / 36)))
  })
})
