// Hashes of prompts: for finding the same prompt again, for drawing the held-out side, and for finding prompts that nearly agree.

/** FNV-1a over UTF-16 units with an avalanche at the end (murmur3's), 32 bits unsigned. */
export function hashText(text: string, seed = 0): number {
  let hash = (0x811c9dc5 ^ seed) >>> 0
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return avalanche(hash)
}

function avalanche(value: number): number {
  let hash = value
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

/** What two prompts that differ only in spacing and letter case have in common. */
export function normalised(text: string): string {
  return text.toLowerCase().replace(/\s+/g, ' ').trim()
}

/** 53 bits of a prompt, spacing and letter case left out: equal for equal prompts, and for different ones with a chance of 1 in 10^16. */
export function promptKey(text: string): number {
  const plain = normalised(text)
  return hashText(plain, 1) * 2 ** 21 + (hashText(plain, 2) >>> 11)
}

/**
 * Whether a prompt is held out. The prompt itself decides, so that the same prompt never stands on both sides, and a row that is added
 * moves no other.
 * @param share 0..1
 */
export function isHeldOut(prompt: string, share: number, seed: number): boolean {
  return hashText(normalised(prompt), (seed * 2 + 1) >>> 0) / 2 ** 32 < share
}

const signatureSize = 64
/** No hash: hashes within a place have 26 bits. */
const empty = 0xffffffff
const bandSize = 4
const shingleWords = 3

/**
 * MinHash over runs of three words (Broder 1997), by one permutation whose range is divided into places (Li, Owen, Zhang 2012); a place no
 * run fell into borrows from the next one that has some, by its distance (Shrivastava, Li 2014). Two signatures agree in about the share
 * of runs that two texts share.
 */
export function signatureOf(text: string): Uint32Array {
  const words = normalised(text).split(' ')
  const signature = new Uint32Array(signatureSize).fill(empty)
  const last = Math.max(1, words.length - shingleWords + 1)
  for (let at = 0; at < last; at += 1) {
    const hash = hashText(words.slice(at, at + shingleWords).join(' '))
    const place = hash % signatureSize
    signature[place] = Math.min(signature[place] as number, Math.floor(hash / signatureSize))
  }
  const full = signature.slice()
  for (let place = 0; place < signatureSize; place += 1) {
    let distance = 0
    while (full[(place + distance) % signatureSize] === empty) distance += 1
    if (distance > 0) signature[place] = avalanche((full[(place + distance) % signatureSize] as number) + Math.imul(distance, 0x9e3779b9))
  }
  return signature
}

/** Share of equal places. */
export function similarity(a: Uint32Array, b: Uint32Array): number {
  let equal = 0
  for (let place = 0; place < a.length; place += 1) if (a[place] === b[place]) equal += 1
  return equal / a.length
}

/** Keys of a signature's bands: two texts that share much share at least one of them. */
export function bandKeys(signature: Uint32Array): number[] {
  const keys: number[] = []
  for (let band = 0; band < signature.length; band += bandSize) {
    let hash = band
    for (let place = band; place < band + bandSize; place += 1) hash = avalanche(hash ^ (signature[place] as number))
    keys.push(hash * 16 + band / bandSize)
  }
  return keys
}
