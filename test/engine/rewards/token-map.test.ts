import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { TokenOffsets } from '../../../src-main/contract/rewards.ts'
import { lineOf, lineStarts, mapSpansToTokens, phi, widen, type PenaltySpan } from '../../../src-main/engine/rewards/token-map.ts'

const options = { windowLines: 3, divideByFlaggedLines: true }

/** Offsets that cut the text after every position given. */
function cut(text: string, cuts: readonly number[]): TokenOffsets {
  const points = [...new Set([0, ...cuts.map((at) => Math.min(at, text.length)), text.length])].sort((a, b) => a - b)
  return { text, starts: Int32Array.from(points.slice(0, -1)), ends: Int32Array.from(points.slice(1)) }
}

/** One token a line, its line end included. */
const byLine = (text: string): TokenOffsets => cut(text, [...lineStarts(text)])

const lines = (count: number): string => Array.from({ length: count }, (_, index) => `line ${index}`).join('\n')
const flag = (text: string, line: number, value = -1): PenaltySpan => {
  const start = lineStarts(text)[line]!
  return { start, end: start + 4, value }
}

describe('phi', () => {
  // phi(d) = max(0, 1 - d / (w + 1)), w = 3: 1, 3/4, 1/2, 1/4, 0.
  test('falls linearly to nothing one line beyond the window', () => {
    expect([0, 1, 2, 3, 4, 9].map((distance) => phi(distance, 3))).toEqual([1, 0.75, 0.5, 0.25, 0, 0])
  })
  test('a window of no lines reaches only the line itself', () => {
    expect([phi(0, 0), phi(1, 0)]).toEqual([1, 0])
  })
})

describe('mapSpansToTokens', () => {
  test('one flagged line reaches three lines up and down', () => {
    const text = lines(9)
    expect([...mapSpansToTokens([flag(text, 4)], byLine(text), options)]).toEqual([0, -0.25, -0.5, -0.75, -1, -0.75, -0.5, -0.25, 0])
  })

  // Specification: ten adjacent flagged lines give S = -4.0 in the middle, -0.4 divided by the number of flagged lines.
  // Middle line: 1 + 2 * (3/4 + 1/2 + 1/4) = 4.
  test('ten adjacent flagged lines add up to -4.0, or -0.4 when divided by their number', () => {
    const text = lines(10)
    const spans = Array.from({ length: 10 }, (_, line) => flag(text, line))
    const middle = (divide: boolean): number => mapSpansToTokens(spans, byLine(text), { windowLines: 3, divideByFlaggedLines: divide })[5]!
    expect(middle(false)).toBeCloseTo(-4, 12)
    expect(middle(true)).toBeCloseTo(-0.4, 12)
  })

  test('penalties on one line add and count as one flagged line', () => {
    const text = lines(3)
    expect(mapSpansToTokens([flag(text, 1, -0.1), flag(text, 1, -0.02)], byLine(text), options)[1]).toBeCloseTo(-0.12, 12)
  })

  test('a token over several lines takes the largest share it overlaps', () => {
    const text = lines(9)
    const starts = lineStarts(text)
    const whole = cut(text, [starts[2]!, starts[5]!])
    // Tokens: lines 0-1, 2-4, 5-8; line 5 is flagged. Distances 4, 1, 0.
    expect([...mapSpansToTokens([flag(text, 5)], whole, options)]).toEqual([0, -0.75, -1])
  })

  test('a line end belongs to the line it ends', () => {
    const text = 'a\nb\nc'
    const offsets = cut(text, [1, 2, 3, 4])
    // a | \n | b | \n | c, with line 2 (c) flagged and no window.
    const signal = mapSpansToTokens([flag(text, 2)], offsets, { windowLines: 0, divideByFlaggedLines: true })
    expect(Array.from(signal, (value) => value === -1)).toEqual([false, false, false, false, true])
  })

  test('a finding at the end of the text lands on the last line, and on the end-of-sequence token', () => {
    const text = 'a\nb'
    const offsets = { text, starts: Int32Array.from([0, 2, 3]), ends: Int32Array.from([2, 3, 3]) }
    expect([...mapSpansToTokens([{ start: 3, end: 3, value: -1 }], offsets, { windowLines: 0, divideByFlaggedLines: true })]).toEqual([0, -1, -1])
  })

  test('spans of value 0 inform without flagging a line', () => {
    const text = lines(3)
    expect(mapSpansToTokens([flag(text, 0), flag(text, 2, 0)], byLine(text), options)[0]).toBe(-1)
  })

  test('refuses a value that is not finite', () => {
    expect(() => mapSpansToTokens([{ start: 0, end: 1, value: NaN }], cut('ab', [1]), options)).toThrow(/NaN/)
  })

  test('an empty text without tokens has an empty signal', () => {
    expect(mapSpansToTokens([{ start: 0, end: 0, value: -1 }], { text: '', starts: new Int32Array(), ends: new Int32Array() }, options).length).toBe(0)
  })
})

