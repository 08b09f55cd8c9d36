// Frozen weights in fewer bits: blocks of 32 consecutive inputs of one output share a float32 scale, as onnxruntime's MatMulNBits reads
// them. Symmetric: code 2^(bits-1) means zero. With 8 bits the element of largest magnitude takes code 0, so that a block's range is used
// whole; with 4 bits the scale is the one of several that leaves the smallest squared error.
import { bfloat16ToFloat32, float16ToFloat32 } from '../models/float-formats.ts'

export const quantizationBlock = 32

/** A matrix [out, in] in blocks along its rows: `packed` holds in * bits / 8 bytes a row, `scales` in / 32 numbers a row. */
export interface QuantizedBlocks {
  readonly bits: 4 | 8
  /** Two 4-bit codes share a byte, the earlier in the low half. */
  readonly packed: Uint8Array
  readonly scales: Float32Array
}

/** Codes, counted from zero, that the element of largest magnitude is tried at with 4 bits: beyond -8 and 7 it is clipped, which pays where it stands alone. */
const extremeCodes = [-8, -8.8, -8.4, -7.6, -7.2, -6.8, -6.4, -6, 7.6, 7.2, 6.8, 6.4, 6, 5.6] as const

export type HalfFormat = 'float16' | 'bfloat16'

/** Fills `result` from `values`; a block with a number that is not finite gets the scale NaN. The TypeScript form of native-kernels/quantization.cpp. */
export function quantizeTypeScript(values: Float32Array, { bits, packed, scales }: QuantizedBlocks): void {
  const zero = 2 ** (bits - 1)
  for (let block = 0; block < scales.length; block++) {
    const start = block * quantizationBlock
    let extreme = 0
    let finite = true
    for (let i = start; i < start + quantizationBlock; i++) {
      const value = values[i] as number
      finite &&= Number.isFinite(value)
      if (Math.abs(value) > Math.abs(extreme)) extreme = value
    }
    let scale = finite ? Math.fround(extreme / -zero) : NaN
    if (bits === 4 && Math.abs(scale) > 0) scale = bestScale(values, start, extreme)
    scales[block] = scale
    for (let i = start; i < start + quantizationBlock; i++) {
      const code = codeOf(values[i] as number, scale, zero)
      if (bits === 8) packed[i] = code
      else packed[i >> 1] = i % 2 === 0 ? code : (packed[i >> 1] as number) | (code << 4)
    }
  }
}

function codeOf(value: number, scale: number, zero: number): number {
  return Math.abs(scale) > 0 ? Math.min(Math.max(Math.floor(value / scale + zero + 0.5), 0), 2 * zero - 1) : zero
}

/** The scale of a block of 4-bit codes with the smallest squared error, the first of equal ones. Four sums, so that every form adds in the same order. */
function bestScale(values: Float32Array, start: number, extreme: number): number {
  let best = Infinity
  let chosen = 0
  for (const code of extremeCodes) {
    const scale = Math.fround(extreme / code)
    const sums = [0, 0, 0, 0]
    for (let i = 0; i < quantizationBlock; i++) {
      const value = values[start + i] as number
      const off = value - (codeOf(value, scale, 8) - 8) * scale
      sums[i % 4] = (sums[i % 4] as number) + off * off
    }
    const error = (sums[0] as number) + (sums[1] as number) + ((sums[2] as number) + (sums[3] as number))
    if (error < best) {
      best = error
      chosen = scale
    }
  }
  return chosen
}

/** value = (code - 2^(bits-1)) * scale, rounded to float32 once. */
export function dequantizeTypeScript({ bits, packed, scales }: QuantizedBlocks, values: Float32Array): void {
  const zero = 2 ** (bits - 1)
  for (let i = 0; i < values.length; i++) {
    const code = bits === 8 ? (packed[i] as number) : ((packed[i >> 1] as number) >> (i % 2 === 0 ? 0 : 4)) & 15
    values[i] = (code - zero) * (scales[i >> 5] as number)
  }
}

/** See models/float-formats.ts. */
export function widenTypeScript(bits: Uint16Array, format: HalfFormat, values: Float32Array): void {
  if (format === 'bfloat16') bfloat16ToFloat32(bits, values)
  else float16ToFloat32(bits, values)
}
