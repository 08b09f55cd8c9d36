// A GGUF file's tokenizer as Hugging Face's tokenizer.json and tokenizer_config.json.
import { UserError } from '../../../contract/errors.ts'
import type { GgufFile } from './file.ts'
import { TOKEN_KIND } from './format.ts'
import { metadataOf, wrongMetadata } from './metadata.ts'
import type { Metadata } from './metadata.ts'
import { PRE_TOKENIZERS } from './pre-tokenizers.ts'
import type { PreTokenizer } from './pre-tokenizers.ts'

/** What a Hugging Face folder says about a tokenizer, from whatever place. */
export interface TokenizerSource {
  /** tokenizer.json */
  readonly json: Readonly<Record<string, unknown>>
  /** tokenizer_config.json, without the template */
  readonly config: Readonly<Record<string, unknown>>
  readonly chatTemplate: string | null
}

/** Ids the file gives a meaning, in the spelling of config.json. */
export interface SpecialIds {
  readonly bos_token_id: number | null
  readonly eos_token_id: readonly number[]
  readonly pad_token_id: number | null
}

/** A whole tokenizer.json, where the file carries one. */
export const JSON_KEY = 'tokenizer.huggingface.json'
/** All ids that end a completion, which the usual keys have no place for. Files written by Satchel carry it. */
export const END_IDS_KEY = 'satchel.eos_token_ids'

/** Control tokens that end a turn whatever the file's own end id is, as llama.cpp treats them. */
const END_TOKENS = new Set(['<|im_end|>', '<|endoftext|>', '<|end_of_text|>', '<|eot_id|>', '<|eom_id|>', '<|end|>', '<end_of_turn>', '<|endofturn|>'])

/** Phi's control tokens take the white space behind them along; files have no place for that. */
const PHI_STRIPPING = /^<\|(?:end|user|system|assistant|tool|\/tool|tool_call|\/tool_call|tool_response)\|>$/

/**
 * The tokenizer of a file.
 * @param rows of the embedding: the token list must have one entry for each
 * @throws UserError naming the key for a kind of tokenizer that is not read, a list that does not fit the embedding, or ids outside it
 */
export function tokenizerOfGguf(file: Pick<GgufFile, 'path' | 'metadata'>, rows: number): TokenizerSource {
  const metadata = metadataOf(file.path, file.metadata)
  const tokens = tokensOf(metadata, rows)
  const config = tokenizerConfig(metadata, tokens)
  const chatTemplate = metadata.text('tokenizer.chat_template') ?? null
  const whole = metadata.text(JSON_KEY)
  return { json: whole === undefined ? tokenizerJson(metadata, tokens) : parseJson(whole, metadata.path), config, chatTemplate }
}

/** The ids a file names. @throws UserError for one outside the vocabulary */
export function specialIdsOfGguf(file: Pick<GgufFile, 'path' | 'metadata'>, rows: number): SpecialIds {
  const metadata = metadataOf(file.path, file.metadata)
  const own = metadata.numbers(END_IDS_KEY)
  const named = ['eos', 'eot', 'eom'].map((name) => specialId(metadata, name, rows)).filter((id) => id !== undefined)
  const kinds = kindsOf(metadata, rows)
  const ends = (metadata.texts('tokenizer.ggml.tokens') ?? []).flatMap((token, id) => (END_TOKENS.has(token) && kinds[id] === TOKEN_KIND.control ? [id] : []))
  return {
    bos_token_id: specialId(metadata, 'bos', rows) ?? null,
    eos_token_id: own ?? [...new Set([...named, ...ends])],
    pad_token_id: specialId(metadata, 'padding', rows) ?? null,
  }
}

function specialId(metadata: Metadata, name: string, rows: number): number | undefined {
  const key = `tokenizer.ggml.${name}_token_id`
  const id = metadata.number(key)
  // Converters write the largest number there is where a model has no such token.
  if (id === undefined || id === 0xffff_ffff || id === -1) return undefined
  if (!Number.isInteger(id) || id < 0 || id >= rows) throw wrongMetadata(metadata.path, key, `id ${id} lies outside the vocabulary of ${rows}`)
  return id
}

interface Tokens {
  readonly texts: readonly string[]
  readonly kinds: readonly number[]
}

function tokensOf(metadata: Metadata, rows: number): Tokens {
  const model = metadata.requiredText('tokenizer.ggml.model')
  if (model !== 'gpt2') {
    throw wrongMetadata(metadata.path, 'tokenizer.ggml.model', `a tokenizer of kind "${model}" is not read`, '"gpt2" (byte-level pairs)', 'Use the Hugging Face folder of this model.')
  }
  const texts = metadata.requiredTexts('tokenizer.ggml.tokens')
  if (texts.length !== rows) throw wrongMetadata(metadata.path, 'tokenizer.ggml.tokens', `the tokenizer does not fit the embedding: it lists ${texts.length} tokens, the embedding has ${rows} rows`, 'one token for each row')
  return { texts, kinds: kindsOf(metadata, rows) }
}

function kindsOf(metadata: Metadata, rows: number): readonly number[] {
  const kinds = metadata.numbers('tokenizer.ggml.token_type') ?? []
  if (kinds.length !== 0 && kinds.length !== rows) throw wrongMetadata(metadata.path, 'tokenizer.ggml.token_type', `it has ${kinds.length} entries for ${rows} tokens`)
  return kinds
}