describe('mapSpansToTokens on arbitrary texts', () => {
  const text = fc.string({ unit: fc.constantFrom('a', '\n', '\r', 'é', '😀', ' '), maxLength: 60 })
  const cuts = fc.array(fc.nat(60), { maxLength: 20 })
  const spans = fc.array(fc.record({ start: fc.nat(70), end: fc.nat(70), value: fc.double({ min: -2, max: 0, noNaN: true }) }), { maxLength: 8 })

  test('equals the formula written out token by token and line by line', () => {
    fc.assert(
      fc.property(text, cuts, spans, fc.nat(5), fc.boolean(), (source, at, flagged, windowLines, divide) => {
        const offsets = cut(source, at)
        const got = mapSpansToTokens(flagged, offsets, { windowLines, divideByFlaggedLines: divide })
        const want = naive(flagged, offsets, windowLines, divide)
        expect(got.length).toBe(want.length)
        for (const [token, value] of want.entries()) expect(got[token]).toBeCloseTo(value, 10)
      }),
    )
  })

  test('does not depend on the order of the spans, bit by bit', () => {
    fc.assert(
      fc.property(text, cuts, spans, (source, at, flagged) => {
        const offsets = cut(source, at)
        expect(mapSpansToTokens([...flagged].reverse(), offsets, options)).toEqual(mapSpansToTokens(flagged, offsets, options))
      }),
    )
  })

  test('divided by the flagged lines, penalties within -1 never exceed what one line could do', () => {
    fc.assert(
      fc.property(text, cuts, fc.array(fc.record({ start: fc.nat(70), end: fc.nat(70) }), { maxLength: 8 }), (source, at, places) => {
        const starts = lineStarts(source)
        const seen = new Set<number>()
        const once = places.map((place) => ({ ...place, value: -1 })).filter((span) => {
          const line = lineOf(starts, widen(span, source.length).start)
          return !seen.has(line) && seen.add(line)
        })
        for (const value of mapSpansToTokens(once, cut(source, at), options)) {
          expect(value).toBeLessThanOrEqual(0)
          expect(value).toBeGreaterThanOrEqual(-1)
        }
      }),
    )
  })

  test('a flagged span always lies on at least one token', () => {
    fc.assert(
      fc.property(text, cuts, fc.nat(70), (source, at, start) => {
        fc.pre(source.length > 0)
        const signal = mapSpansToTokens([{ start, end: start, value: -1 }], cut(source, at), options)
        expect(Math.min(...signal)).toBe(-1)
      }),
    )
  })
})

/** The definition, without any shortcut. */
function naive(spans: readonly PenaltySpan[], { text, starts, ends }: TokenOffsets, windowLines: number, divide: boolean): number[] {
  // Replaced before slicing: a position between \r and \n is still on the line they end.
  const flat = text.replaceAll('\r\n', ' \n')
  const lineNumber = (position: number): number => flat.slice(0, position).split(/\n|\r/).length - 1
  const penalties = new Map<number, number>()
  for (const span of spans) {
    if (span.value === 0) continue
    const line = lineNumber(widen(span, text.length).start)
    penalties.set(line, (penalties.get(line) ?? 0) + span.value)
  }
  return Array.from(starts, (start, token) => {
    const overlapped = new Set<number>([lineNumber(start)])
    for (let position = start; position < ends[token]!; position++) overlapped.add(lineNumber(position))
    let sum = 0
    for (const [line, penalty] of penalties) sum += penalty * Math.max(...[...overlapped].map((own) => phi(Math.abs(own - line), windowLines)))
    return divide && penalties.size > 0 ? sum / penalties.size : sum
  })
}

describe('lineStarts and lineOf', () => {
  test('all three kinds of line ends count once', () => {
    expect([...lineStarts('a\r\nb\rc\nd')]).toEqual([0, 3, 5, 7])
  })
  test('positions map to the line that holds them', () => {
    const starts = lineStarts('ab\ncd\n')
    expect([0, 2, 3, 5, 6, 99].map((position) => lineOf(starts, position))).toEqual([0, 0, 1, 1, 2, 2])
  })
})

describe('widen', () => {
  test('an empty span becomes one character, at the end the one before', () => {
    expect(widen({ start: 2, end: 2, value: -1 }, 5)).toEqual({ start: 2, end: 3, value: -1 })
    expect(widen({ start: 5, end: 5, value: -1 }, 5)).toEqual({ start: 4, end: 5, value: -1 })
  })
  test('a span outside the text is brought inside', () => {
    expect(widen({ start: -3, end: 99, value: -1 }, 5)).toEqual({ start: 0, end: 5, value: -1 })
  })
})
