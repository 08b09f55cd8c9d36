import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { createChatTemplate } from '../../../../src-main/engine/models/chat-template.ts'
import type { ChatMessage } from '../../../../src-main/engine/models/chat-template.ts'
import type { DecoderConfig, ModelFamily } from '../../../../src-main/engine/models/config.ts'
import type { GgufValue } from '../../../../src-main/engine/models/gguf/format.ts'
import { JSON_KEY, specialIdsOfGguf, tokenizerOfGguf } from '../../../../src-main/engine/models/gguf/tokenizer.ts'
import { metadataOfTokenizer, readTokenizerSource } from '../../../../src-main/engine/models/gguf/tokenizer-metadata.ts'
import { createTokenizer } from '../../../../src-main/engine/models/tokenizer.ts'
import { parseDecoderConfig, readDecoderConfig } from '../../../../src-main/engine/models/config.ts'
import { tinyMetadata } from '../../../support/gguf-fixture.ts'
import { fixture, userError } from '../fixtures.ts'

interface Expected {
  readonly plain: [string, number[]][]
  readonly specials: [string, number[]][]
  readonly prompt: [string, number[]][]
  readonly decoded: [number[], string][]
  readonly chats: { messages: ChatMessage[]; options: Record<string, unknown>; ids: number[] }[]
}

const ROWS = 448
const families: Readonly<Record<string, ModelFamily>> = { smollm: 'llama', smollm3: 'smollm3', llama3: 'llama', qwen2: 'qwen2', phi4: 'phi3' }

async function configOf(family: ModelFamily, change: Partial<DecoderConfig> = {}): Promise<DecoderConfig> {
  const { rawConfig } = await readDecoderConfig(fixture({ llama: 'llama-tied', qwen2: 'qwen2-untied', smollm3: 'smollm3', phi3: 'phi3-short' }[family]))
  return { ...parseDecoderConfig({ ...rawConfig, vocab_size: ROWS }, null), bosId: null, eosIds: [], padId: null, ...change }
}

/** The metadata a fixture's tokenizer is written as. */
async function written(name: string, change: Partial<DecoderConfig> = {}): Promise<{ metadata: Map<string, GgufValue> }> {
  const family = families[name] as ModelFamily
  const source = await readTokenizerSource(fixture('tokenizers', name))
  const { entries } = metadataOfTokenizer(source, await configOf(family, change))
  return { metadata: new Map<string, GgufValue>([['general.architecture', family], ...entries.map(({ key, value }) => [key, value] as const)]) }
}

const expectedOf = (name: string): Expected => JSON.parse(readFileSync(fixture('tokenizers', name, 'expected.json'), 'utf8')) as Expected

describe.each(Object.keys(families))('%s: a tokenizer read from the keys of llama.cpp', (name) => {
  it('gives the ids of the reference for hard texts, templates, prompts and conversations', async () => {
    const { metadata } = await written(name)
    // The fixture of SmolLM has tokens that match only as whole words, or take white space along: the keys cannot say it.
    expect(metadata.has(JSON_KEY)).toBe(name === 'smollm')
    const { json, config, chatTemplate } = tokenizerOfGguf({ path: 'a.gguf', metadata }, ROWS)
    const tokenizer = createTokenizer(json, config)
    const expected = expectedOf(name)
    for (const [text, ids] of expected.plain) expect(tokenizer.encode(text), JSON.stringify(text)).toEqual(ids)
    for (const [text, ids] of expected.specials) expect(tokenizer.encodeTemplate(text), JSON.stringify(text)).toEqual(ids)
    for (const [text, ids] of expected.prompt) expect(tokenizer.encodePrompt(text), JSON.stringify(text)).toEqual(ids)
    for (const [ids, text] of expected.decoded) expect(tokenizer.decode(ids)).toBe(text)
    const template = createChatTemplate(chatTemplate as string, tokenizer)
    const variables = ({ add_generation_prompt: addGenerationPrompt, enable_thinking: enableThinking }: Record<string, unknown>) => ({ ...(addGenerationPrompt === undefined ? {} : { addGenerationPrompt: addGenerationPrompt as boolean }), ...(enableThinking === undefined ? {} : { enableThinking: enableThinking as boolean }) })
    for (const { messages, options, ids } of expected.chats) expect(template.encode(messages, variables(options))).toEqual(ids)
    expect(expected.chats.length).toBeGreaterThan(0)
  })
})

