// Exact conversions between float32 and the two half formats weights are stored in. Both directions keep
// subnormals, infinities, signed zeros and NaN; narrowing rounds to nearest, ties to even, as hardware does.

/** Widens bfloat16 bit patterns: `target[i] = float32(source[i])`. Lengths must be equal. */
export function bfloat16ToFloat32(source: Uint16Array, target: Float32Array): void {
  const bits = bitsOf(target, source.length)
  for (let i = 0; i < source.length; i += 1) bits[i] = (source[i] as number) << 16
}

/** Widens float16 bit patterns: `target[i] = float32(source[i])`. Lengths must be equal. */
export function float16ToFloat32(source: Uint16Array, target: Float32Array): void {
  const bits = bitsOf(target, source.length)
  const table = (float16Table ??= makeFloat16Table())
  for (let i = 0; i < source.length; i += 1) bits[i] = table[source[i] as number] as number
}

/** Rounds to bfloat16 bit patterns. A NaN stays a (quiet) NaN; values above the largest become infinity. */
export function float32ToBfloat16(source: Float32Array, target: Uint16Array): void {
  const bits = bitsOf(source, target.length)
  for (let i = 0; i < bits.length; i += 1) {
    const value = bits[i] as number
    const isNan = (value & 0x7fff_ffff) > 0x7f80_0000
    target[i] = isNan ? (value >>> 16) | 0x40 : (value + 0x7fff + ((value >>> 16) & 1)) >>> 16
  }
}

/** Rounds to float16 bit patterns. A NaN stays a (quiet) NaN; 65520 and above become infinity. */
export function float32ToFloat16(source: Float32Array, target: Uint16Array): void {
  const bits = bitsOf(source, target.length)
  for (let i = 0; i < bits.length; i += 1) target[i] = narrowToFloat16(bits[i] as number)
}

let float16Table: Uint32Array | undefined

/** All 65,536 float16 patterns as float32 bit patterns: a look-up beats bit arithmetic on every element. */
function makeFloat16Table(): Uint32Array {
  const table = new Uint32Array(65_536)
  for (let half = 0; half < 65_536; half += 1) {
    const sign = (half & 0x8000) << 16
    const exponent = (half >>> 10) & 0x1f
    const mantissa = half & 0x3ff
    if (exponent === 0x1f) table[half] = sign | 0x7f80_0000 | (mantissa << 13)
    else if (exponent !== 0) table[half] = sign | ((exponent + 112) << 23) | (mantissa << 13)
    else if (mantissa === 0) table[half] = sign
    else {
      // Subnormal: mantissa * 2^-24 is a normal float32; bring the leading one to the hidden place.
      const shift = Math.clz32(mantissa) - 21
      table[half] = sign | ((113 - shift) << 23) | (((mantissa << shift) & 0x3ff) << 13)
    }
  }
  return table
}

function narrowToFloat16(bits: number): number {
  const sign = (bits >>> 16) & 0x8000
  const magnitude = bits & 0x7fff_ffff
  if (magnitude > 0x7f80_0000) return sign | 0x7e00 | ((magnitude >>> 13) & 0x3ff)
  if (magnitude >= 0x477f_f000) return sign | 0x7c00
  if (magnitude >= 0x3880_0000) return sign | ((magnitude - 0x3800_0000 + 0xfff + ((magnitude >>> 13) & 1)) >>> 13)
  if (magnitude < 0x3300_0000) return sign
  // Subnormal result: the significand in units of 2^-24, rounded to nearest even.
  const shift = 126 - (magnitude >>> 23)
  const significand = (magnitude & 0x7f_ffff) | 0x80_0000
  return sign | ((significand + (1 << (shift - 1)) - 1 + ((significand >>> shift) & 1)) >>> shift)
}

function bitsOf(values: Float32Array, length: number): Uint32Array {
  if (values.length !== length) throw new Error(`conversion between ${values.length} and ${length} elements`)
  return new Uint32Array(values.buffer, values.byteOffset, values.length)
}
