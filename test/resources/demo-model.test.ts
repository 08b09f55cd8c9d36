import { readFileSync } from 'node:fs'
import { Template } from '@huggingface/jinja'
import { Tokenizer } from '@huggingface/tokenizers'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { demoPattern } from '../../src-main/engine-host/make-demo/demo-tokenizer.ts'
import { sftExamples } from '../../src-main/engine-host/make-demo/corpus.ts'
import { demoPrompts } from '../../src-main/engine-host/make-demo/prompts.ts'
import { wordClasses } from '../../src-main/engine-host/make-demo/vocabulary.ts'
import { demoResourceFiles } from '../../src-main/engine-host/make-demo/write-demo.ts'
import { splitPieces } from '../../src-main/engine/models/bpe-trainer.ts'
import { resourcePath } from '../../src-main/engine/runtime/paths.ts'

function read(name: string): string {
  return readFileSync(resourcePath('demo', ...name.split('/')), 'utf8')
}

interface TokenizerFile {
  readonly model: { readonly vocab: Readonly<Record<string, number>> }
  readonly added_tokens: readonly { readonly id: number; readonly content: string }[]
}

const tokenizerFile = JSON.parse(read('model/tokenizer.json')) as TokenizerFile
const tokenizerConfig = JSON.parse(read('model/tokenizer_config.json')) as { readonly chat_template: string }
const config = JSON.parse(read('model/config.json')) as Readonly<Record<string, number>>
const tokenizer = new Tokenizer(tokenizerFile, tokenizerConfig)
const count = (text: string): number => tokenizer.encode(text).ids.length
const specials = ['<|endoftext|>', '<|im_start|>', '<|im_end|>']
const words = Object.values(wordClasses).flat()

describe('the built-in data', () => {
  it('is byte for byte what the generator writes', () => {
    for (const [name, text] of demoResourceFiles()) expect(read(name) === text, `resources/demo/${name} differs: write it again`).toBe(true)
  })
})

describe('the built-in tokenizer', () => {
  it('returns every reference and every prompt', () => {
    for (const row of demoPrompts()) {
      for (const text of [row.prompt, row.reference]) expect(tokenizer.decode(tokenizer.encode(text).ids)).toBe(text)
    }
  })

  it.each([
    ' ', '\n', '\r\n', '\t\tx', '  \n  \n', 'A', 'ÄÖÜß', '日本語のテキスト', 'naïve café', '👩‍👩‍👧‍👦 family', 'e\u0301', '\u0000\u0001', 'a'.repeat(300), '((((((((((', ' <h1>  </h1> ',
    'USA2024 iPhone15Pro', `"Red Apples"\t'x'`, '\u2028\u2029\ufeff', '0123456789',
  ])('returns the hard text %j', (text) => {
    const { ids } = tokenizer.encode(text)
    expect(tokenizer.decode(ids)).toBe(text)
    expect(ids.every((id) => Number.isInteger(id) && id >= 0 && id < (config['vocab_size'] ?? 0))).toBe(true)
  })

  it('returns any text', () => {
    fc.assert(fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), (text) => {
      fc.pre(!specials.some((special) => text.includes(special)))
      expect(tokenizer.decode(tokenizer.encode(text).ids)).toBe(text)
    }))
  })

  it('cuts texts as its trainer does', () => {
    const text = demoPrompts().map((row) => `${row.prompt}\n${row.reference}`).join('\n')
    const whole = tokenizer.encode(text).ids
    expect(splitPieces(text, demoPattern).flatMap((piece) => tokenizer.encode(piece).ids)).toEqual(whole)
  })

  it('has one id for every word, the same after a blank, a quote and a tag', () => {
    for (const word of words) {
      const { ids } = tokenizer.encode(word)
      expect(ids, word).toHaveLength(1)
      for (const text of [` ${word}`, `"${word}"`, `>${word}</h1>`, `'${word}'`, `called ${word}.`, `Red ${word}, too`]) {
        expect(tokenizer.encode(text).ids, text).toContain(ids[0])
      }
    }
  })

  it('has dense ids that fit the embedding, special tokens last', () => {
    const ids = [...Object.values(tokenizerFile.model.vocab), ...tokenizerFile.added_tokens.map((token) => token.id)].sort((left, right) => left - right)
    expect(ids).toEqual(Array.from({ length: config['vocab_size'] ?? 0 }, (_, id) => id))
    expect(tokenizerFile.added_tokens.map((token) => token.content)).toEqual(specials)
  })

  it('keeps references within 128 tokens with the end token, prompts within 30', () => {
    const rows = demoPrompts()
    const lengths = rows.map((row) => count(row.reference) + 1).sort((left, right) => left - right)
    // Measured: median 55, 95th percentile 69, longest 69.
    expect(lengths.at(-1)).toBeLessThanOrEqual(128)
    expect(lengths[Math.floor(lengths.length / 2)]).toBeLessThanOrEqual(110)
    expect(Math.max(...rows.map((row) => count(row.prompt)))).toBeLessThanOrEqual(30)
  })

  it('keeps spoilt programs within 128 tokens too', () => {
    const examples = [...sftExamples(1, 500, { corruptShare: 1, mistakes: [4, 4] })]
    expect(Math.max(...examples.map((example) => count(example.completion) + 1))).toBeLessThanOrEqual(128)
  })
})

describe('the built-in chat template', () => {
  const template = new Template(tokenizerConfig.chat_template)

  it('writes ChatML without a system line of its own', () => {
    const messages = [{ role: 'user', content: 'Make a counter.' }]
    expect(template.render({ messages, add_generation_prompt: true })).toBe('<|im_start|>user\nMake a counter.<|im_end|>\n<|im_start|>assistant\n')
  })

  it('keeps a given system line and the answer', () => {
    const messages = [{ role: 'system', content: 'S' }, { role: 'user', content: 'U' }, { role: 'assistant', content: 'A' }]
    expect(template.render({ messages, add_generation_prompt: false }))
      .toBe('<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\nA<|im_end|>\n')
  })

  it('costs eight tokens around a prompt', () => {
    const messages = [{ role: 'user', content: 'Make a counter.' }]
    expect(count(template.render({ messages, add_generation_prompt: true })) - count('Make a counter.')).toBe(8)
  })
})
