// Text to ids and back. The byte-pair model comes from @huggingface/tokenizers; what is our own here is everything that
// must not be approximate: control tokens never come from user text, and ids spell bytes, exactly.
import { Tokenizer as TokenizerLibrary } from '@huggingface/tokenizers'
import type { TokenOffsets } from '../../contract/rewards.ts'
import { UserError } from '../../contract/errors.ts'
import { createSplitter } from './added-tokens.ts'
import type { AddedToken, Piece, TokenPattern } from './added-tokens.ts'
import type { DecoderConfig } from './config.ts'
import { parseTokenizerFile, readTokenizerFile } from './tokenizer-file.ts'
import type { TokenizerFile } from './tokenizer-file.ts'
import { concatenate, decodeBytes, placeTokens } from './utf8-spans.ts'

/** A model's tokenizer. Ids are non-negative integers below `size`; text is UTF-16 as everywhere in JavaScript. */
export interface Tokenizer {
  /** Largest id + 1. May be smaller than the embedding: the rows above are padding and must never be sampled. */
  readonly size: number
  /** Control tokens: never made by `encode`, skipped by `decode`. */
  readonly specialIds: ReadonlySet<number>
  /** Contents of the control tokens, by id. */
  readonly specialTokens: ReadonlyMap<number, string>
  /** `tokenizer_config.json` as it was read. */
  readonly config: Readonly<Record<string, unknown>>
  /** Plain text to ids. Whatever looks like a control token is split as ordinary text. Nothing is put before or after. */
  encode(text: string): number[]
  /**
   * Text of a template to ids: control tokens in it are matched. `restore` gives, for single characters, the plain text that
   * is put in their place after that matching, which therefore never becomes a control token.
   */
  encodeTemplate(text: string, restore?: ReadonlyMap<string, string>): number[]
  /** A plain prompt for a model without a template: `encode` between the ids the tokenizer's own post-processor adds. */
  encodePrompt(text: string): number[]
  /**
   * Text of ids: their bytes, decoded as UTF-8. Control tokens add nothing unless `keepSpecial`. A SentencePiece
   * tokenizer's artificial first space is dropped with `atStart`, for ids that begin a text rather than continue one.
   */
  decode(ids: Iterable<number>, options?: { keepSpecial?: boolean; atStart?: boolean }): string
  /** The bytes an id stands for, control tokens included (their content). Empty for an id that no token uses. */
  idToBytes(id: number): Uint8Array
  /** The text that sampled ids spell and the UTF-16 range of each id in it. Control tokens get an empty range. */
  tokenOffsets(ids: ArrayLike<number>): TokenOffsets
  /** Id of a token by its string (as in tokenizer.json), or undefined. */
  idOf(token: string): number | undefined
  /** Token string of an id, or undefined when no token uses it. */
  tokenOf(id: number): string | undefined
}

/**
 * Opens a model folder's tokenizer and checks it against the embedding.
 * @throws UserError when a file is missing or wrong, or when there are more ids than rows in the embedding.
 */
export async function openTokenizer(folder: string, config: Pick<DecoderConfig, 'vocabularySize'>): Promise<Tokenizer> {
  const file = await readTokenizerFile(folder)
  const tokenizer = buildTokenizer(file)
  if (tokenizer.size > config.vocabularySize) {
    throw new UserError({
      code: 'bad-input',
      what: `the tokenizer does not fit the embedding: its ids go up to ${tokenizer.size - 1}, the embedding has ${config.vocabularySize} rows`,
      place: { file: file.file },
      expected: `at most ${config.vocabularySize} ids, as vocab_size in config.json says`,
      remedy: 'Tokenizer and weights come from different models: copy both from the same one.',
    })
  }
  return tokenizer
}

/** Makes a tokenizer from parsed JSON (`tokenizer.json`, `tokenizer_config.json`). @throws UserError naming the field. */
export function createTokenizer(json: unknown, config: unknown = {}, file = 'tokenizer.json'): Tokenizer {
  return buildTokenizer(parseTokenizerFile(json, config, file))
}

