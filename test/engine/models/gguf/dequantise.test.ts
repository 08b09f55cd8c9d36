import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { dequantise } from '../../../../src-main/engine/models/gguf/dequantise.ts'
import { READABLE_TYPES } from '../../../../src-main/engine/models/gguf/format.ts'
import type { ReadableType } from '../../../../src-main/engine/models/gguf/format.ts'
import { quantise } from '../../../../src-main/engine/models/gguf/quantise.ts'
import { fixture } from '../fixtures.ts'

interface Blocks {
  readonly bytes: string
  readonly values: string
}
// Made with the Python package gguf; test/parity/gguf-blocks.py tells how.
const golden = JSON.parse(readFileSync(fixture('gguf', 'blocks.json'), 'utf8')) as { read: Record<string, Blocks>; written: { Q8_0: Blocks } }

const bytesOf = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, 'base64'))
const valuesOf = (text: string): Float32Array => new Float32Array(bytesOf(text).buffer)
const bits = (values: Float32Array): number[] => [...new Uint32Array(values.buffer, values.byteOffset, values.length)]

describe('values of packed blocks', () => {
  it('are compared for every type that is read but float32', () => {
    expect(Object.keys(golden.read).toSorted()).toEqual(Object.keys(READABLE_TYPES).filter((type) => type !== 'F32').toSorted())
  })

  it.each(Object.keys(golden.read))('%s: equal to the reference to the last bit', (name) => {
    const { bytes, values } = golden.read[name] as Blocks
    const expected = valuesOf(values)
    const found = new Float32Array(expected.length)
    dequantise(name as ReadableType, bytesOf(bytes), found)
    // -0 and 0 are the same weight; numpy and this code may differ in the sign of a product with zero.
    expect(bits(found.map((value) => value + 0))).toEqual(bits(expected.map((value) => value + 0)))
  })

  it('F32: the bytes themselves', () => {
    const expected = Float32Array.of(1.5, -0, 3e-39)
    const found = new Float32Array(3)
    dequantise('F32', new Uint8Array(expected.buffer), found)
    expect(bits(found)).toEqual(bits(expected))
  })

  it('no half block is read', () => {
    expect(() => dequantise('Q8_0', new Uint8Array(33), new Float32Array(32))).toThrow('33 bytes cannot be 32 values of Q8_0')
  })
})

describe('packing', () => {
  it('Q8_0: the bytes of the reference', () => {
    const { bytes, values } = golden.written.Q8_0
    expect(Buffer.from(quantise('Q8_0', valuesOf(values))).toString('base64')).toBe(bytes)
  })

  it.each(['F32', 'F16', 'BF16', 'Q8_0'] as const)('%s: reading gives the values back within the rounding of the type', (type) => {
    const values = Float32Array.from({ length: 64 }, (_, index) => Math.sin(index * 7) * 3)
    const back = new Float32Array(64)
    dequantise(type, quantise(type, values), back)
    const step = { F32: 0, F16: 2 ** -11, BF16: 2 ** -8, Q8_0: 0.5 / 127 + 2 ** -11 }[type]
    for (const [index, value] of values.entries()) expect(Math.abs(value - (back[index] as number))).toBeLessThanOrEqual(3 * step)
  })
})
