// Float32 values packed as GGUF tensors hold them, to the last bit as ggml's reference does it.
import { float32ToBfloat16, float32ToFloat16 } from '../float-formats.ts'

/** Types tensors are written in. */
export type WritableType = 'F32' | 'F16' | 'BF16' | 'Q8_0'

const { fround } = Math
const BLOCK = 32

/** Packs values; for Q8_0 their number is a multiple of 32. Narrowing rounds to nearest, ties to even; quantised values away from zero. */
export function quantise(type: WritableType, values: Float32Array): Uint8Array {
  switch (type) {
    case 'F32':
      return new Uint8Array(values.buffer, values.byteOffset, values.byteLength)
    case 'F16':
    case 'BF16': {
      const halves = new Uint16Array(values.length)
      if (type === 'F16') float32ToFloat16(values, halves)
      else float32ToBfloat16(values, halves)
      return new Uint8Array(halves.buffer)
    }
    case 'Q8_0':
      return q8(values)
  }
}

/** Q8_0: 32 values share a scale, largest magnitude / 127, stored as float16; each is a signed byte. */
function q8(values: Float32Array): Uint8Array {
  if (values.length % BLOCK !== 0) throw new Error(`${values.length} values are no whole blocks of ${BLOCK}`)
  const blocks = values.length / BLOCK
  const scales = new Float32Array(blocks)
  const bytes = new Uint8Array(blocks * (BLOCK + 2))
  for (let block = 0; block < blocks; block += 1) {
    let largest = 0
    for (let i = 0; i < BLOCK; i += 1) largest = Math.max(largest, Math.abs(values[BLOCK * block + i] as number))
    const scale = fround(largest / 127)
    const inverse = scale === 0 ? 0 : fround(1 / scale)
    scales[block] = scale
    for (let i = 0; i < BLOCK; i += 1) {
      const scaled = fround((values[BLOCK * block + i] as number) * inverse)
      bytes[(BLOCK + 2) * block + 2 + i] = scaled < 0 ? -Math.floor(0.5 - scaled) : Math.floor(scaled + 0.5)
    }
  }
  const halves = new Uint16Array(blocks)
  float32ToFloat16(scales, halves)
  halves.forEach((half, block) => {
    bytes[(BLOCK + 2) * block] = half & 0xff
    bytes[(BLOCK + 2) * block + 1] = half >> 8
  })
  return bytes
}
