import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createRolloutReader, headerOf, rangesOf, rolloutFiles, searchRollouts } from '../../src-main/app/rollout-files.ts'
import type { RolloutQuery } from '../../src-main/contract/calls/run-data.ts'
import type { RolloutRecord } from '../../src-main/contract/events.ts'

let run: string

const rollout = (step: number, part: Partial<RolloutRecord> = {}): RolloutRecord => ({
  step, promptId: 'p', prompt: 'Make it.', index: 0, text: 'a', ids: [1], starts: [0], ends: [1], logprobs: [-1], entropies: [1], tokenRewards: [1], advantages: [0], reward: 1, outcome: 1,
  finish: 'stop', stages: { parse: true, types: true, bundle: true, render: true }, requirementScore: 1, auditPassed: true, sources: [], spans: [], ...part,
})
const failed = { parse: true, types: false, bundle: false, render: false }
const packed = (...records: RolloutRecord[]): Buffer => gzipSync(records.map((record) => `${JSON.stringify(record)}\n`).join(''))
const query = (part: Partial<RolloutQuery> = {}): RolloutQuery => ({ text: '', promptId: null, only: 'all', ...part })

beforeEach(() => {
  run = mkdtempSync(join(tmpdir(), 'satchel-rollouts-'))
  mkdirSync(join(run, 'rollouts'))
})
afterEach(() => rmSync(run, { recursive: true, force: true }))

describe('rollout files', () => {
  it('are listed by step, packed or not, and nothing else is', async () => {
    for (const name of ['000010.jsonl.gz', '000002.jsonl', '.000003.tmp', 'notes.txt']) writeFileSync(join(run, 'rollouts', name), '')
    expect((await rolloutFiles(run)).map(({ step }) => step)).toEqual([2, 10])
    expect(await rolloutFiles(join(run, 'absent'))).toEqual([])
  })

  it('become ranges of steps', () => {
    expect(rangesOf([1, 2, 3, 7, 9, 10])).toEqual([[1, 3], [7, 7], [9, 10]])
    expect(rangesOf([])).toEqual([])
  })
})

describe('the reader', () => {
  it('reads one step, and names a rollout by its line even when lines before it are damaged', async () => {
    writeFileSync(join(run, 'rollouts', '000001.jsonl'), `damaged\n${JSON.stringify(rollout(1, { text: 'found' }))}\n`)
    const [only, ...others] = await createRolloutReader().step(run, 1)
    expect(others).toEqual([])
    expect(only).toMatchObject({ order: 1, record: { text: 'found' } })
  })

  it('takes what a cut-off gzip file still holds', async () => {
    const many = packed(...Array.from({ length: 300 }, (_, index) => rollout(2, { index, text: `number ${index * 7919}` })))
    writeFileSync(join(run, 'rollouts', '000002.jsonl.gz'), many.subarray(0, many.length - 200))
    const { length } = await createRolloutReader().step(run, 2)
    expect(length).toBeGreaterThan(0)
    expect(length).toBeLessThan(300)
  })

  it('reads a step again when a resumed run has written it anew', async () => {
    const reader = createRolloutReader()
    writeFileSync(join(run, 'rollouts', '000001.jsonl.gz'), packed(rollout(1, { text: 'first' })))
    expect((await reader.step(run, 1))[0]?.record.text).toBe('first')
    writeFileSync(join(run, 'rollouts', '000001.jsonl.gz'), packed(rollout(1, { text: 'second time' })))
    expect((await reader.step(run, 1))[0]?.record.text).toBe('second time')
  })

  it('says which step has none', async () => {
    await expect(createRolloutReader().step(run, 5)).rejects.toThrow(/no rollouts of step 5/)
  })

  it('makes headers without the tokens', () => {
    const header = headerOf(rollout(1, { text: 'x'.repeat(1_000), ids: [1, 2], advantages: [1, 3], entropies: [0.5, 1.5] }), 4)
    expect(header).toMatchObject({ order: 4, tokens: 2, advantage: 2, entropy: 1, flags: 0 })
    expect(header.excerpt).toHaveLength(240)
    expect(header).not.toHaveProperty('ids')
  })
})

describe('the search', () => {
  it('goes from the newest step down, and finds text in completions, prompts and diagnostics', async () => {
    writeFileSync(join(run, 'rollouts', '000001.jsonl.gz'), packed(rollout(1, { text: 'an Apple' }), rollout(1)))
    writeFileSync(join(run, 'rollouts', '000002.jsonl.gz'), packed(rollout(2, { prompt: 'apples' }), rollout(2, { spans: [{ start: 0, end: 1, value: -1, source: 's', message: 'no APPLE here' }] })))
    const { hits, looked, next } = await searchRollouts(run, query({ text: 'apple' }), null)
    expect(hits.map(({ step, order }) => [step, order])).toEqual([[2, 0], [2, 1], [1, 0]])
    expect([looked, next]).toEqual([2, null])
    expect((await searchRollouts(run, query({ text: 'apple' }), 1)).hits).toHaveLength(1)
  })

  it('follows one prompt, or one kind', async () => {
    writeFileSync(join(run, 'rollouts', '000001.jsonl.gz'), packed(rollout(1, { promptId: 'a"b' }), rollout(1, { stages: failed }), rollout(1, { finish: 'length' }), rollout(1, { auditPassed: false })))
    const orders = async (part: Partial<RolloutQuery>): Promise<number[]> => (await searchRollouts(run, query(part), null)).hits.map(({ order }) => order)
    expect(await orders({ promptId: 'a"b' })).toEqual([0])
    expect(await orders({ only: 'failed' })).toEqual([1])
    expect(await orders({ only: 'passed' })).toEqual([0, 2, 3])
    expect(await orders({ only: 'cut-off' })).toEqual([2])
    expect(await orders({ only: 'hacks' })).toEqual([3])
  })

  it('stops when it has found much, and says where to go on', async () => {
    const many = packed(...Array.from({ length: 150 }, (_, index) => rollout(1, { index })))
    for (const step of [1, 2, 3]) writeFileSync(join(run, 'rollouts', `00000${step}.jsonl.gz`), many)
    const first = await searchRollouts(run, query(), null)
    expect(first.next).not.toBeNull()
    const all = [...first.hits]
    for (let next = first.next; next !== null; ) {
      const answer = await searchRollouts(run, query(), next)
      all.push(...answer.hits)
      next = answer.next
    }
    expect(all).toHaveLength(450)
  })
})