it('SmolLM3 gets its ids under either name its files may have for the cut', async () => {
  const { metadata } = await written('smollm3')
  metadata.set('tokenizer.ggml.pre', 'smaug-bpe')
  const { json, config } = tokenizerOfGguf({ path: 'a.gguf', metadata }, ROWS)
  const tokenizer = createTokenizer(json, config)
  expect((json['model'] as { ignore_merges: boolean }).ignore_merges).toBe(true)
  for (const [text, ids] of expectedOf('smollm3').plain) expect(tokenizer.encode(text), JSON.stringify(text)).toEqual(ids)
})

describe('a tokenizer that the keys cannot say', () => {
  it('goes along whole, and a note says what llama.cpp will do otherwise', async () => {
    const source = await readTokenizerSource(fixture('tokenizers', 'qwen2'))
    const json = { ...source.json, pre_tokenizer: { type: 'ByteLevel', add_prefix_space: true, use_regex: false, trim_offsets: true } }
    const { entries, notes } = metadataOfTokenizer({ ...source, json }, await configOf('qwen2'))
    expect(notes.join()).toContain('it may give other ids for the same text')
    const back = tokenizerOfGguf({ path: 'a.gguf', metadata: new Map(entries.map(({ key, value }) => [key, value])) }, ROWS)
    expect(back.json).toEqual(json)
  })

  it('is refused where it is no byte-level one, or has more ids than the model has rows', async () => {
    const config = await configOf('llama')
    const sentencePieces = await readTokenizerSource(fixture('tokenizers', 'llama2'))
    expect((await userError(() => metadataOfTokenizer(sentencePieces, config))).what).toContain('a SentencePiece tokenizer cannot be written')
    const source = await readTokenizerSource(fixture('tokenizers', 'qwen2'))
    expect((await userError(() => metadataOfTokenizer(source, { ...config, vocabularySize: 100 }))).what).toContain('its ids go up to 426, the embedding has 100 rows')
  })
})

describe('ids with a meaning', () => {
  it('come back as they were written, all of those that end a completion', async () => {
    const { metadata } = await written('qwen2', { bosId: 420, eosIds: [421, 420, 422], padId: 423 })
    // The tokenizer's own end and padding tokens, which its template may print, and another id that ends a turn.
    expect([metadata.get('tokenizer.ggml.eos_token_id'), metadata.get('tokenizer.ggml.eot_token_id')]).toEqual([422, 421])
    expect(specialIdsOfGguf({ path: 'a.gguf', metadata }, ROWS)).toEqual({ bos_token_id: 420, eos_token_id: [421, 420, 422], pad_token_id: 420 })
  })

  it('of other writers are the end id, and control tokens that end a turn', () => {
    const metadata = new Map<string, GgufValue>([['tokenizer.ggml.tokens', ['<|endoftext|>', 'a', '<|im_end|>', '<|im_start|>', '</s>']], ['tokenizer.ggml.token_type', [3, 1, 3, 3, 3]], ['tokenizer.ggml.eos_token_id', 4]])
    expect(specialIdsOfGguf({ path: 'a.gguf', metadata }, 5).eos_token_id).toEqual([4, 0, 2])
  })

  it('no text that only looks like such a token ends anything', () => {
    const metadata = new Map<string, GgufValue>([['tokenizer.ggml.tokens', ['<|im_end|>', 'a']], ['tokenizer.ggml.token_type', [1, 1]]])
    expect(specialIdsOfGguf({ path: 'a.gguf', metadata }, 2).eos_token_id).toEqual([])
  })
})