function buildTokenizer(file: TokenizerFile): Tokenizer {
  const library = guarded(file, 'the tokenizer cannot be built', () => new TokenizerLibrary(file.json, file.config))
  const specialTokens = new Map(file.addedTokens.filter((token) => token.special).map((token) => [token.id, token.content]))
  const specialIds = new Set(specialTokens.keys())
  const ids = new Map([...file.vocabulary].map(([id, token]) => [token, id]))
  const encodeUnguarded = guarded(file, 'the tokenizer cannot be built', () => createEncoder(file, library, ids, specialIds))
  // The library looks at some settings only when it meets a text they are for.
  const encode: Encode = (...parameters) => guarded(file, 'the tokenizer cannot encode a text', () => encodeUnguarded(...parameters))
  const aroundPrompt = guarded(file, 'the tokenizer cannot be built', () => promptFrame(library, ids))
  const idToBytes = createByteTable(file)
  const size = [...file.vocabulary.keys()].reduce((largest, id) => Math.max(largest, id), -1) + 1

  const bytesOf = (sequence: Iterable<number>, keepSpecial: boolean): Uint8Array[] => {
    return Array.from(sequence, (id) => (!keepSpecial && specialIds.has(id) ? NO_BYTES : idToBytes(id)))
  }
  return {
    size,
    specialIds,
    specialTokens,
    config: file.config,
    encode: (text) => encode(text, false, NOTHING_HIDDEN),
    encodeTemplate: (text, restore = NOTHING_HIDDEN) => encode(text, true, restore),
    encodePrompt: (text) => [...aroundPrompt.before, ...encode(text, false, NOTHING_HIDDEN), ...aroundPrompt.after],
    decode: (sequence, { keepSpecial = false, atStart = false } = {}) => {
      const { text } = decodeBytes(concatenate(bytesOf(sequence, keepSpecial)))
      return atStart && file.stripsLeadingSpace && text.startsWith(' ') ? text.slice(1) : text
    },
    idToBytes,
    tokenOffsets: (sequence) => placeTokens(bytesOf(Array.from(sequence), false)),
    idOf: (token) => ids.get(token),
    tokenOf: (id) => file.vocabulary.get(id),
  }
}

const NO_BYTES = new Uint8Array(0)
const NOTHING_HIDDEN: ReadonlyMap<string, string> = new Map()

/** What the library throws, as the fault of the file it read: it checks few of the settings it is given. */
function guarded<Result>(file: TokenizerFile, what: string, use: () => Result): Result {
  try {
    return use()
  } catch (error) {
    if (error instanceof UserError) throw error
    throw new UserError(
      {
        code: 'bad-input',
        what: `${what} (${(error as Error).message})`,
        place: { file: file.file },
        remedy: 'Choose a model of a supported family.',
      },
      { cause: error },
    )
  }
}

type Encode = (text: string, matchControls: boolean, restore: ReadonlyMap<string, string>) => number[]

/**
 * The stages of encoding: added tokens in the raw text -> normaliser -> added tokens in the normalised text -> hidden
 * text restored -> pre-tokeniser -> byte-pair merges.
 */
function createEncoder(file: TokenizerFile, library: TokenizerLibrary, ids: ReadonlyMap<string, number>, specialIds: ReadonlySet<number>): Encode {
  const { model, normalizer, pre_tokenizer: preTokenizer } = library
  if (model === null) throw new Error('the tokenizer library made no model')
  const normalize = (text: string): string => (normalizer === null ? text : normalizer.normalize(text))
  const unknownId = file.unknownToken === null ? undefined : ids.get(file.unknownToken)
  const splitters = new Map([true, false].map((withControls) => [withControls, createSplitters(file.addedTokens, withControls, normalizer === null ? null : normalize)]))

  function encodePlain(text: string, sectionIndex: number): number[] {
    const words = preTokenizer === null ? [text] : preTokenizer.pre_tokenize(text, { section_index: sectionIndex })
    return model!._call(words).map((token) => {
      const id = ids.get(token) ?? unknownId
      if (id === undefined || (specialIds.has(id) && id !== unknownId)) throw new Error(`plain text became ${JSON.stringify(token)}, id ${String(id)}`)
      return id
    })
  }

  return (text, matchControls, restore) => {
    const { raw, normalized } = splitters.get(matchControls) as Splitters
    // In normalised text a hidden character is replaced by its text as the normaliser writes it inside a sentence.
    const restored = new Map([...restore].map(([char, hidden]) => [char, normalize(char + hidden).slice(normalize(char).length)]))
    const restoreIn = (section: string): string => (restored.size === 0 ? section : section.replace(/[\uE000-\uF8FF]/g, (char) => restored.get(char) ?? char))
    return raw(text).flatMap((section, sectionIndex) => {
      if (typeof section !== 'string') return [section.id]
      return normalized(normalize(section)).flatMap((piece) => (typeof piece === 'string' ? encodePlain(restoreIn(piece), sectionIndex) : [piece.id]))
    })
  }
}

