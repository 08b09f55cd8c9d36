// Values of packed tensors, to the last bit as ggml's reference computes them: every product and sum is rounded to float32.
// A block holds its half-precision scales and the quantised values; layouts are those of ggml-common.h.
import { bfloat16ToFloat32, float16ToFloat32 } from '../float-formats.ts'
import { READABLE_TYPES } from './format.ts'
import type { ReadableType } from './format.ts'

const { fround } = Math

/** Unpacks whole blocks: `bytes` holds `values.length / block` of them. */
export function dequantise(type: ReadableType, bytes: Uint8Array, values: Float32Array): void {
  const { block, bytes: blockBytes } = READABLE_TYPES[type]
  const blocks = values.length / block
  if (!Number.isInteger(blocks) || bytes.length !== blocks * blockBytes) throw new Error(`${bytes.length} bytes cannot be ${values.length} values of ${type}`)
  switch (type) {
    case 'F32':
      return new Uint8Array(values.buffer, values.byteOffset, values.byteLength).set(bytes)
    case 'F16':
      return float16ToFloat32(asHalves(bytes), values)
    case 'BF16':
      return bfloat16ToFloat32(asHalves(bytes), values)
    case 'Q8_0':
      return q8(bytes, scalesAt(bytes, blockBytes, 0), values)
    case 'Q4_0':
      return nibbles(bytes, { blockBytes, at: 2, high: null, zero: 8 }, scalesAt(bytes, blockBytes, 0), null, values)
    case 'Q4_1':
      return nibbles(bytes, { blockBytes, at: 4, high: null, zero: 0 }, scalesAt(bytes, blockBytes, 0), scalesAt(bytes, blockBytes, 2), values)
    case 'Q5_0':
      return nibbles(bytes, { blockBytes, at: 6, high: 2, zero: 16 }, scalesAt(bytes, blockBytes, 0), null, values)
    case 'Q5_1':
      return nibbles(bytes, { blockBytes, at: 8, high: 4, zero: 0 }, scalesAt(bytes, blockBytes, 0), scalesAt(bytes, blockBytes, 2), values)
    case 'Q4_K':
      return q45k(bytes, { blockBytes, at: 16, high: null }, values)
    case 'Q5_K':
      return q45k(bytes, { blockBytes, at: 48, high: 16 }, values)
    case 'Q6_K':
      return q6k(bytes, values)
  }
}

/** Bytes as 16-bit numbers; looked at in place where their address allows it. */
function asHalves(bytes: Uint8Array): Uint16Array {
  return bytes.byteOffset % 2 === 0 ? new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.length / 2) : halvesAt(bytes, 2, 0)
}

/** The 16-bit number at `offset` of every block. */
function halvesAt(bytes: Uint8Array, blockBytes: number, offset: number): Uint16Array {
  const halves = new Uint16Array(bytes.length / blockBytes)
  for (let i = 0, at = offset; i < halves.length; i += 1, at += blockBytes) halves[i] = (bytes[at] as number) | ((bytes[at + 1] as number) << 8)
  return halves
}

/** The float16 at `offset` of every block. */
function scalesAt(bytes: Uint8Array, blockBytes: number, offset: number): Float32Array {
  const scales = new Float32Array(bytes.length / blockBytes)
  float16ToFloat32(halvesAt(bytes, blockBytes, offset), scales)
  return scales
}

/** Q8_0: scale | 32 signed bytes. */
function q8(bytes: Uint8Array, scales: Float32Array, values: Float32Array): void {
  for (let block = 0; block < scales.length; block += 1) {
    const scale = scales[block] as number
    for (let i = 0; i < 32; i += 1) values[32 * block + i] = scale * (((bytes[34 * block + 2 + i] as number) << 24) >> 24)
  }
}

interface NibbleLayout {
  readonly blockBytes: number
  /** Offset of the 16 bytes: byte i holds values i (low half) and i + 16 (high half). */
  readonly at: number
  /** Offset of 32 bits, the fifth bit of each value; null for four-bit types. */
  readonly high: number | null
  /** Subtracted from each quantised value. */
  readonly zero: number
}

