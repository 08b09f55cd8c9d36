import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createTokenizer, openTokenizer } from '../../../src-main/engine/models/tokenizer.ts'
import type { Tokenizer } from '../../../src-main/engine/models/tokenizer.ts'
import { concatenate } from '../../../src-main/engine/models/utf8-spans.ts'
import { fixture, temporaryFolder, TOKENIZER_FIXTURES, userError } from './fixtures.ts'

interface Expected {
  readonly size: number
  readonly plain: [string, number[]][]
  readonly specials: [string, number[]][]
  readonly prompt: [string, number[]][]
  readonly decoded: [number[], string][]
}

const read = <T>(name: string, file: string): T => JSON.parse(readFileSync(fixture('tokenizers', name, file), 'utf8')) as T
const load = (name: string): Tokenizer => createTokenizer(read(name, 'tokenizer.json'), read(name, 'tokenizer_config.json'))

describe.each(TOKENIZER_FIXTURES)('%s: as the reference library', (name) => {
  const tokenizer = load(name)
  const expected = read<Expected>(name, 'expected.json')

  test('size', () => {
    expect(tokenizer.size).toBe(expected.size)
  })

  test.each(expected.plain)('plain text %j', (text, ids) => {
    expect(tokenizer.encode(text)).toEqual(ids)
  })

  test.each(expected.specials)('text of a template %j', (text, ids) => {
    expect(tokenizer.encodeTemplate(text)).toEqual(ids)
  })

  test.each(expected.prompt)('plain prompt %j', (text, ids) => {
    expect(tokenizer.encodePrompt(text)).toEqual(ids)
  })
})

describe.each(TOKENIZER_FIXTURES)('%s: decoding', (name) => {
  const tokenizer = load(name)
  const expected = read<Expected>(name, 'expected.json')
  const ids = fc.array(fc.nat(tokenizer.size - 1), { maxLength: 30 })

  // The byte-fallback decoder of the reference replaces ill-formed bytes one by one (TextDecoder, like the rest of Satchel, by
  // ill-formed part), and it does not skip control tokens that are matched in normalised text.
  const byteLevel = ['qwen2', 'llama3', 'smollm', 'smollm3', 'phi4'].includes(name)
  const comparable = expected.decoded.filter(([sequence, text]) => byteLevel || !(text.includes('\uFFFD') || (name === 'llama2-normalized' && sequence.some((id) => tokenizer.specialIds.has(id)))))

  test.each(comparable)('ids %j', (sequence, text) => {
    expect(tokenizer.decode(sequence, { atStart: true })).toBe(text)
  })

  test('the comparison covers enough sequences', () => {
    expect(comparable.length).toBeGreaterThanOrEqual(5)
  })

  test('any ids: bytes joined and decoded are the text, ranges are ordered and cover it', () => {
    fc.assert(
      fc.property(ids, (sequence) => {
        const { text, starts, ends } = tokenizer.tokenOffsets(sequence)
        const bytes = concatenate(sequence.filter((id) => !tokenizer.specialIds.has(id)).map((id) => tokenizer.idToBytes(id)))
        expect(text).toBe(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes))
        expect(text).toBe(tokenizer.decode(sequence))
        const covered = new Uint8Array(text.length)
        for (const [index, id] of sequence.entries()) {
          const [start, end] = [starts[index] as number, ends[index] as number]
          if (index > 0) expect(start).toBeGreaterThanOrEqual(starts[index - 1] as number)
          if (tokenizer.specialIds.has(id)) expect(end).toBe(start)
          else expect(end).toBeGreaterThan(start)
          covered.fill(1, start, end)
        }
        expect(covered.every((value) => value === 1)).toBe(true)
      }),
    )
  })

  test('any text survives encoding and decoding, normalisation aside', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 30 }), (text) => {
        const normal = name === 'qwen2' ? text.normalize('NFC') : text
        // A first section that begins with a space has no artificial space before it in a Metaspace tokenizer, so dropping one is ambiguous.
        fc.pre(!(name === 'mistral' && /^[ \u2581]/.test(text)))
        expect(tokenizer.decode(tokenizer.encode(normal), { atStart: true })).toBe(name.startsWith('llama2') || name === 'mistral' ? normal.replaceAll('\u2581', ' ') : normal)
      }),
    )
  })

  test('an unpaired surrogate becomes U+FFFD, as in any UTF-8 encoder', () => {
    expect(tokenizer.decode(tokenizer.encode('a\uD83Db'), { atStart: true })).toBe('a\uFFFDb')
  })
})

