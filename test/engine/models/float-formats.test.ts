import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bfloat16ToFloat32, float16ToFloat32, float32ToBfloat16, float32ToFloat16 } from '../../../src-main/engine/models/float-formats.ts'

const ALL_HALVES = Uint16Array.from({ length: 65_536 }, (_, bits) => bits)

function widen(convert: (source: Uint16Array, target: Float32Array) => void, bits: ArrayLike<number>): Float32Array {
  const target = new Float32Array(bits.length)
  convert(Uint16Array.from(bits), target)
  return target
}

function narrow(convert: (source: Float32Array, target: Uint16Array) => void, values: ArrayLike<number>): number[] {
  const target = new Uint16Array(values.length)
  convert(Float32Array.from(values), target)
  return [...target]
}

/** The float16 value of a bit pattern by its definition (IEEE 754 binary16), in double arithmetic. */
function float16ByDefinition(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1
  const exponent = (bits >> 10) & 31
  const mantissa = bits & 1023
  if (exponent === 31) return mantissa === 0 ? sign * Infinity : NaN
  return exponent === 0 ? sign * mantissa * 2 ** -24 : sign * (1 + mantissa / 1024) * 2 ** (exponent - 15)
}

/** Nearest half among the two neighbours, ties to the even one: the definition, by search over all finite patterns. */
function nearestHalf(value: number, halves: Float64Array): number {
  let low = 0
  let high = 0x7c00
  const magnitude = Math.abs(value)
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if ((halves[middle] as number) <= magnitude) low = middle
    else high = middle
  }
  const below = magnitude - (halves[low] as number)
  const above = (high === 0x7c00 ? 65536 : (halves[high] as number)) - magnitude
  const chosen = below < above ? low : above < below ? high : low % 2 === 0 ? low : high
  return chosen | (Object.is(Math.sign(value), -1) || Object.is(value, -0) ? 0x8000 : 0)
}

describe('float16', () => {
  test('every one of the 65,536 patterns widens to its defined value', () => {
    const values = widen(float16ToFloat32, ALL_HALVES)
    for (const bits of ALL_HALVES) expect(Object.is(values[bits], float16ByDefinition(bits))).toBe(true)
  })

  test('every pattern but NaN comes back unchanged, and NaN stays NaN', () => {
    const back = narrow(float32ToFloat16, widen(float16ToFloat32, ALL_HALVES))
    for (const bits of ALL_HALVES) {
      if ((bits & 0x7fff) > 0x7c00) expect((back[bits] as number) & 0x7fff).toBeGreaterThan(0x7c00)
      else expect(back[bits]).toBe(bits)
    }
  })

  test('narrowing rounds to nearest, ties to even, for any float32', () => {
    const halves = Float64Array.from({ length: 0x7c00 }, (_, bits) => float16ByDefinition(bits))
    fc.assert(
      fc.property(fc.float({ noNaN: true, min: -65519, max: 65519 }), (value) => {
        expect(narrow(float32ToFloat16, [value])[0]).toBe(nearestHalf(value, halves))
      }),
      { numRuns: 5000 },
    )
  })

  test('the edges: overflow at 65520, the tie below the smallest subnormal, signed zeros and infinities', () => {
    // 65519.996 is the last float32 below the tie at 65520, which rounds to even, that is to infinity; 2^-25 ties to zero.
    expect(narrow(float32ToFloat16, [65519.996, 65520, 1e9, -Infinity, 2 ** -25, 2 ** -25 * 1.0000001, -0, 0])).toEqual([0x7bff, 0x7c00, 0x7c00, 0xfc00, 0, 1, 0x8000, 0])
    // 2047.5 * 2^-25: a subnormal that rounds up into the smallest normal.
    expect(narrow(float32ToFloat16, [1023.5 * 2 ** -24, 1022.5 * 2 ** -24])).toEqual([0x0400, 0x03fe])
  })
})

describe('bfloat16', () => {
  test('a pattern is the upper half of the float32', () => {
    const bits = new Uint32Array(widen(bfloat16ToFloat32, ALL_HALVES).buffer)
    for (const half of ALL_HALVES) expect(bits[half]).toBe((half << 16) >>> 0)
  })

  test('every pattern but NaN comes back unchanged, and NaN stays NaN', () => {
    const back = narrow(float32ToBfloat16, widen(bfloat16ToFloat32, ALL_HALVES))
    for (const bits of ALL_HALVES) {
      if ((bits & 0x7fff) > 0x7f80) expect((back[bits] as number) & 0x7fff).toBeGreaterThan(0x7f80)
      else expect(back[bits]).toBe(bits)
    }
  })

  test('narrowing is exact to half a unit and ties to even', () => {
    // 1 + 2^-8 lies midway between 1 (0x3f80) and 1 + 2^-7 (0x3f81); 1 + 3 * 2^-8 midway between 0x3f81 and 0x3f82.
    expect(narrow(float32ToBfloat16, [1 + 2 ** -8, 1 + 3 * 2 ** -8, 1 + 2 ** -8 + 2 ** -23, 3.4e38, -Infinity, -0])).toEqual([0x3f80, 0x3f82, 0x3f81, 0x7f80, 0xff80, 0x8000])
    fc.assert(
      fc.property(fc.float({ noNaN: true, noDefaultInfinity: true, min: -(2 ** 127), max: 2 ** 127 }), (value) => {
        const bits = narrow(float32ToBfloat16, [value])[0] as number
        const [below, here, above] = widen(bfloat16ToFloat32, [bits - 1, bits, bits + 1]) as unknown as [number, number, number]
        const error = Math.abs(here - value)
        if ((bits & 0x7fff) > 0) expect(error).toBeLessThanOrEqual(Math.abs(below - value))
        expect(error).toBeLessThanOrEqual(Math.abs(above - value))
        if (error > 0 && error === Math.abs(above - value)) expect(bits % 2).toBe(0)
      }),
      { numRuns: 2000 },
    )
  })
})

test('arrays of different lengths are a broken invariant', () => {
  expect(() => bfloat16ToFloat32(new Uint16Array(3), new Float32Array(2))).toThrow('conversion between 2 and 3 elements')
})