function tokenizerJson(metadata: Metadata, { texts, kinds }: Tokens): Record<string, unknown> {
  const name = metadata.text('tokenizer.ggml.pre') ?? 'default'
  const preTokenizer = PRE_TOKENIZERS.get(name)
  if (preTokenizer === undefined) {
    throw wrongMetadata(metadata.path, 'tokenizer.ggml.pre', `the way "${name}" of cutting texts is not known`, `one of ${[...PRE_TOKENIZERS.keys()].join(', ')}`, 'Use the Hugging Face folder of this model.')
  }
  const architecture = metadata.text('general.architecture')
  const strips = architecture === 'phi3'
  // SmolLM3's tokenizer takes words that are tokens whole; the name its files use for the cut does not say so.
  const ignoreMerges = preTokenizer.ignoreMerges || architecture === 'smollm3'
  const vocabulary = new Map<string, number>()
  const added: Record<string, unknown>[] = []
  for (const [id, content] of texts.entries()) {
    const kind = kinds[id] ?? TOKEN_KIND.normal
    // Rows that only fill up the embedding have no token; of two equal tokens the first is the one a text can become.
    if (kind === TOKEN_KIND.unused || vocabulary.has(content)) continue
    const special = kind === TOKEN_KIND.control || kind === TOKEN_KIND.unknown
    if (special || kind === TOKEN_KIND.userDefined) added.push({ id, content, single_word: false, lstrip: false, rstrip: special && strips && PHI_STRIPPING.test(content), normalized: false, special })
    vocabulary.set(content, id)
  }
  const controls = new Set(added.flatMap(({ id, special }) => (special === true ? [id] : [])))
  return {
    version: '1.0', truncation: null, padding: null,
    added_tokens: added,
    normalizer: preTokenizer.normalizer,
    pre_tokenizer: { type: 'Sequence', pretokenizers: preTokenizer.steps },
    post_processor: postProcessor(metadata, preTokenizer, texts),
    decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true },
    model: {
      type: 'BPE', dropout: null, unk_token: null, continuing_subword_prefix: null, end_of_word_suffix: null, fuse_unk: false, byte_fallback: false, ignore_merges: ignoreMerges,
      vocab: Object.fromEntries([...vocabulary].filter(([, id]) => !controls.has(id))),
      merges: mergesOf(metadata, vocabulary),
    },
  }
}

/** Merges whose parts or result are no tokens would make the byte-pair library fail later: the file is wrong then. */
function mergesOf(metadata: Metadata, vocabulary: ReadonlyMap<string, number>): readonly string[] {
  const key = 'tokenizer.ggml.merges'
  const merges = metadata.requiredTexts(key)
  for (const [index, merge] of merges.entries()) {
    const [left = '', right = '', ...rest] = merge.split(' ')
    if (rest.length > 0 || [left, right, left + right].some((token) => !vocabulary.has(token))) throw wrongMetadata(metadata.path, key, `merge ${index} (${JSON.stringify(merge.slice(0, 80))}) is not of two tokens that make a third`)
  }
  return merges
}

/** Begin and end tokens around a plain text. */
function postProcessor(metadata: Metadata, preTokenizer: PreTokenizer, texts: readonly string[]): Record<string, unknown> | null {
  const token = (name: string): string | undefined => texts[specialId(metadata, name, texts.length) ?? -1]
  const begin = (metadata.flag('tokenizer.ggml.add_bos_token') ?? preTokenizer.addsBegin) ? token('bos') : undefined
  const end = (metadata.flag('tokenizer.ggml.add_eos_token') ?? false) ? token('eos') : undefined
  const special = (content: string | undefined): Record<string, unknown>[] => (content === undefined ? [] : [{ SpecialToken: { id: content, type_id: 0 } }])
  if (begin === undefined && end === undefined) return null
  const contents = [begin, end].filter((content) => content !== undefined)
  return {
    type: 'TemplateProcessing',
    single: [...special(begin), { Sequence: { id: 'A', type_id: 0 } }, ...special(end)],
    pair: [...special(begin), { Sequence: { id: 'A', type_id: 0 } }, { Sequence: { id: 'B', type_id: 1 } }, ...special(end)],
    special_tokens: Object.fromEntries(contents.map((content) => [content, { id: content, ids: [texts.indexOf(content)], tokens: [content] }])),
  }
}

function tokenizerConfig(metadata: Metadata, { texts }: Tokens): Record<string, unknown> {
  const named = (name: string): string | null => texts[specialId(metadata, name, texts.length) ?? -1] ?? null
  return {
    tokenizer_class: 'PreTrainedTokenizerFast',
    clean_up_tokenization_spaces: false,
    bos_token: named('bos'), eos_token: named('eos'), pad_token: named('padding'), unk_token: named('unknown'),
  }
}

function parseJson(text: string, file: string): Record<string, unknown> {
  try {
    const json: unknown = JSON.parse(text)
    if (typeof json === 'object' && json !== null) return json as Record<string, unknown>
  } catch (error) {
    throw new UserError(wrongMetadata(file, JSON_KEY, `the text is not JSON (${(error as Error).message})`).envelope, { cause: error })
  }
  throw wrongMetadata(file, JSON_KEY, 'the text is not a JSON object')
}