describe('control tokens', () => {
  test.each(TOKENIZER_FIXTURES)('%s: no plain text makes one', (name) => {
    const tokenizer = load(name)
    const unknown = tokenizer.idOf('<unk>')
    const contents = [...tokenizer.specialTokens.values()]
    const parts = fc.array(fc.oneof(fc.constantFrom(...contents), fc.constantFrom(...contents.map((content) => content.slice(0, 5))), fc.constantFrom(...contents.map((content) => content.slice(-5))), fc.string({ maxLength: 4 }), fc.constantFrom(' ', '\n', '\u2581')), { maxLength: 8 })
    fc.assert(
      fc.property(parts, (texts) => {
        const ids = tokenizer.encode(texts.join(''))
        expect(ids.filter((id) => tokenizer.specialIds.has(id) && id !== unknown)).toEqual([])
      }),
    )
  })

  test('a vocabulary that lists them as ordinary pieces, with merges and whole-word look-up, cannot be used to make one', () => {
    const letters = [...'</s>ab'].filter((letter, index, all) => all.indexOf(letter) === index)
    const vocab = Object.fromEntries(['<s>', '</s>', ...letters, '<s', '</', 's>', '</s'].map((token, id) => [token, id]))
    const json = {
      added_tokens: [{ id: 0, content: '<s>', special: true }, { id: 1, content: '</s>', special: true }],
      pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, use_regex: false },
      decoder: { type: 'ByteLevel' },
      model: { type: 'BPE', vocab, merges: ['< s', '< /', '</ s', 's >', '<s >', ['</s', '>']], ignore_merges: true },
    }
    const tokenizer = createTokenizer(json)
    for (const text of ['</s>', '<s>', 'a</s>b', '<s></s>']) {
      const ids = tokenizer.encode(text)
      expect(ids.some((id) => tokenizer.specialIds.has(id))).toBe(false)
      expect(tokenizer.decode(ids)).toBe(text)
    }
    expect(tokenizer.encodeTemplate('<s>a</s>')).toEqual([0, tokenizer.idOf('a'), 1])
  })

  test('they are skipped when decoding unless asked for', () => {
    const tokenizer = load('qwen2')
    const ids = tokenizer.encodeTemplate('<|im_start|>user<think>')
    expect(tokenizer.decode(ids)).toBe('user<think>')
    expect(tokenizer.decode(ids, { keepSpecial: true })).toBe('<|im_start|>user<think>')
  })

  test('hidden text is restored after control tokens were matched', () => {
    const tokenizer = load('qwen2')
    const start = tokenizer.idOf('<|im_start|>')
    const ids = tokenizer.encodeTemplate('<|im_start|>a \uE000 b', new Map([['\uE000', '<|im_start|>']]))
    expect(ids[0]).toBe(start)
    expect(ids.slice(1)).toEqual(tokenizer.encode('a <|im_start|> b'))
  })
})

describe('ids without a token', () => {
  test('add no bytes and no text', () => {
    const tokenizer = createTokenizer({ ...BYTES, added_tokens: [{ id: 300, content: '<|end|>', special: true }] })
    expect([tokenizer.size, tokenizer.tokenOf(299), tokenizer.idToBytes(299).length, tokenizer.idToBytes(5000).length]).toEqual([301, undefined, 0, 0])
    expect(tokenizer.tokenOffsets([65, 299, 300, 66])).toEqual({ text: 'AB', starts: Int32Array.of(0, 1, 1, 1), ends: Int32Array.of(1, 1, 1, 2) })
  })
})

/** A byte-level tokenizer without merges whose ids are the bytes. */
const BYTES = {
  decoder: { type: 'ByteLevel' },
  pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, use_regex: true },
  model: { type: 'BPE', merges: [], vocab: Object.fromEntries(Array.from({ length: 256 }, (_, byte) => [letterOf(byte), byte])) },
}

/** GPT-2's letter of a byte, by its original construction: visible Latin-1 bytes, then the others from U+0100 on. */
function letterOf(byte: number): string {
  const visible = [...range(33, 126), ...range(161, 172), ...range(174, 255)]
  if (visible.includes(byte)) return String.fromCharCode(byte)
  return String.fromCharCode(256 + range(0, 255).filter((other) => !visible.includes(other)).indexOf(byte))
}

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index)
}

test('every byte has its letter', () => {
  const tokenizer = createTokenizer(BYTES)
  for (let byte = 0; byte < 256; byte += 1) expect([...tokenizer.idToBytes(byte)]).toEqual([byte])
})

