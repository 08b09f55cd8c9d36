import { expect, it } from 'vitest'
import { kindPhrasingWords } from './phrasing-words.ts'
import { wordClasses } from '../../../src-main/engine-host/make-demo/vocabulary.ts'

const all = Object.entries(wordClasses).flatMap(([name, words]) => words.map((word) => ({ name, word })))

it('writes every word as one capital and small letters', () => {
  expect(all.filter(({ word }) => !/^[A-Z][a-z]+$/.test(word))).toEqual([])
})

it('shares no word between classes', () => {
  expect(new Set(all.map(({ word }) => word)).size).toBe(all.length)
})

it('uses no capitalised word of the phrasings themselves', () => {
  const phrasing = kindPhrasingWords()
  expect(all.filter(({ word }) => phrasing.has(word))).toEqual([])
})
