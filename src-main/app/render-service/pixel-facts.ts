// What can be told of a page from its pixels alone.

/** Largest difference of a channel (0..255) that nobody sees. */
const visibleDifference = 12
/** Pixels that are no letter yet: a full stop has four, the thinnest letter more than this. */
const leastPixels = 12

/**
 * Pixels that differ visibly from the most frequent colour, and whether they are so few that the page counts as blank.
 * @param pixels four bytes a pixel, any order of channels
 */
export function pixelFacts(pixels: Uint8Array): { readonly distinctPixels: number; readonly uniform: boolean } {
  const words = new Uint32Array(pixels.buffer, pixels.byteOffset, pixels.byteLength >> 2)
  const ground = mostFrequent(words)
  let distinctPixels = 0
  for (const word of words) if (word !== ground && differs(word, ground)) distinctPixels += 1
  return { distinctPixels, uniform: distinctPixels <= leastPixels }
}

function mostFrequent(words: Uint32Array): number {
  const counts = new Map<number, number>()
  let best = 0
  let most = 0
  for (let index = 0; index < words.length; ) {
    // Runs of one colour are most of every page.
    const word = words[index]!
    let end = index + 1
    while (end < words.length && words[end] === word) end += 1
    const count = (counts.get(word) ?? 0) + end - index
    counts.set(word, count)
    if (count > most) [best, most] = [word, count]
    index = end
  }
  return best
}

function differs(a: number, b: number): boolean {
  for (let shift = 0; shift < 32; shift += 8) if (Math.abs(((a >>> shift) & 255) - ((b >>> shift) & 255)) > visibleDifference) return true
  return false
}
