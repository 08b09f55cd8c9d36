import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { concatenate, decodeBytes, placeTokens } from '../../../src-main/engine/models/utf8-spans.ts'

const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/** Byte strings that are mostly well-formed UTF-8, cut at arbitrary places, with stray bytes: what a half-trained model writes. */
const pieces = fc.array(fc.oneof(fc.uint8Array({ maxLength: 4 }), fc.string({ unit: 'binary', maxLength: 3 }).map((text) => new TextEncoder().encode(text)), fc.constantFrom(Uint8Array.of(0xf0, 0x9f), Uint8Array.of(0x91, 0x8d), Uint8Array.of(0xe2, 0x82), Uint8Array.of(0xac), Uint8Array.of(0xef, 0xbb, 0xbf))), { maxLength: 20 })

describe('decoding bytes', () => {
  test('text is that of TextDecoder, and each byte belongs to one character', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        const { text, starts, ends } = decodeBytes(bytes)
        expect(text).toBe(decoder.decode(bytes))
        for (let i = 0; i < bytes.length; i += 1) {
          expect(ends[i] as number).toBeGreaterThan(starts[i] as number)
          if (i > 0) expect([starts[i - 1], ends[i - 1]]).toContain(starts[i])
        }
      }),
      { numRuns: 3000 },
    )
  })

  test.each([
    ['overlong', [0xc0, 0xaf], '\uFFFD\uFFFD'],
    ['overlong in three bytes', [0xe0, 0x80, 0xaf], '\uFFFD\uFFFD\uFFFD'],
    ['a surrogate', [0xed, 0xa0, 0x80], '\uFFFD\uFFFD\uFFFD'],
    ['above U+10FFFF', [0xf4, 0x90, 0x80, 0x80], '\uFFFD\uFFFD\uFFFD\uFFFD'],
    ['cut inside a character', [0xf0, 0x9f, 0x91], '\uFFFD'],
    ['cut, then a letter', [0xf0, 0x9f, 0x91, 0x41], '\uFFFDA'],
    ['a byte order mark is text', [0xef, 0xbb, 0xbf, 0x41], '\uFEFFA'],
  ])('%s', (_, bytes, text) => {
    expect(decodeBytes(Uint8Array.from(bytes)).text).toBe(text)
  })
})

describe('placing tokens', () => {
  test('a character spread over tokens is covered by each of them', () => {
    // U+1F44D (two UTF-16 units) is F0 9F 91 8D.
    const placed = placeTokens([Uint8Array.of(0x61, 0xf0), Uint8Array.of(0x9f, 0x91), Uint8Array.of(0x8d, 0x62), Uint8Array.of(), Uint8Array.of(0x63)])
    expect([placed.text, [...placed.starts], [...placed.ends]]).toEqual(['a\u{1F44D}bc', [0, 1, 1, 4, 4], [3, 3, 4, 4, 5]])
  })

  test('empty tokens stand where they stand, at the beginning, inside a character, and at the end', () => {
    const none = Uint8Array.of()
    const placed = placeTokens([none, Uint8Array.of(0xc3), none, Uint8Array.of(0xa9), none])
    expect([placed.text, [...placed.starts], [...placed.ends]]).toEqual(['é', [0, 0, 0, 0, 1], [0, 1, 0, 1, 1]])
    expect(placeTokens([])).toEqual({ text: '', starts: new Int32Array(0), ends: new Int32Array(0) })
  })

  test('any pieces: the text is that of all bytes, starts never decrease, every unit is covered, ranges are inside', () => {
    fc.assert(
      fc.property(pieces, (tokens) => {
        const { text, starts, ends } = placeTokens(tokens)
        expect(text).toBe(decoder.decode(concatenate(tokens)))
        const covered = new Uint8Array(text.length)
        let lastEnd = 0
        for (const [index, token] of tokens.entries()) {
          const [start, end] = [starts[index] as number, ends[index] as number]
          if (index > 0) expect(start).toBeGreaterThanOrEqual(starts[index - 1] as number)
          if (token.length === 0) expect(end).toBe(start)
          else {
            expect(end).toBeGreaterThan(start)
            expect(end).toBeGreaterThanOrEqual(lastEnd)
            lastEnd = end
          }
          expect(end).toBeLessThanOrEqual(text.length)
          covered.fill(1, start, end)
        }
        expect(covered.every((value) => value === 1)).toBe(true)
      }),
      { numRuns: 3000 },
    )
  })

  test('for well-formed text cut at characters the ranges are exactly the pieces', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary', maxLength: 6 }), { maxLength: 10 }), (texts) => {
        const { text, starts, ends } = placeTokens(texts.map((piece) => new TextEncoder().encode(piece)))
        expect(text).toBe(texts.join(''))
        for (const [index, piece] of texts.entries()) expect(text.slice(starts[index], ends[index])).toBe(piece)
      }),
    )
  })
})
