// Where tokens lie in the text their bytes spell. A token may hold part of a character, so the text is only known
// for the whole byte string; this file decodes it once and says which UTF-16 units each byte belongs to.
import type { TokenOffsets } from '../../contract/rewards.ts'

/** A byte string decoded like `TextDecoder` does, with the UTF-16 range of the character each byte is part of. */
export interface DecodedBytes {
  readonly text: string
  /** `starts[b]..ends[b]`: UTF-16 units of the character (or U+FFFD) that byte b belongs to. */
  readonly starts: Int32Array
  readonly ends: Int32Array
}

/**
 * Decodes UTF-8. Invalid bytes become U+FFFD exactly as in the WHATWG standard (one for each maximal ill-formed
 * part), and a byte order mark is kept: it is text a model has written.
 */
export function decodeBytes(bytes: Uint8Array): DecodedBytes {
  const starts = new Int32Array(bytes.length)
  const ends = new Int32Array(bytes.length)
  let units = 0
  let position = 0
  while (position < bytes.length) {
    const character = characterAt(bytes, position)
    starts.fill(units, position, position + character.bytes)
    units += character.units
    ends.fill(units, position, position + character.bytes)
    position += character.bytes
  }
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
  if (text.length !== units) throw new Error(`decoded ${text.length} UTF-16 units, counted ${units}`)
  return { text, starts, ends }
}

/**
 * Places tokens in their common text.
 * @param pieces bytes of each token in order; an empty piece (a special token) gets an empty range
 * @returns ranges whose starts never decrease; every UTF-16 unit is covered by at least one token. A character whose bytes
 * are spread over several tokens is covered by each of them.
 */
export function placeTokens(pieces: readonly Uint8Array[]): TokenOffsets {
  const bytes = concatenate(pieces)
  const decoded = decodeBytes(bytes)
  const starts = new Int32Array(pieces.length)
  const ends = new Int32Array(pieces.length)
  let position = 0
  for (const [index, piece] of pieces.entries()) {
    const start = decoded.starts[position] ?? decoded.text.length
    starts[index] = start
    ends[index] = piece.length === 0 ? start : (decoded.ends[position + piece.length - 1] as number)
    position += piece.length
  }
  return { text: decoded.text, starts, ends }
}

/** All pieces as one byte string. */
export function concatenate(pieces: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0))
  let position = 0
  for (const piece of pieces) {
    bytes.set(piece, position)
    position += piece.length
  }
  return bytes
}

/** Length in bytes and UTF-16 units of the character, or of the ill-formed part, that starts at `position`. */
function characterAt(bytes: Uint8Array, position: number): { bytes: number; units: number } {
  const lead = bytes[position] as number
  if (lead < 0x80) return { bytes: 1, units: 1 }
  const following = lead >= 0xc2 && lead <= 0xdf ? 1 : lead >= 0xe0 && lead <= 0xef ? 2 : lead >= 0xf0 && lead <= 0xf4 ? 3 : 0
  // The first continuation byte has a narrower range where longer forms, surrogates or values above U+10FFFF would begin.
  let lowest = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80
  let highest = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf
  for (let offset = 1; offset <= following; offset += 1) {
    const byte = bytes[position + offset]
    if (byte === undefined || byte < lowest || byte > highest) return { bytes: offset, units: 1 }
    lowest = 0x80
    highest = 0xbf
  }
  return { bytes: following + 1, units: following === 3 ? 2 : 1 }
}
