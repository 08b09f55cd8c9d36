// A Hugging Face tokenizer as GGUF metadata, so that llama.cpp gives the same ids, and Satchel exactly the same ones.
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { UserError } from '../../../contract/errors.ts'
import type { AddedToken } from '../added-tokens.ts'
import { readChatTemplate } from '../chat-template-file.ts'
import type { DecoderConfig } from '../config.ts'
import { readJsonFile, readOptionalJsonFile } from '../json-file.ts'
import { createTokenizer } from '../tokenizer.ts'
import type { Tokenizer } from '../tokenizer.ts'
import { parseTokenizerFile } from '../tokenizer-file.ts'
import type { TokenizerFile } from '../tokenizer-file.ts'
import { TOKEN_KIND } from './format.ts'
import { isGgufPath, readGgufTokenizer } from './model.ts'
import { canonical, preTokenizerName } from './pre-tokenizers.ts'
import type { Step } from './pre-tokenizers.ts'
import { END_IDS_KEY, JSON_KEY, tokenizerOfGguf } from './tokenizer.ts'
import type { TokenizerSource } from './tokenizer.ts'
import type { MetadataEntry } from './write.ts'

/** Metadata of a tokenizer, and sentences about what other programs will not do alike. */
export interface TokenizerMetadata {
  readonly entries: readonly MetadataEntry[]
  readonly notes: readonly string[]
}

/** Reads the tokenizer and template of a model folder or GGUF file. @throws UserError naming file and field */
export async function readTokenizerSource(from: string): Promise<TokenizerSource> {
  if (isGgufPath(from)) return readGgufTokenizer(from)
  const json = await readJsonFile(join(from, 'tokenizer.json'), 'A model needs its tokenizer.json to be exported.')
  const config = (await readOptionalJsonFile(join(from, 'tokenizer_config.json'))) ?? {}
  return { json: json as Record<string, unknown>, config: config as Record<string, unknown>, chatTemplate: await readChatTemplate(from) }
}

/**
 * The metadata of a tokenizer. Where llama.cpp's keys cannot say all of it, the whole tokenizer.json goes along under its own key, which
 * Satchel reads first.
 * @param config gives the number of rows, which all get a token, and the ids with a meaning
 * @throws UserError for a tokenizer that is not byte-level or has more ids than there are rows
 */
export function metadataOfTokenizer({ json, config: tokenizerConfig, chatTemplate }: TokenizerSource, config: DecoderConfig): TokenizerMetadata {
  const file = parseTokenizerFile(json, tokenizerConfig)
  refuseInexpressible(file, config.vocabularySize)
  const model = json['model'] as { readonly merges: readonly (string | readonly [string, string])[]; readonly ignore_merges?: boolean }
  const name = preTokenizerName(stepsOf(json), model.ignore_merges === true)
  const tokenizer = createTokenizer(json, tokenizerConfig)
  const special = specialIds(config, tokenizer)
  const begin = special.find(({ key }) => key === 'tokenizer.ggml.bos_token_id')?.value
  const entries: MetadataEntry[] = [
    { key: 'tokenizer.ggml.model', type: 'string', value: 'gpt2' },
    { key: 'tokenizer.ggml.pre', type: 'string', value: name ?? 'default' },
    ...tokenList(file, config.vocabularySize),
    { key: 'tokenizer.ggml.merges', type: 'strings', value: model.merges.map((merge) => (typeof merge === 'string' ? merge : merge.join(' '))) },
    ...special,
    { key: 'tokenizer.ggml.add_bos_token', type: 'bool', value: begin !== undefined && tokenizer.encodePrompt('')[0] === begin },
    { key: 'tokenizer.ggml.add_space_prefix', type: 'bool', value: false },
    ...(chatTemplate === null ? [] : [{ key: 'tokenizer.chat_template', type: 'string', value: chatTemplate } as const]),
  ]
  const notes = name === undefined ? ['llama.cpp has no name for the way this tokenizer cuts texts before it merges: it may give other ids for the same text, and the model then sees text it was not trained on'] : []
  const whole: MetadataEntry = { key: JSON_KEY, type: 'string', value: JSON.stringify(json) }
  return { entries: saysAll(entries, json, tokenizerConfig, config) ? entries : [...entries, whole], notes }
}

