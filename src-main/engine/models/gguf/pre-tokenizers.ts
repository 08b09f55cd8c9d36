// How a text is cut before byte-pair merges: the names llama.cpp gives to the ways it knows, and Hugging Face's steps for them.
// Source: llama-vocab.cpp (tokenizer.ggml.pre) and the published tokenizer.json of the models that use them.

export type Step = Readonly<Record<string, unknown>>

/** One way of cutting. */
export interface PreTokenizer {
  readonly normalizer: Step | null
  readonly steps: readonly Step[]
  /** A word that is a token is taken whole, whatever the merges say. */
  readonly ignoreMerges: boolean
  /** A begin token is put in front where the file does not say. */
  readonly addsBegin: boolean
}

const split = (pattern: string): Step => ({ type: 'Split', pattern: { Regex: pattern }, behavior: 'Isolated', invert: false })
const byteLevel = (useRegex: boolean): Step => ({ type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: useRegex })

const CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
const SPACES = String.raw`\s*[\r\n]+|\s+(?!\S)|\s+`
const LLAMA3 = String.raw`${CONTRACTIONS}|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|${SPACES}`
const QWEN2 = String.raw`${CONTRACTIONS}|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|${SPACES}`
const [UPPER, LOWER] = [String.raw`[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`, String.raw`[\p{Ll}\p{Lm}\p{Lo}\p{M}]`]
const WORD = String.raw`[^\r\n\p{L}\p{N}]?`
const GPT4O = String.raw`${WORD}${UPPER}*${LOWER}+${CONTRACTIONS}?|${WORD}${UPPER}+${LOWER}*${CONTRACTIONS}?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|${SPACES}`

const plain = { normalizer: null, ignoreMerges: false, addsBegin: false }
const gpt2: PreTokenizer = { ...plain, steps: [byteLevel(true)] }
const smollm: PreTokenizer = { ...plain, steps: [{ type: 'Digits', individual_digits: true }, byteLevel(true)] }
const llama3Whole: PreTokenizer = { ...plain, steps: [split(LLAMA3), byteLevel(false)], ignoreMerges: true, addsBegin: true }
const llama3: PreTokenizer = { ...llama3Whole, ignoreMerges: false, addsBegin: false }
const qwen2: PreTokenizer = { ...plain, normalizer: { type: 'NFC' }, steps: [split(QWEN2), byteLevel(false)] }
const gpt4o: PreTokenizer = { ...plain, steps: [split(GPT4O), byteLevel(false)] }
/** What llama.cpp does for files that name none. */
const fallback: PreTokenizer = {
  ...plain,
  steps: [split(String.raw`[\p{P}\$\+<=>\^~\|]+`), split(String.raw`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)`), split(String.raw`\p{N}+`), split('[0-9][0-9][0-9]'), byteLevel(false)],
}

/** The name a file is written with comes first among those of one way. */
export const PRE_TOKENIZERS: ReadonlyMap<string, PreTokenizer> = new Map([
  ['smollm', smollm], ['starcoder', smollm], ['refact', smollm], ['command-r', smollm], ['codeshell', smollm],
  ['qwen2', qwen2], ['deepseek-r1-qwen', qwen2], ['megrez', qwen2],
  ['llama-bpe', llama3Whole], ['llama3', llama3Whole], ['llama-v3', llama3Whole], ['falcon3', llama3Whole],
  ['smaug-bpe', llama3], ['dbrx', llama3],
  ['gpt-4o', gpt4o], ['llama4', gpt4o],
  ['gpt-2', gpt2], ['olmo', gpt2], ['mpt', gpt2],
  ['default', fallback],
])

/** llama.cpp's name for the way of cutting of a tokenizer.json, or undefined where it has none. Normalisation is not compared. */
export function preTokenizerName(steps: readonly Step[], ignoreMerges: boolean): string | undefined {
  const wanted = canonical(steps)
  return [...PRE_TOKENIZERS].find(([, known]) => known.ignoreMerges === ignoreMerges && canonical(known.steps) === wanted)?.[0]
}

/** Equal texts cut alike: only what decides the cut, in a fixed order. */
export function canonical(steps: readonly Step[]): string {
  return JSON.stringify(steps.map((step) => [step['type'], step['pattern'] ?? null, step['behavior'] ?? null, step['invert'] ?? false, step['add_prefix_space'] ?? null, step['use_regex'] ?? null, step['individual_digits'] ?? null]))
}
