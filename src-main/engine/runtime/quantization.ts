// Frozen weights in fewer bits: blocks of 32 consecutive inputs of one output share a float32 scale, as onnxruntime's MatMulNBits reads
// them. Symmetric: code 2^(bits-1) means zero, and the element of largest magnitude takes code 0, so that a block's range is used whole.
import { bfloat16ToFloat32, float16ToFloat32 } from '../models/float-formats.ts'

export const quantizationBlock = 32

/** A matrix [out, in] in blocks along its rows: `packed` holds in * bits / 8 bytes a row, `scales` in / 32 numbers a row. */
export interface QuantizedBlocks {
  readonly bits: 4 | 8
  /** Two 4-bit codes share a byte, the earlier in the low half. */
  readonly packed: Uint8Array
  readonly scales: Float32Array
}

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
    const scale = (scales[block] = finite ? Math.fround(extreme / -zero) : NaN)
    for (let i = start; i < start + quantizationBlock; i++) {
      const code = Math.abs(scale) > 0 ? Math.min(Math.max(Math.floor((values[i] as number) / scale + zero + 0.5), 0), 2 * zero - 1) : zero
      if (bits === 8) packed[i] = code
      else packed[i >> 1] = i % 2 === 0 ? code : (packed[i >> 1] as number) | (code << 4)
    }
  }
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
