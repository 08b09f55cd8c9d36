import { describe, expect, it } from 'vitest'
import type { MistakeKind } from '../../../src-main/engine-host/make-demo/corrupt.ts'
import { corrupt, mistakeCapacity, mistakeKinds, possibleMistakes } from '../../../src-main/engine-host/make-demo/corrupt.ts'
import { sftExamples } from '../../../src-main/engine-host/make-demo/corpus.ts'
import { demoPrompts } from '../../../src-main/engine-host/make-demo/prompts.ts'
import { createStream } from '../../../src-main/engine/runtime/random.ts'
import { typeCheck } from '../../resources/type-check.ts'

const references = demoPrompts().map((row) => row.reference)

describe('mistakes', () => {
  it('break parsing or the type check one by one, more than 97 of 100', () => {
    const spoilt = references.flatMap((reference, row) => [0, 1, 2].map((draw) => corrupt(reference, createStream(1, 'test', row, draw), 1)))
    const errors = typeCheck(spoilt.map((example) => example.program))
    const harmless = spoilt.filter((_, index) => errors[index]?.length === 0)
    const seen = new Set<MistakeKind>(spoilt.flatMap((example) => example.mistakes.map((mistake) => mistake.kind)))
    expect([...seen].sort()).toEqual([...mistakeKinds].sort())
    expect(harmless.length / spoilt.length, JSON.stringify(harmless.map((example) => example.mistakes))).toBeLessThan(0.03)
  })

  it('leave the right spelling of every place the likelier one when four are asked for', () => {
    const draws = 1000
    for (const program of new Set(demoPrompts().filter((row) => row.id.endsWith('-07')).map((row) => row.reference))) {
      const wrong = new Map<number, number>()
      for (let draw = 0; draw < draws; draw++) {
        const { mistakes } = corrupt(program, createStream(5, 'test', draw), Math.min(4, mistakeCapacity(program)))
        for (const mistake of mistakes) wrong.set(mistake.start, (wrong.get(mistake.start) ?? 0) + 1)
      }
      expect(Math.max(...wrong.values()) / draws, program).toBeLessThan(0.4)
    }
  })

  it('stand where the list says', () => {
    const program = references[0] ?? ''
    const { program: text, mistakes } = corrupt(program, createStream(2, 'test'), 5)
    let rebuilt = program
    for (const mistake of mistakes.toReversed()) rebuilt = rebuilt.slice(0, mistake.start) + mistake.replacement + rebuilt.slice(mistake.end)
    expect(rebuilt).toBe(text)
    expect(mistakes).toHaveLength(5)
  })

  it('never overlap', () => {
    for (const { mistakes } of sftExamples(4, 200, { corruptShare: 1, mistakes: [6, 6] })) {
      mistakes.slice(1).forEach((mistake, index) => expect(mistakes[index]?.end).toBeLessThanOrEqual(mistake.start))
    }
  })

  it('are none when none are asked for', () => {
    expect(corrupt(references[0] ?? '', createStream(3, 'test'), 0)).toEqual({ program: references[0], mistakes: [] })
  })

  it('stop when a text has no room for more', () => {
    expect(corrupt('()', createStream(3, 'test'), 5).program).toBe('')
    expect(Object.values(possibleMistakes('plain words')).flat()).toEqual([])
  })
})