interface Splitters {
  readonly raw: (text: string) => Piece[]
  readonly normalized: (text: string) => Piece[]
}

function createSplitters(tokens: readonly AddedToken[], withControls: boolean, normalize: ((text: string) => string) | null): Splitters {
  const chosen = tokens.filter((token) => withControls || !token.special)
  const pattern = (token: AddedToken): TokenPattern => ({ pattern: token.normalized && normalize !== null ? normalize(token.content) : token.content, token })
  return {
    raw: createSplitter(chosen.filter((token) => !token.normalized || normalize === null).map(pattern)),
    normalized: createSplitter(chosen.filter((token) => token.normalized && normalize !== null).map(pattern)),
  }
}

/** Ids the post-processor puts before and after a single text (a begin token, mostly). */
function promptFrame(library: TokenizerLibrary, ids: ReadonlyMap<string, number>): { before: number[]; after: number[] } {
  const marker = '\u0000text'
  const framed: string[] = library.post_processor?.post_process([marker], null, true).tokens ?? [marker]
  const at = framed.indexOf(marker)
  const toIds = (tokens: string[]): number[] =>
    tokens.map((token) => {
      const id = ids.get(token)
      if (id === undefined) {
        throw new UserError({
          code: 'bad-input',
          what: `the token ${JSON.stringify(token)} has no id`,
          place: { file: 'tokenizer.json', field: 'post_processor' },
          remedy: 'Copy the tokenizer files of this model again.',
        })
      }
      return id
    })
  return { before: toIds(framed.slice(0, at)), after: toIds(framed.slice(at + 1)) }
}

/** Bytes by id, made on first use. */
function createByteTable(file: TokenizerFile): (id: number) => Uint8Array {
  const table = new Map<number, Uint8Array>()
  const added = new Map(file.addedTokens.map((token) => [token.id, token.content]))
  const encoder = new TextEncoder()
  const spell = (id: number): Uint8Array => {
    const content = added.get(id)
    if (content !== undefined) return encoder.encode(content)
    const token = file.vocabulary.get(id)
    if (token === undefined) return NO_BYTES
    if (file.scheme === 'byte-level') return byteLevelBytes(token) ?? encoder.encode(token)
    const byte = /^<0x([0-9A-F]{2})>$/.exec(token)?.[1]
    return byte === undefined ? encoder.encode(token.replaceAll('\u2581', ' ')) : Uint8Array.of(Number.parseInt(byte, 16))
  }
  return (id) => {
    let bytes = table.get(id)
    if (bytes === undefined) {
      bytes = spell(id)
      table.set(id, bytes)
    }
    return bytes
  }
}

/** Bytes of a token in GPT-2's byte letters; null when it holds a character that is none of them. */
function byteLevelBytes(token: string): Uint8Array | null {
  const bytes = new Uint8Array(token.length)
  for (let i = 0; i < token.length; i += 1) {
    const byte = BYTE_OF_LETTER.get(token.charCodeAt(i))
    if (byte === undefined) return null
    bytes[i] = byte
  }
  return bytes
}

/** GPT-2's letters: visible Latin-1 bytes stand for themselves, the other 68 take the letters from U+0100 on, in order. */
const BYTE_OF_LETTER: ReadonlyMap<number, number> = makeByteLetters()

function makeByteLetters(): Map<number, number> {
  const letters = new Map<number, number>()
  let next = 0x100
  for (let byte = 0; byte < 256; byte += 1) {
    const visible = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae
    letters.set(visible ? byte : next, byte)
    if (!visible) next += 1
  }
  return letters
}
