import { Tokenizer } from '@huggingface/tokenizers'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { byteLevelAlphabet, splitPieces, tokenizerJson, trainBpe } from '../../../src-main/engine/models/bpe-trainer.ts'

const wordOrRest = String.raw`\p{L}+|[^\p{L}]+`

describe('the byte-level alphabet', () => {
  it('gives every byte a printable character of its own, as GPT-2 does', () => {
    const alphabet = byteLevelAlphabet()
    expect(new Set(alphabet).size).toBe(256)
    expect([alphabet[0x20], alphabet[0x0a], alphabet[0x41], alphabet[0xad]]).toEqual(['Ġ', 'Ċ', 'A', 'Ń'])
  })
})

describe('splitting', () => {
  it('loses nothing, whatever the text', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => splitPieces(text, String.raw`\p{L}+|\d`).join('') === text))
  })

  it('keeps what no alternative matches as a piece', () => {
    expect(splitPieces('ab, cd', String.raw`\p{L}+`)).toEqual(['ab', ', ', 'cd'])
  })
})

describe('training', () => {
  it('merges the most frequent pair first', () => {
    // Pieces: low x5, lower x2, newest x6, widest x3 (the example of Sennrich et al. 2016 without end-of-word marks).
    // Counts: es = st = 9 -> es (e < s); then est = 9; then lo = 7; then low = 7; ne = ew = 6 and w+est = 6 -> ew before ne and w+est by id.
    const corpus = ['low', 'lower', 'newest', 'widest'].flatMap((word, at) => Array<string>([5, 2, 6, 3][at] ?? 0).fill(word))
    const { merges } = trainBpe(corpus, { pattern: wordOrRest, vocabularySize: 256 + 5, specialTokens: [] })
    expect(merges).toEqual([['e', 's'], ['es', 't'], ['l', 'o'], ['lo', 'w'], ['e', 'w']])
  })

  it('counts a pair inside a run of equal letters as often as it can be merged', () => {
    const { merges } = trainBpe(['aaaa'], { pattern: wordOrRest, vocabularySize: 300, specialTokens: [] })
    expect(merges).toEqual([['a', 'a']])
  })

  it('never merges across pieces', () => {
    const { merges } = trainBpe(Array<string>(20).fill('a-b'), { pattern: wordOrRest, vocabularySize: 300, specialTokens: [] })
    expect(merges).toEqual([])
  })

  it('stops when nothing occurs often enough', () => {
    const trained = trainBpe(['one two'], { pattern: wordOrRest, vocabularySize: 1000, specialTokens: ['<|end|>'], minimumCount: 2 })
    expect(trained.vocabulary).toHaveLength(256)
  })

  it('refuses a vocabulary that cannot hold the bytes', () => {
    expect(() => trainBpe([], { pattern: wordOrRest, vocabularySize: 256, specialTokens: ['<|end|>'] })).toThrow(RangeError)
  })

  it('gives a tokenizer that the tokenizers library reads and that returns every text', () => {
    const corpus = ['the cat sat on the mat', 'the dog sat on the log', 'größer als ein Haus']
    const trained = trainBpe(corpus.flatMap((text) => [text, text]), { pattern: wordOrRest, vocabularySize: 300, specialTokens: ['<|end|>'] })
    const tokenizer = new Tokenizer(tokenizerJson(trained), {})
    expect(tokenizer.encode('the').ids).toHaveLength(1)
    expect(tokenizer.encode('<|end|>').ids).toEqual([trained.vocabulary.length])
    fc.assert(fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), (text) => {
      fc.pre(!text.includes('<|end|>'))
      expect(tokenizer.decode(tokenizer.encode(text).ids)).toBe(text)
    }))
  })
})