describe('a begin token in front of a plain prompt', () => {
  const prompt = (change: readonly [string, GgufValue][]): number[] => {
    const metadata = new Map<string, GgufValue>([...tinyMetadata().map(({ key, value }) => [key, value] as const), ['tokenizer.ggml.bos_token_id', 63], ...change])
    const { json, config } = tokenizerOfGguf({ path: 'a.gguf', metadata }, 64)
    return createTokenizer(json, config).encodePrompt('"')
  }
  it('is put where the file says so, or its kind of tokenizer does', () => {
    expect(prompt([])).toEqual([1])
    expect(prompt([['tokenizer.ggml.add_bos_token', true]])).toEqual([63, 1])
    expect(prompt([['tokenizer.ggml.pre', 'llama-bpe']])).toEqual([63, 1])
    expect(prompt([['tokenizer.ggml.pre', 'llama-bpe'], ['tokenizer.ggml.add_bos_token', false]])).toEqual([1])
    expect(prompt([['tokenizer.ggml.add_eos_token', true]])).toEqual([1, 63])
  })
})

describe('a tokenizer that cannot be used', () => {
  const withChange = (...change: [string, GgufValue | undefined][]) => {
    const metadata = new Map<string, GgufValue>(tinyMetadata().map(({ key, value }) => [key, value]))
    for (const [key, value] of change) {
      if (value === undefined) metadata.delete(key)
      else metadata.set(key, value)
    }
    return userError(() => tokenizerOfGguf({ path: 'a.gguf', metadata }, 64))
  }
  it.each<[string, string, GgufValue | undefined, string]>([
    ['another kind', 'tokenizer.ggml.model', 'llama', 'a tokenizer of kind "llama" is not read'],
    ['no kind at all', 'tokenizer.ggml.model', undefined, 'the metadata lacks this key'],
    ['an unknown way of cutting', 'tokenizer.ggml.pre', 'tekken', 'the way "tekken" of cutting texts is not known'],
    ['no list of tokens', 'tokenizer.ggml.tokens', undefined, 'the metadata lacks this key'],
    ['tokens that are no texts', 'tokenizer.ggml.tokens', [1, 2], 'the value is a list of 2 values'],
    ['fewer tokens than rows', 'tokenizer.ggml.tokens', ['a'], 'it lists 1 tokens, the embedding has 64 rows'],
    ['kinds for other tokens', 'tokenizer.ggml.token_type', [1, 1], 'it has 2 entries for 64 tokens'],
    ['a merge of what is no token', 'tokenizer.ggml.merges', ['! \u0120'], 'is not of two tokens that make a third'],
    ['a merge of one', 'tokenizer.ggml.merges', ['!'], 'is not of two tokens that make a third'],
    ['an end id outside the vocabulary', 'tokenizer.ggml.eos_token_id', 64, 'id 64 lies outside the vocabulary of 64'],
    ['an end id that is a text', 'tokenizer.ggml.eos_token_id', '3', 'the value is "3"'],
    ['a tokenizer.json that is none', JSON_KEY, '{', 'the text is not JSON'],
  ])('%s', async (_, key, value, what) => {
    const error = await withChange([key, value])
    expect(error.what).toContain(what)
    expect(error.place).toEqual({ file: 'a.gguf', field: key })
  })

  it('two equal tokens: the first is the one a text becomes', () => {
    const metadata = new Map<string, GgufValue>(tinyMetadata().map(({ key, value }) => [key, key === 'tokenizer.ggml.tokens' ? (value as string[]).map((token, id) => (id === 5 ? '"' : token)) : value]))
    const { json, config } = tokenizerOfGguf({ path: 'a.gguf', metadata }, 64)
    expect(createTokenizer(json, config).encode('"')).toEqual([1])
  })
})
