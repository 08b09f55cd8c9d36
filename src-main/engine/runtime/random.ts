// Counter-based random streams: Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
//
//   block(i) = philox(counter = [i low, i high, stream low, stream high], key)        four 32-bit words a block
//
// A counter-based generator has no hidden state that a batch could share: a stream is a pure function of (seed, purpose, keys) and of
// how many words were read, so a rollout sees the same numbers whatever batch it is in, and a checkpoint stores two integers.
// Key and stream number (128 bits together) are the head of a SHA-256 over seed, purpose and keys, so that streams with
// neighbouring keys share nothing.
import { createHash } from 'node:crypto'

const MULTIPLIER_0 = 0xd2511f53
const MULTIPLIER_1 = 0xcd9e8d57
const WEYL_0 = 0x9e3779b9
const WEYL_1 = 0xbb67ae85
const ROUNDS = 10
const TWO_32 = 4294967296

/** Everything a stream is, as plain JSON. `block` and `used` say how far it was read. */
export interface StreamState {
  /** Philox key, two unsigned 32-bit words. */
  readonly key: readonly [number, number]
  /** Upper half of the Philox counter, two unsigned 32-bit words. */
  readonly stream: readonly [number, number]
  /** Index of the current block of four words, an integer below 2^53. */
  readonly block: number
  /** Words of the current block already handed out, 0..3. */
  readonly used: number
}

/** A source of random numbers that depends on nothing but what it was made from. */
export interface RandomStream {
  /** The next 32-bit word, an integer in [0, 2^32). */
  uint32(): number
  /** A double in [0, 1) with 53 random bits (two words). */
  uniform(): number
  /** A standard normal number by Box and Muller's method (four words; the second number of the pair is not kept). */
  normal(): number
  /** An integer in [0, n), every value equally likely. @throws RangeError unless n is an integer in [1, 2^32]. */
  integer(n: number): number
  /** Shuffles in place (Fisher and Yates) and returns the same array. */
  shuffle<T>(array: T[]): T[]
  /** A snapshot from which `streamFromState` continues bit by bit. */
  state(): StreamState
}

/**
 * The stream of (seed, purpose, keys), read from its beginning.
 *
 * @param seed the run's seed, any finite number
 * @param purpose what the numbers are for, such as `sample`, `dropout`, `order`
 * @param key further coordinates, such as step, prompt, rollout; finite numbers
 * @throws RangeError when seed or a key is not finite
 */
export function createStream(seed: number, purpose: string, ...key: number[]): RandomStream {
  for (const value of [seed, ...key]) {
    if (!Number.isFinite(value)) throw new RangeError(`a random stream needs finite numbers, got ${value} (purpose ${purpose})`)
  }
  // -0 and 0 are one key; JSON writes every other double so that it reads back as itself.
  const digest = createHash('sha256').update(JSON.stringify([seed, purpose, ...key])).digest()
  return streamFromState({
    key: [digest.readUInt32LE(0), digest.readUInt32LE(4)],
    stream: [digest.readUInt32LE(8), digest.readUInt32LE(12)],
    block: 0,
    used: 0,
  })
}

/**
 * The stream that continues where `state` was taken.
 * @throws RangeError when the state is not one that `state()` returned
 */
export function streamFromState(state: StreamState): RandomStream {
  checkState(state)
  const key = [state.key[0], state.key[1]] as const
  const stream = [state.stream[0], state.stream[1]] as const
  const words = new Uint32Array(4)
  let block = state.block
  let used = state.used
  if (used > 0) philox4x32(words, block, stream, key)

  function uint32(): number {
    if (used === 0) philox4x32(words, block, stream, key)
    const word = words[used] as number
    used += 1
    if (used === 4) {
      used = 0
      block += 1
    }
    return word
  }

  function uniform(): number {
    const high = uint32() >>> 5 // 27 bits
    const low = uint32() >>> 6 // 26 bits
    return (high * 67108864 + low) / 9007199254740992
  }

  function normal(): number {
    const radius = Math.sqrt(-2 * Math.log(1 - uniform())) // 1 - u is in (0, 1], so the logarithm is finite
    return radius * Math.cos(2 * Math.PI * uniform())
  }

  function integer(n: number): number {
    if (!Number.isInteger(n) || n < 1 || n > TWO_32) throw new RangeError(`integer(n) needs an integer n in [1, 2^32], got ${n}`)
    // Words in the last, incomplete run of n values are thrown away, otherwise small results would be likelier.
    const limit = TWO_32 - (TWO_32 % n)
    let word = uint32()
    while (word >= limit) word = uint32()
    return word % n
  }

  function shuffle<T>(array: T[]): T[] {
    for (let i = array.length - 1; i > 0; i--) {
      const j = integer(i + 1)
      const held = array[i] as T
      array[i] = array[j] as T
      array[j] = held
    }
    return array
  }

  return { uint32, uniform, normal, integer, shuffle, state: () => ({ key: [...key], stream: [...stream], block, used }) }
}

/**
 * One Philox4x32-10 block: fills `out` with four words. `block` is the lower 64 bits of the counter (an integer below 2^53),
 * `stream` the upper 64.
 */
export function philox4x32(out: Uint32Array, block: number, stream: readonly [number, number], key: readonly [number, number]): void {
  let c0 = block >>> 0
  let c1 = Math.floor(block / TWO_32) >>> 0
  let [c2, c3] = stream
  let [k0, k1] = key
  for (let round = 0; round < ROUNDS; round++) {
    const high0 = multiplyHigh(MULTIPLIER_0, c0)
    const low0 = Math.imul(MULTIPLIER_0, c0)
    const high1 = multiplyHigh(MULTIPLIER_1, c2)
    const low1 = Math.imul(MULTIPLIER_1, c2)
    c0 = high1 ^ c1 ^ k0
    c1 = low1
    c2 = high0 ^ c3 ^ k1
    c3 = low0
    k0 = (k0 + WEYL_0) | 0
    k1 = (k1 + WEYL_1) | 0
  }
  out[0] = c0
  out[1] = c1
  out[2] = c2
  out[3] = c3
}

/** Upper 32 bits of the 64-bit product of two 32-bit words. */
function multiplyHigh(a: number, b: number): number {
  const aHigh = a >>> 16
  const aLow = a & 0xffff
  const bHigh = b >>> 16
  const bLow = b & 0xffff
  const middle = aHigh * bLow + ((aLow * bLow) >>> 16) // below 2^32
  const cross = aLow * bHigh + (middle & 0xffff) // below 2^32
  return (aHigh * bHigh + Math.floor(middle / 65536) + Math.floor(cross / 65536)) | 0
}

function checkState(state: StreamState): void {
  const words = [...state.key, ...state.stream]
  const good =
    words.length === 4 &&
    words.every((word) => Number.isInteger(word) && word >= 0 && word < TWO_32) &&
    Number.isSafeInteger(state.block) &&
    state.block >= 0 &&
    [0, 1, 2, 3].includes(state.used)
  if (!good) throw new RangeError(`not the state of a random stream: ${JSON.stringify(state)}`)
}
