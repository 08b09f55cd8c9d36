import { describe, expect, it } from 'vitest'
import type { DatasetInfo, DatasetReport } from '../../../src-main/contract/calls/datasets.ts'
import { UserError } from '../../../src-main/contract/errors.ts'
import { createBridgeDouble } from '../../../src-renderer/bridge/bridge-double.ts'
import type { Answers, BridgeDouble } from '../../../src-renderer/bridge/bridge-double.ts'
import { createDatasetsState } from '../../../src-renderer/state/datasets-state.svelte.ts'
import type { DatasetsState } from '../../../src-renderer/state/datasets-state.svelte.ts'
import { createNotices } from '../../../src-renderer/state/notices.svelte.ts'
import type { Notices } from '../../../src-renderer/state/notices.svelte.ts'
import { createRunDraft } from '../../../src-renderer/state/run-draft.svelte.ts'
import type { RunDraft } from '../../../src-renderer/state/run-draft.svelte.ts'

const path = '/data/sums.jsonl'
const guess = { prompt: 'q', system: null, answer: null, requirements: null, tests: null, entry: null, tags: null, id: null, split: null }
const info: DatasetInfo = { path, name: 'sums.jsonl', format: 'jsonl', bytes: 10, files: ['sums.jsonl'], fileCount: 1, columns: [{ name: 'q', kinds: ['text'], filled: 1, example: 'x' }, { name: 'a', kinds: ['text'], filled: 1, example: 'y' }], guess, rows: null }
const lengths = { least: 0, median: 0, most: 0, edges: [0, 1], counts: [0], measured: 0 }
const report: DatasetReport = { rows: 250, good: 250, badRows: 0, problems: [], train: 200, heldout: 50, ownSplit: false, withAnswer: 0, withRequirements: 0, withTests: 0, duplicates: 0, duplicateExamples: [], nearDuplicates: 0, nearExamples: [], characters: lengths, tokens: null }

const usual: Answers = {
  'datasets.list': () => [],
  'datasets.inspect': () => info,
  'datasets.remember': () => ({}),
  'datasets.count': () => ({ rows: 250 }),
  'datasets.rows': ({ offset, count }) => ({ rows: Array.from({ length: Math.min(count, 250 - offset) }, (_, at) => ({ index: offset + at, line: offset + at + 1, cells: [`row ${offset + at}`, ''], problem: '' })), total: null }),
  'datasets.check': () => report,
  'datasets.prepare': () => ({ prompts: '/app/prompts/sums.jsonl', rows: 250, skipped: 0, train: 200, heldout: 50 }),
  'tasks.cancel': () => ({}),
}

interface Opened {
  readonly bridge: BridgeDouble
  readonly datasets: DatasetsState
  readonly notices: Notices
  readonly draft: RunDraft
}

function create(answers: Answers = {}): Opened {
  const bridge = createBridgeDouble({ ...usual, ...answers })
  const notices = createNotices()
  const draft = createRunDraft()
  return { bridge, datasets: createDatasetsState(bridge, notices, draft), notices, draft }
}

const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0))

describe('an opened dataset', () => {
  it('has the guessed mapping, is counted, and is remembered', async () => {
    const { bridge, datasets } = create()
    expect(await datasets.openPath(path)).toBe(true)
    await settle()
    expect(datasets.mapping).toEqual(guess)
    expect(datasets.total).toBe(250)
    expect(bridge.made.filter(({ name }) => name === 'datasets.remember').at(-1)?.request).toEqual({ path, name: 'sums.jsonl', format: 'jsonl', bytes: 10, rows: 250, mapping: guess })
  })

  it('keeps the mapping of earlier days as long as its columns are there', async () => {
    const before = (answer: string): Answers => ({ 'datasets.list': () => [{ path, name: 'sums.jsonl', format: 'jsonl', bytes: 1, rows: 1, mapping: { ...guess, answer }, opened: '', missing: false }] })
    for (const [answer, expected] of [['a', 'a'], ['gone', null]] as const) {
      const { datasets } = create(before(answer))
      await datasets.refresh()
      await datasets.openPath(path)
      expect(datasets.mapping?.answer).toBe(expected)
    }
  })

  it('fetches rows by the hundred when they are looked at, each hundred once', async () => {
    const { bridge, datasets } = create()
    await datasets.openPath(path)
    expect(datasets.rowAt(120)).toBeUndefined()
    expect(datasets.rowAt(130)).toBeUndefined()
    await settle()
    expect(datasets.rowAt(120)?.cells[0]).toBe('row 120')
    expect(bridge.made.filter(({ name }) => name === 'datasets.rows').map(({ request }) => request)).toEqual([{ path, offset: 100, count: 100 }])
  })

  it('that cannot be opened leaves what was open, and says why', async () => {
    const { datasets, notices } = create({
      'datasets.inspect': (request) => {
        if (request.path === path) return info
        throw new UserError({ code: 'bad-input', what: 'no dataset' })
      },
    })
    await datasets.openPath(path)
    expect(await datasets.openPath('/data/picture.png')).toBe(false)
    expect(datasets.open?.path).toBe(path)
    expect(notices.entries.at(-1)?.text).toMatch(/no dataset/)
  })
})

describe('a check', () => {
  it('is current until columns or split are changed', async () => {
    const { datasets } = create()
    await datasets.openPath(path)
    await datasets.check(null)
    expect([datasets.report?.good, datasets.reportIsCurrent]).toEqual([250, true])
    datasets.map('answer', 'a')
    expect(datasets.reportIsCurrent).toBe(false)
    await datasets.check(null)
    datasets.holdOut(0.1)
    expect(datasets.reportIsCurrent).toBe(false)
  })

  it('that is stopped says nothing', async () => {
    const { datasets, notices } = create({
      'datasets.check': () => {
        throw new UserError({ code: 'stopped', what: 'stopped' })
      },
    })
    await datasets.openPath(path)
    await datasets.check(null)
    expect([datasets.report, notices.entries]).toEqual([null, []])
  })
})

describe('using it', () => {
  it.each([[{ answer: 'a' }, 'maths'], [{ answer: 'a', tests: 'a' }, 'code'], [{ requirements: 'a' }, 'react']] as const)('with the columns %j is for the recipe %s', async (columns, recipe) => {
    const { datasets, draft } = create({ 'datasets.inspect': () => ({ ...info, guess: { ...guess, ...columns } }) })
    await datasets.openPath(path)
    await datasets.use()
    expect(draft.dataset?.recipe).toBe(recipe)
  })

  it('puts the prompt file into the draft of the next run', async () => {
    const { bridge, datasets, draft } = create()
    await datasets.openPath(path)
    datasets.holdOut(0.1)
    expect(await datasets.use()).toMatchObject({ file: '/app/prompts/sums.jsonl' })
    expect(draft.dataset).toEqual({ name: 'sums.jsonl', prompts: '/app/prompts/sums.jsonl', rows: 200, recipe: null })
    expect(bridge.made.find(({ name }) => name === 'datasets.prepare')?.request).toMatchObject({ path, mapping: guess, heldoutShare: 0.1 })
  })
})
