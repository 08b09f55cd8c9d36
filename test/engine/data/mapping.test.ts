import { describe, expect, it } from 'vitest'
import type { DatasetMapping } from '../../../src-main/contract/calls/datasets.ts'
import type { DataRow } from '../../../src-main/engine/data/data-source.ts'
import { columnsOf, guessMapping, mapRow } from '../../../src-main/engine/data/mapping.ts'

const nothing: DatasetMapping = { prompt: null, system: null, answer: null, requirements: null, tests: null, entry: null, tags: null, id: null, split: null }
const rowsOf = (...values: Record<string, unknown>[]): DataRow[] => values.map((value, index) => ({ index, line: index + 1, value, problem: '' }))
const rowOf = (value: Record<string, unknown>): DataRow => rowsOf(value)[0] as DataRow
const guessFor = (...values: Record<string, unknown>[]): Partial<DatasetMapping> => Object.fromEntries(Object.entries(guessMapping(columnsOf(rowsOf(...values)))).filter(([, column]) => column !== null))

describe('the guess', () => {
  it.each([
    ['a maths set', { problem: '2 + 2?', solution: 'It is 4.', answer: '4', level: 'Level 1' }, { prompt: 'problem', answer: 'answer', tags: 'level' }],
    ['an instruction set', { Instruction: 'Write.', Output: 'Written.' }, { prompt: 'Instruction', answer: 'Output' }],
    ['conversations', { messages: [{ role: 'user', content: 'Hi' }], id: 'a' }, { prompt: 'messages', id: 'id' }],
    ['a set for distributed training', { prompt: [{ role: 'user', content: 'Hi' }], reward_model: { style: 'rule', ground_truth: '4' } }, { prompt: 'prompt', answer: 'reward_model.ground_truth' }],
    ['a prompt file of Satchel', { id: 'a', prompt: 'Hi', requirements: [{ kind: 'text', text: 'x' }], split: 'train' }, { prompt: 'prompt', requirements: 'requirements', id: 'id', split: 'split' }],
    ['columns of unknown names', { n: 3, words: 'a long text that somebody wrote', more: 'short' }, { prompt: 'words' }],
  ])('for %s', (_, value, expected) => {
    expect(guessFor(value)).toEqual(expected)
  })

  it('takes no column for the side that speaks of something else', () => {
    expect(guessFor({ prompt: 'a', split: 'north' })).toEqual({ prompt: 'prompt' })
  })
})

describe('columns', () => {
  it('say what their values are and how many are filled', () => {
    const columns = columnsOf(rowsOf({ a: 'x', b: { c: 1 } }, { a: '' }))
    expect(columns).toEqual([
      { name: 'a', kinds: ['text', 'empty'], filled: 0.5, example: 'x' },
      { name: 'b', kinds: ['object', 'empty'], filled: 0.5, example: '{"c":1}' },
      { name: 'b.c', kinds: ['number', 'empty'], filled: 0.5, example: '1' },
    ])
  })
})

describe('a mapped row', () => {
  it('is a prompt row', () => {
    const row = rowOf({ q: 'Two?', a: 2, t: 'easy, sums', s: 'validation', sys: 'Be brief.', n: 7, req: '[{"kind": "text", "text": "2"}]' })
    expect(mapRow(row, { ...nothing, prompt: 'q', answer: 'a', tags: 't', split: 's', system: 'sys', id: 'n', requirements: 'req' })).toEqual({
      ok: true,
      row: { id: '7', prompt: 'Two?', system: 'Be brief.', answer: '2', requirements: [{ kind: 'text', text: '2' }], data: { tags: ['easy', 'sums'] }, split: 'heldout' },
    })
  })

  it('asks the last question of a conversation, under its system text', () => {
    const messages = [{ from: 'system', value: 'S' }, { from: 'human', value: 'first' }, { from: 'gpt', value: 'no' }, { from: 'human', value: 'second' }, { from: 'gpt', value: 'yes' }]
    expect(mapRow(rowOf({ messages }), { ...nothing, prompt: 'messages' })).toEqual({ ok: true, row: { prompt: 'second', system: 'S' } })
  })

  it.each([
    [{ q: '' }, 'q', /prompt is empty/],
    [{ q: '   ' }, 'q', /prompt is empty/],
    [{ q: { deep: 1 } }, 'q', /no text and no conversation/],
    [{ q: [{ role: 'assistant', content: 'x' }] }, 'q', /no question of a user/],
    [{ q: 'x', r: 'no list' }, 'r', /no list/],
    [{ q: 'x', r: '[{"kind": "smell"}]' }, 'r', /./],
  ])('%j says which column is wrong and why', (value, field, what) => {
    const mapped = mapRow(rowOf(value), { ...nothing, prompt: 'q', requirements: 'r' })
    expect(mapped).toEqual({ ok: false, field, what: expect.stringMatching(what) as string })
  })

  it('says what the reader of the file said', () => {
    expect(mapRow({ index: 0, line: 1, value: null, problem: 'not JSON' }, { ...nothing, prompt: 'q' })).toEqual({ ok: false, field: '', what: 'not JSON' })
  })
})
