// Trains a byte-level BPE tokenizer and writes it in the Hugging Face `tokenizer.json` format.
//
// text -> pieces (pre-tokenisation pattern) -> UTF-8 bytes, each shown as one printable character -> merges of the most frequent pair
//
// Source: Sennrich, Haddow, Birch, "Neural machine translation of rare words with subword units", ACL 2016, on bytes as in GPT-2. Ties are broken
// by the smaller ids, so the same texts give the same tokenizer. The pattern is the caller's: it must be valid both as a JavaScript
// regular expression with flag `u` and in the regular expressions of the `tokenizers` library.

/** What to train. */
export interface BpeTrainerOptions {
  /** Pre-tokenisation pattern; text between matches is a piece of its own. */
  readonly pattern: string
  /** Ids in all, special tokens included; training stops early when every piece is one token. */
  readonly vocabularySize: number
  /** Tokens that only a chat template or the engine writes; they get the last ids, in this order. */
  readonly specialTokens: readonly string[]
  /** A pair seen less often than this is not merged. Default 2. */
  readonly minimumCount?: number
}

/** A trained tokenizer. */
export interface TrainedBpe {
  readonly pattern: string
  /** Byte-level spelling of every id without the special tokens. */
  readonly vocabulary: readonly string[]
  /** Merges in the order learned. */
  readonly merges: readonly (readonly [string, string])[]
  readonly specialTokens: readonly string[]
}

/** The printable character that stands for each byte in GPT-2's byte-level alphabet; index is the byte. */
export function byteLevelAlphabet(): readonly string[] {
  const printable = (byte: number): boolean => (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae
  let next = 256
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(printable(byte) ? byte : next++))
}

/** Cuts a text into pieces as the `Split` pre-tokeniser with behaviour `Isolated` does. Joined they are the text again. */
export function splitPieces(text: string, pattern: string): readonly string[] {
  const pieces: string[] = []
  let position = 0
  for (const match of text.matchAll(new RegExp(pattern, 'gu'))) {
    if (match[0] === '') continue
    if (match.index > position) pieces.push(text.slice(position, match.index))
    pieces.push(match[0])
    position = match.index + match[0].length
  }
  if (position < text.length) pieces.push(text.slice(position))
  return pieces
}

/** A piece as ids, and how often it occurs. */
interface Piece {
  readonly ids: number[]
  readonly count: number
}

/** Pairs are keyed by one number: left * 2^21 + right, exact in a double. */
const PAIR_BASE = 2 ** 21

/** How often each pair of neighbouring ids occurs, and in which pieces it may. */
interface PairTable {
  readonly counts: Map<number, number>
  readonly pieces: Map<number, Set<number>>
}

function addPairs(table: PairTable, piece: Piece, index: number, sign: 1 | -1): void {
  for (let at = 0; at + 1 < piece.ids.length; at++) {
    const key = (piece.ids[at] as number) * PAIR_BASE + (piece.ids[at + 1] as number)
    const count = (table.counts.get(key) ?? 0) + sign * piece.count
    if (count === 0) table.counts.delete(key)
    else table.counts.set(key, count)
    if (sign === 1) {
      const where = table.pieces.get(key)
      if (where === undefined) table.pieces.set(key, new Set([index]))
      else where.add(index)
    }
  }
}

/** The most frequent pair; of equals the one with the smaller left, then the smaller right id. */
function mostFrequentPair(counts: ReadonlyMap<number, number>, minimumCount: number): number | undefined {
  let best: number | undefined
  let bestCount = minimumCount - 1
  for (const [key, count] of counts) {
    if (count > bestCount || (count === bestCount && best !== undefined && key < best)) {
      best = key
      bestCount = count
    }
  }
  return best
}

function mergePair(ids: number[], left: number, right: number, merged: number): void {
  let write = 0
  for (let read = 0; read < ids.length; read++) {
    const found = ids[read] === left && ids[read + 1] === right
    ids[write++] = found ? merged : (ids[read] as number)
    if (found) read += 1
  }
  ids.length = write
}

function countPieces(texts: Iterable<string>, pattern: string): readonly Piece[] {
  const counts = new Map<string, number>()
  for (const text of texts) {
    for (const piece of splitPieces(text, pattern)) counts.set(piece, (counts.get(piece) ?? 0) + 1)
  }
  const encoder = new TextEncoder()
  return [...counts].map(([piece, count]) => ({ ids: [...encoder.encode(piece)], count }))
}

/**
 * Learns merges from texts.
 *
 * @param texts the training corpus, read once
 * @throws RangeError when the vocabulary has no room for 256 bytes and the special tokens
 */
export function trainBpe(texts: Iterable<string>, options: BpeTrainerOptions): TrainedBpe {
  const room = options.vocabularySize - options.specialTokens.length
  if (!Number.isInteger(room) || room < 256 || room >= PAIR_BASE) {
    throw new RangeError(`a byte-level vocabulary needs 256 ids and one for each of ${options.specialTokens.length} special tokens, got ${options.vocabularySize}`)
  }
  const pieces = countPieces(texts, options.pattern)
  const table: PairTable = { counts: new Map(), pieces: new Map() }
  pieces.forEach((piece, index) => addPairs(table, piece, index, 1))
  const vocabulary = [...byteLevelAlphabet()]
  const merges: [string, string][] = []
  while (vocabulary.length < room) {
    const key = mostFrequentPair(table.counts, options.minimumCount ?? 2)
    if (key === undefined) break
    const left = Math.floor(key / PAIR_BASE)
    const right = key % PAIR_BASE
    const pair: [string, string] = [vocabulary[left] as string, vocabulary[right] as string]
    for (const index of table.pieces.get(key) ?? []) {
      const piece = pieces[index] as Piece
      addPairs(table, piece, index, -1)
      mergePair(piece.ids, left, right, vocabulary.length)
      addPairs(table, piece, index, 1)
    }
    table.pieces.delete(key)
    merges.push(pair)
    vocabulary.push(pair[0] + pair[1])
  }
  return { pattern: options.pattern, vocabulary, merges, specialTokens: options.specialTokens }
}

/** The content of `tokenizer.json`. Plain data, ready for JSON.stringify. */
export function tokenizerJson(trained: TrainedBpe): Readonly<Record<string, unknown>> {
  const firstSpecial = trained.vocabulary.length
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: trained.specialTokens.map((content, index) => (
      { id: firstSpecial + index, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true })),
    normalizer: null,
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [
        { type: 'Split', pattern: { Regex: trained.pattern }, behavior: 'Isolated', invert: false },
        { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: false },
      ],
    },
    post_processor: null,
    decoder: { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: false },
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: false,
      vocab: Object.fromEntries(trained.vocabulary.map((token, id) => [token, id])),
      merges: trained.merges.map(([left, right]) => `${left} ${right}`),
    },
  }
}
