// Screenshots as pictures of at most 256 colours: a user interface has few, and the file shrinks to a third. Plain PNG (ISO/IEC 15948).
import { deflateSync, inflateSync } from 'node:zlib'

interface Pixels {
  readonly width: number
  readonly height: number
  /** Red, green, blue a pixel. */
  readonly data: Uint8Array
}

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

/** Distance of c from the prediction, as the filter of type 4 has it. */
function paeth(a: number, b: number, c: number): number {
  const p = a + b - c
  const [da, db, dc] = [Math.abs(p - a), Math.abs(p - b), Math.abs(p - c)]
  return da <= db && da <= dc ? a : db <= dc ? b : c
}

/** Undoes the filters of the rows. `bytes` is the number of bytes a pixel. */
function unfilter(raw: Uint8Array, width: number, height: number, bytes: number): Uint8Array {
  const stride = width * bytes
  const out = new Uint8Array(stride * height)
  for (let y = 0; y < height; y += 1) {
    const filter = raw[y * (stride + 1)] ?? 0
    for (let x = 0; x < stride; x += 1) {
      const at = y * stride + x
      const left = x < bytes ? 0 : (out[at - bytes] ?? 0)
      const up = y === 0 ? 0 : (out[at - stride] ?? 0)
      const corner = x < bytes || y === 0 ? 0 : (out[at - stride - bytes] ?? 0)
      const predicted = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter] ?? 0
      out[at] = (raw[y * (stride + 1) + 1 + x] ?? 0) + predicted
    }
  }
  return out
}

/** Reads what browsers write: 8 bits a channel, RGB or RGBA (which is taken for opaque), not interlaced. */
function readPng(png: Buffer): Pixels {
  const parts: Buffer[] = []
  let [width, height, colour] = [0, 0, 0]
  for (let at = signature.length; at < png.length; ) {
    const length = png.readUInt32BE(at)
    const type = png.toString('latin1', at + 4, at + 8)
    const body = png.subarray(at + 8, at + 8 + length)
    if (type === 'IHDR') {
      width = body.readUInt32BE(0)
      height = body.readUInt32BE(4)
      colour = body[9] ?? 0
      if (body[8] !== 8 || (colour !== 2 && colour !== 6) || body[12] !== 0) throw new Error(`a PNG of ${body[8]} bits, colour type ${colour}`)
    } else if (type === 'IDAT') parts.push(body)
    at += length + 12
  }
  const bytes = colour === 6 ? 4 : 3
  const pixels = unfilter(inflateSync(Buffer.concat(parts)), width, height, bytes)
  if (bytes === 3) return { width, height, data: pixels }
  return { width, height, data: pixels.filter((_, at) => at % 4 !== 3) }
}

/** The most frequent colours, those that differ by little taken for one; and the nearest of them to any colour. */
function paletteOf({ data }: Pixels): { colours: number[]; indexOf: (colour: number) => number } {
  const counts = new Map<number, number>()
  for (let at = 0; at < data.length; at += 3) {
    const colour = ((data[at] ?? 0) << 16) | ((data[at + 1] ?? 0) << 8) | (data[at + 2] ?? 0)
    counts.set(colour, (counts.get(colour) ?? 0) + 1)
  }
  const distance = (a: number, b: number): number => Math.abs((a >> 16) - (b >> 16)) + Math.abs(((a >> 8) & 255) - ((b >> 8) & 255)) + Math.abs((a & 255) - (b & 255))
  const ordered = [...counts].toSorted((a, b) => b[1] - a[1]).map(([colour]) => colour)
  let colours = ordered
  // The closer two colours may be, the more are left: the smallest distance that leaves 256.
  for (let apart = 2; colours.length > 256; apart += 2) {
    colours = []
    for (const colour of ordered) {
      if (colours.length > 256) break
      if (colours.every((other) => distance(other, colour) >= apart)) colours.push(colour)
    }
  }
  const known = new Map<number, number>()
  const indexOf = (colour: number): number => {
    const before = known.get(colour)
    if (before !== undefined) return before
    let best = 0
    for (let index = 1; index < colours.length; index += 1) if (distance(colours[index] ?? 0, colour) < distance(colours[best] ?? 0, colour)) best = index
    known.set(colour, best)
    return best
  }
  return { colours, indexOf }
}

const crcTable = Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? 0xedb88320 ^ (crc >>> 1) : crc >>> 1
  return crc >>> 0
})

function chunk(type: string, body: Uint8Array): Buffer {
  const inside = Buffer.concat([Buffer.from(type, 'latin1'), body])
  let crc = 0xffffffff
  for (const byte of inside) crc = (crcTable[(crc ^ byte) & 255] ?? 0) ^ (crc >>> 8)
  const out = Buffer.alloc(inside.length + 8)
  out.writeUInt32BE(body.length, 0)
  inside.copy(out, 4)
  out.writeUInt32BE((crc ^ 0xffffffff) >>> 0, inside.length + 4)
  return out
}

/** The same picture with at most 256 colours, as PNG. */
export function palettePng(png: Buffer): Buffer {
  const pixels = readPng(png)
  const { width, height, data } = pixels
  const { colours, indexOf } = paletteOf(pixels)
  const rows = Buffer.alloc((width + 1) * height)
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const at = 3 * (y * width + x)
      rows[y * (width + 1) + 1 + x] = indexOf(((data[at] ?? 0) << 16) | ((data[at + 1] ?? 0) << 8) | (data[at + 2] ?? 0))
    }
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 3, 0, 0, 0], 8)
  const palette = Buffer.from(colours.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]))
  return Buffer.concat([signature, chunk('IHDR', header), chunk('PLTE', palette), chunk('IDAT', deflateSync(rows, { level: 9 })), chunk('IEND', Buffer.alloc(0))])
}