/** Q4_0, Q4_1, Q5_0, Q5_1: scale * (q - zero) + least. */
function nibbles(bytes: Uint8Array, { blockBytes, at, high, zero }: NibbleLayout, scales: Float32Array, least: Float32Array | null, values: Float32Array): void {
  for (let block = 0; block < scales.length; block += 1) {
    const start = block * blockBytes
    const scale = scales[block] as number
    const offset = least === null ? 0 : (least[block] as number)
    for (let i = 0; i < 32; i += 1) {
      const byte = bytes[start + at + (i & 15)] as number
      const fifth = high === null ? 0 : (((bytes[start + high + (i >> 3)] as number) >> (i & 7)) & 1) << 4
      const q = ((i < 16 ? byte & 15 : byte >> 4) | fifth) - zero
      values[32 * block + i] = least === null ? scale * q : fround(scale * q) + offset
    }
  }
}

interface SuperLayout {
  readonly blockBytes: number
  /** Offset of the 128 bytes of low halves: of every 32 bytes, low halves are one group of 32 values and high halves the next. */
  readonly at: number
  /** Offset of 32 bytes whose bit g is the fifth bit in group g; null for four bits. */
  readonly high: number | null
}

/** Q4_K, Q5_K: scale | scale of the least values | 8 six-bit pairs | ...: 8 groups of 32 values, scale_g * q - least_g. */
function q45k(bytes: Uint8Array, { blockBytes, at, high }: SuperLayout, values: Float32Array): void {
  const scales = scalesAt(bytes, blockBytes, 0)
  const leasts = scalesAt(bytes, blockBytes, 2)
  for (let block = 0; block < scales.length; block += 1) {
    const start = block * blockBytes
    for (let group = 0; group < 8; group += 1) {
      const scale = fround((scales[block] as number) * sixBits(bytes, start + 4, group))
      const least = fround((leasts[block] as number) * sixBits(bytes, start + 4, group + 8))
      for (let i = 0; i < 32; i += 1) {
        const byte = bytes[start + at + 32 * (group >> 1) + i] as number
        const fifth = high === null ? 0 : (((bytes[start + high + i] as number) >> group) & 1) << 4
        values[256 * block + 32 * group + i] = fround(scale * (((group & 1) === 0 ? byte & 15 : byte >> 4) | fifth)) - least
      }
    }
  }
}

/**
 * Entry 0-7 (scales) or 8-15 (least values) of a 12-byte table. Entries 0-3 and 8-11 are the low six bits of bytes 0-3 and 4-7, whose upper
 * two bits complete entries 4-7 and 12-15; their low four bits are the halves of bytes 8-11.
 */
function sixBits(bytes: Uint8Array, table: number, entry: number): number {
  const index = entry & 7
  const row = entry < 8 ? 0 : 4
  if (index < 4) return (bytes[table + row + index] as number) & 63
  const half = bytes[table + 4 + index] as number
  return (entry < 8 ? half & 15 : half >> 4) | (((bytes[table + row + index - 4] as number) >> 6) << 4)
}

/** Q6_K: 128 bytes low halves | 64 bytes upper two bits | 16 signed bytes, a scale for 16 values each | scale. */
function q6k(bytes: Uint8Array, values: Float32Array): void {
  const { bytes: blockBytes } = READABLE_TYPES.Q6_K
  const scales = scalesAt(bytes, blockBytes, 208)
  for (let block = 0; block < scales.length; block += 1) {
    const start = block * blockBytes
    for (let i = 0; i < 256; i += 1) {
      // Each half of 128 values: four runs of 32; runs 0 and 1 are low halves of 64 bytes, 2 and 3 their high halves.
      const [half, run, column] = [i >> 7, (i >> 5) & 3, i & 31]
      const byte = bytes[start + 64 * half + 32 * (run & 1) + column] as number
      const upper = ((bytes[start + 128 + 32 * half + column] as number) >> (2 * run)) & 3
      const scale = fround((scales[block] as number) * (((bytes[start + 192 + (i >> 4)] as number) << 24) >> 24))
      values[256 * block + i] = scale * (((run < 2 ? byte & 15 : byte >> 4) | (upper << 4)) - 32)
    }
  }
}
