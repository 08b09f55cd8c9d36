import { describe, expect, it } from 'vitest'
import { corpusExample, sftExamples } from '../../../src-main/engine-host/make-demo/corpus.ts'
import { choose, combinationKey } from '../../../src-main/engine-host/make-demo/grammar.ts'
import { appKinds } from '../../../src-main/engine-host/make-demo/kinds.ts'
import { demoPrompts, heldoutCombinations } from '../../../src-main/engine-host/make-demo/prompts.ts'
import { createStream } from '../../../src-main/engine/runtime/random.ts'
import { typeCheck } from '../../resources/type-check.ts'

const clean = { corruptShare: 0, mistakes: [0, 0] } as const

describe('the supervised corpus', () => {
  it('never holds a prompt, a reference or a combination of words that is held out', () => {
    const heldout = demoPrompts().filter((row) => row.split === 'heldout')
    const combinations = heldoutCombinations()
    const prompts = new Set(heldout.map((row) => row.prompt))
    const references = new Set(heldout.map((row) => row.reference))
    expect(combinations.size).toBe(heldout.length)
    for (const seed of [1, 2, 3]) {
      for (const example of sftExamples(seed, 20_000, clean)) {
        expect(combinations.has(example.combination) || prompts.has(example.prompt) || references.has(example.completion)).toBe(false)
      }
    }
  })

  it('would meet held-out combinations if it did not draw again', () => {
    const met: number[] = []
    for (let index = 0; index < 20_000; index++) {
      // The first numbers of an example's stream choose the kind and its words.
      const stream = createStream(1, 'demo-corpus', index)
      const kind = choose(stream, appKinds)
      if (heldoutCombinations().has(combinationKey(kind, kind.draw(stream)))) met.push(index)
    }
    expect(met.length).toBeGreaterThan(0)
    for (const index of met) expect(heldoutCombinations().has(corpusExample(1, index, clean).combination)).toBe(false)
  })

  it('depends on seed and index alone', () => {
    const options = { corruptShare: 0.5, mistakes: [1, 4] } as const
    const run = [...sftExamples(5, 50, options)]
    expect(corpusExample(5, 37, options)).toEqual(run[37])
    expect(corpusExample(6, 37, options)).not.toEqual(run[37])
  })

  it('holds every kind, and clean programs that parse and type check', () => {
    const examples = [...sftExamples(1, 300, clean)]
    expect(new Set(examples.map((example) => example.kind)).size).toBe(appKinds.length)
    expect(typeCheck(examples.map((example) => example.completion)).flat()).toEqual([])
  })

  it('spoils the asked share of examples with the asked number of mistakes', () => {
    const examples = [...sftExamples(2, 2000, { corruptShare: 0.6, mistakes: [1, 3] })]
    const counts = examples.map((example) => example.mistakes.length)
    const spoilt = counts.filter((count) => count > 0)
    // Four standard deviations of a share of 2,000 draws are 0.044.
    expect(Math.abs(spoilt.length / examples.length - 0.6)).toBeLessThan(0.044)
    expect([...new Set(spoilt)].sort()).toEqual([1, 2, 3])
  })

  it('gives a short program fewer mistakes than asked for, but some', () => {
    const counts = [...sftExamples(3, 500, { corruptShare: 1, mistakes: [40, 40] })].map((example) => example.mistakes.length)
    expect(Math.min(...counts)).toBeGreaterThanOrEqual(3)
    expect(Math.max(...counts)).toBeLessThan(12)
  })

  it('refuses a share or bounds that make no sense', () => {
    expect(() => corpusExample(1, 0, { corruptShare: 1.5, mistakes: [1, 1] })).toThrow(/corruptShare/)
    expect(() => corpusExample(1, 0, { corruptShare: 1, mistakes: [3, 1] })).toThrow(/mistakes/)
  })
})