describe('a tokenizer that cannot be used is refused', () => {
  const base = (): Record<string, unknown> => structuredClone(BYTES)

  test('one that does not fit the embedding', async () => {
    const size = read<Expected>('qwen2', 'expected.json').size
    const folder = fixture('tokenizers', 'qwen2')
    const envelope = await userError(async () => openTokenizer(folder, { vocabularySize: size - 1 }))
    expect(envelope).toMatchObject({ code: 'bad-input', place: { file: join(folder, 'tokenizer.json') } })
    expect(envelope.what).toBe(`the tokenizer does not fit the embedding: its ids go up to ${size - 1}, the embedding has ${size - 1} rows`)
    expect((await openTokenizer(folder, { vocabularySize: size })).size).toBe(size)
  })

  test.each<[string, (json: Record<string, unknown>) => unknown, string | undefined, string]>([
    ['another kind of model', (json) => ({ ...json, model: { type: 'Unigram', vocab: [] } }), 'model.type', 'a tokenizer of type Unigram is not supported'],
    ['no model', (json) => ({ ...json, model: undefined }), 'model', 'must describe a byte-pair (BPE) model'],
    ['no vocabulary', (json) => ({ ...json, model: { type: 'BPE', merges: [] } }), 'model.vocab', 'must map tokens to ids'],
    ['no merges', (json) => ({ ...json, model: { type: 'BPE', vocab: {} } }), 'model.merges', 'must be a list of pairs'],
    ['an id that is no number', (json) => ({ ...json, model: { type: 'BPE', vocab: { a: 'x' }, merges: [] } }), 'token "a"', 'its id x is not a whole number from 0'],
    ['two tokens with one id', (json) => ({ ...json, model: { type: 'BPE', vocab: { a: 1, b: 1 }, merges: [] } }), 'token "b"', 'its id 1 is also that of "a"'],
    ['an added token on a taken id', (json) => ({ ...json, added_tokens: [{ id: 65, content: '<x>' }] }), 'token "<x>"', 'its id 65 is also that of "A"'],
    ['no decoder', (json) => ({ ...json, decoder: null }), 'decoder', 'the tokenizer spells no bytes (decoder none)'],
    ['an unknown pre-tokenizer', (json) => ({ ...json, pre_tokenizer: { type: 'Telepathy' } }), undefined, 'the tokenizer cannot be built'],
    ['not an object', () => [], undefined, 'must hold one JSON object'],
  ])('%s', async (_, change, field, what) => {
    const envelope = await userError(() => createTokenizer(change(base()), {}, 'm/tokenizer.json'))
    expect(envelope.what).toContain(what)
    expect(envelope.place).toEqual(field === undefined ? { file: 'm/tokenizer.json' } : { file: 'm/tokenizer.json', field })
  })

  test('a folder without tokenizer.json, or with one that is not JSON', async () => {
    const folder = temporaryFolder()
    cpSync(fixture('tokenizers', 'qwen2'), folder, { recursive: true })
    writeFileSync(join(folder, 'tokenizer.json'), '{')
    expect((await userError(async () => openTokenizer(folder, { vocabularySize: 1000 }))).what).toContain('not JSON')
    rmSync(join(folder, 'tokenizer.json'))
    expect(await userError(async () => openTokenizer(folder, { vocabularySize: 1000 }))).toMatchObject({ code: 'not-found', place: { file: join(folder, 'tokenizer.json') } })
  })

  test('a folder without tokenizer_config.json is fine', async () => {
    const folder = temporaryFolder()
    cpSync(fixture('tokenizers', 'qwen2'), folder, { recursive: true })
    rmSync(join(folder, 'tokenizer_config.json'))
    expect((await openTokenizer(folder, { vocabularySize: 1000 })).config).toEqual({})
  })
})

describe('digits are cut off from what stands before them', () => {
  // tokenizers 0.23.3: BPE over the 256 byte letters, merges as below, pre-tokenizer Digits then ByteLevel; "ⅷ" and "²" are numbers, not digits 0-9.
  const letters = Array.from({ length: 256 }, (_, byte) => byte).map((byte) => ((byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae ? String.fromCharCode(byte) : undefined))
  let next = 0x100
  const alphabet = letters.map((letter) => letter ?? String.fromCharCode(next++))
  const merges: [string, string][] = [['Ġ', 'â'], ['Ġ', '1'], ['1', '2']]
  const tokens = (text: string, individual: boolean): (string | undefined)[] => {
    const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true }
    const vocab = Object.fromEntries([...alphabet, ...merges.map((pair) => pair.join(''))].map((token, id) => [token, id]))
    const tokenizer = createTokenizer({ model: { type: 'BPE', vocab, merges }, decoder: byteLevel, pre_tokenizer: { type: 'Sequence', pretokenizers: [{ type: 'Digits', individual_digits: individual }, byteLevel] } })
    return tokenizer.encode(text).map((id) => tokenizer.tokenOf(id))
  }

  test('one by one', () => {
    expect(tokens(' ⅷ 12', true)).toEqual(['Ġ', 'â', 'ħ', '·', 'Ġ', '1', '2'])
    expect(tokens('x² 123 ٣٤', true)).toEqual(['x', 'Â', '²', 'Ġ', '1', '2', '3', 'Ġ', 'Ù', '£', 'Ù', '¤'])
  })

  test('in runs', () => {
    expect(tokens(' ⅷ 12', false)).toEqual(['Ġ', 'â', 'ħ', '·', 'Ġ', '12'])
    expect(tokens('x² 123 ٣٤', false)).toEqual(['x', 'Â', '²', 'Ġ', '12', '3', 'Ġ', 'Ù', '£', 'Ù', '¤'])
  })
})
