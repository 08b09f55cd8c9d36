// Weights in fewer bits: native, reference and TypeScript forms agree bit by bit, and onnxruntime's own product reads the same numbers.
import { beforeAll, describe, expect, it } from 'vitest'
import { dequantize, kernelsOf, loadBinary, quantize, typescriptKernels, type Kernels } from '../../src-main/engine/runtime/kernels.ts'
import { quantizationBlock, type QuantizedBlocks } from '../../src-main/engine/runtime/quantization.ts'
import { createStream } from '../../src-main/engine/runtime/random.ts'

const stream = createStream(7, 'quantization test')
const normal = (count: number): Float32Array => Float32Array.from({ length: count }, () => (stream.uniform() + stream.uniform() + stream.uniform() - 1.5) * 0.1)
const empty = (count: number, bits: 4 | 8): QuantizedBlocks => ({ bits, packed: new Uint8Array((count * bits) / 8), scales: new Float32Array(count / quantizationBlock) })

describe('quantised blocks', () => {
  const forms = new Map<string, Kernels>([['TypeScript', typescriptKernels]])
  beforeAll(() => {
    const { binary, problem } = loadBinary()
    if (binary === undefined) throw new Error(`the native kernels are needed here: ${problem}`)
    forms.set('native', kernelsOf(binary)).set('reference', kernelsOf(binary, true))
  })

  it.each([4, 8] as const)('%i bits: every form gives the same codes, scales and values', (bits) => {
    const values = Float32Array.of(...normal(96 * 32), ...new Float32Array(32), ...normal(32).map((value) => value * 1e-30), ...normal(32).map((value) => Math.abs(value) * 1e30))
    const results = [...forms.values()].map((kernels) => {
      const blocks = empty(values.length, bits)
      const back = new Float32Array(values.length)
      kernels.quantize(values, blocks)
      kernels.dequantize(blocks, back)
      return { ...blocks, back }
    })
    expect(results).toHaveLength(3)
    for (const result of results) expect(result).toEqual(results[0])
  })

  it.each([[4, 1 / 8], [8, 1 / 128]] as const)('%i bits: no value is further from its original than a step; with 8 bits the largest of a block keeps its value', (bits, step) => {
    const values = normal(64 * 32)
    const blocks = quantize(values, bits)
    const back = new Float32Array(values.length)
    dequantize(blocks, back)
    for (let block = 0; block < 64; block++) {
      const own = values.subarray(block * 32, (block + 1) * 32)
      const largest = own.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
      own.forEach((value, i) => expect(Math.abs(value - (back[block * 32 + i] as number))).toBeLessThanOrEqual(largest * step * (1 + 1e-6)))
      const at = own.findIndex((value) => Math.abs(value) === largest)
      if (bits === 8) expect(back[block * 32 + at]).toBe(own[at])
    }
  })

  it('4 bits: the scale leaves less squared error than the one that uses the whole range, on all blocks together by a twentieth at least', () => {
    const values = normal(256 * 32)
    const back = new Float32Array(values.length)
    const error = (): number => values.reduce((sum, value, i) => sum + (value - (back[i] as number)) ** 2, 0)
    dequantize(quantize(values, 4), back)
    const found = error()
    for (let block = 0; block < 256; block++) {
      const own = values.subarray(block * 32, (block + 1) * 32)
      const extreme = own.reduce((most, value) => (Math.abs(value) > Math.abs(most) ? value : most), 0)
      const scale = extreme / -8
      own.forEach((value, i) => (back[block * 32 + i] = (Math.min(Math.max(Math.round(value / scale + 8), 0), 15) - 8) * scale))
    }
    expect(found).toBeLessThan(0.95 * error())
  })

  it('golden codes: -8..7 eighths keep their values, the earlier code in the low half of a byte', () => {
    const values = Float32Array.from({ length: 32 }, (_, i) => ((i % 16) - 8) / 8)
    const { packed, scales } = quantize(values, 4)
    expect(scales).toEqual(Float32Array.of(0.125))
    expect([...packed.subarray(0, 3)]).toEqual([0x10, 0x32, 0x54])
  })

  it('refuses a number that is not finite, and a length that is no multiple of a block', () => {
    const values = normal(64)
    values[40] = NaN
    expect(() => quantize(values, 4)).toThrow('values 32 to 63 is not finite')
    expect(() => quantize(normal(33), 8)).toThrow('33 values do not divide')
  })

  it.each(['float16', 'bfloat16'] as const)('%s: all 65,536 patterns widen alike', (format) => {
    const bits = Uint16Array.from({ length: 65_536 }, (_, i) => i)
    const widened = [...forms.values()].map((kernels) => {
      const values = new Float32Array(bits.length)
      kernels.widen(bits, format, values)
      // NaN payloads may differ between processors; that they are NaN may not.
      return values.map((value) => (Number.isNaN(value) ? NaN : value))
    })
    for (const values of widened) expect(Buffer.from(values.buffer).equals(Buffer.from(widened[0]!.buffer))).toBe(true)
  })
})