function refuseInexpressible({ scheme, vocabulary }: TokenizerFile, rows: number): void {
  if (scheme !== 'byte-level') throw new UserError({ code: 'bad-input', what: 'a SentencePiece tokenizer cannot be written to GGUF', place: { file: 'tokenizer.json', field: 'model' }, expected: 'byte-level pairs', remedy: 'Export the model as safetensors or ONNX instead.' })
  const largest = [...vocabulary.keys()].reduce((most, id) => Math.max(most, id), -1)
  if (largest >= rows) throw new UserError({ code: 'bad-input', what: `the tokenizer does not fit the embedding: its ids go up to ${largest}, the embedding has ${rows} rows`, place: { file: 'tokenizer.json' }, remedy: 'Tokenizer and weights come from different models: copy both from the same one.' })
}

/** One text and kind for each row; rows without a token get a name nothing can spell. */
function tokenList({ vocabulary, addedTokens }: TokenizerFile, rows: number): MetadataEntry[] {
  const added = new Map(addedTokens.map((token) => [token.id, token]))
  const ids = Array.from({ length: rows }, (_, id) => id)
  const kindOf = (id: number): number => {
    const token = added.get(id)
    if (token !== undefined) return token.special ? TOKEN_KIND.control : TOKEN_KIND.userDefined
    return vocabulary.has(id) ? TOKEN_KIND.normal : TOKEN_KIND.unused
  }
  return [
    { key: 'tokenizer.ggml.tokens', type: 'strings', value: ids.map((id) => vocabulary.get(id) ?? `[PAD${id}]`) },
    { key: 'tokenizer.ggml.token_type', type: 'i32s', value: ids.map(kindOf) },
  ]
}

/** The tokens the tokenizer names, as templates print them, otherwise the ids of config.json; and all ids that end a completion. */
function specialIds({ bosId, eosIds, padId }: DecoderConfig, tokenizer: Tokenizer): MetadataEntry[] {
  const named = (name: string): number | undefined => {
    const token = tokenizer.config[name]
    const content = typeof token === 'object' && token !== null && 'content' in token ? token.content : token
    return typeof content === 'string' ? tokenizer.idOf(content) : undefined
  }
  const end = named('eos_token') ?? eosIds[0]
  const ids = [['bos', named('bos_token') ?? bosId], ['eos', end], ['eot', eosIds.find((id) => id !== end)], ['unknown', named('unk_token')], ['padding', named('pad_token') ?? padId]] as const
  return [
    ...ids.flatMap(([name, id]): MetadataEntry[] => (id === undefined || id === null ? [] : [{ key: `tokenizer.ggml.${name}_token_id`, type: 'u32', value: id }])),
    ...(eosIds.length === 0 ? [] : [{ key: END_IDS_KEY, type: 'u32s', value: eosIds } as const]),
  ]
}

/** Whether the tokenizer that is read back from the metadata is the one that was written. */
function saysAll(entries: readonly MetadataEntry[], json: TokenizerSource['json'], tokenizerConfig: TokenizerSource['config'], { family, vocabularySize }: DecoderConfig): boolean {
  const metadata = new Map<string, MetadataEntry['value']>([...entries.map(({ key, value }) => [key, value] as const), ['general.architecture', family]])
  const back = tokenizerOfGguf({ path: 'metadata', metadata }, vocabularySize)
  return isDeepStrictEqual(essence(back.json, back.config), essence(json, tokenizerConfig))
}

/** Everything that decides which ids a text gets. */
function essence(json: TokenizerSource['json'], config: TokenizerSource['config']): unknown {
  const { vocabulary, addedTokens, stripsLeadingSpace } = parseTokenizerFile(json, config)
  const normalizer = json['normalizer'] as Step | null | undefined
  // What the normaliser would do to a token in the text matters only where there is one.
  const flags = (token: AddedToken): AddedToken => (normalizer === null || normalizer === undefined ? { ...token, normalized: false } : token)
  return {
    vocabulary,
    addedTokens: addedTokens.map(flags).toSorted((a, b) => a.id - b.id),
    stripsLeadingSpace,
    normalizer: normalizer ?? null,
    steps: canonical(stepsOf(json)),
    ignoreMerges: (json['model'] as { readonly ignore_merges?: boolean }).ignore_merges === true,
    frame: createTokenizer(json, config).encodePrompt(''),
  }
}

function stepsOf(json: TokenizerSource['json']): readonly Step[] {
  const step = (json['pre_tokenizer'] ?? null) as (Step & { readonly pretokenizers?: readonly Step[] }) | null
  if (step === null) return []
  return step['type'] === 'Sequence' ? (step.pretokenizers ?? []) : [step]
}
