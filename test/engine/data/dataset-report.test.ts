import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { DatasetMapping } from '../../../src-main/contract/calls/datasets.ts'
import { lengthsOf, reportDataset } from '../../../src-main/engine/data/dataset-report.ts'
import { openDataset } from '../../../src-main/engine/data/open-dataset.ts'
import { bandKeys, isHeldOut, signatureOf, similarity } from '../../../src-main/engine/data/prompt-hash.ts'
import { writePrompts } from '../../../src-main/engine/data/write-prompts.ts'
import { readPromptFile } from '../../../src-main/engine/training/prompts.ts'

const mapping: DatasetMapping = { prompt: 'q', system: null, answer: 'a', requirements: null, tests: null, entry: null, tags: null, id: 'id', split: 'side' }
const options = { mapping, heldoutShare: 0.2, seed: 1, countTokens: null }
const sentence = (at: number): string => `Write a program number ${at} that greets visitor ${at} by name and shows a list of ${at * 7} things to do today`

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'satchel-report-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function dataset(rows: readonly unknown[]): Promise<Awaited<ReturnType<typeof openDataset>>> {
  const path = join(folder, 'rows.jsonl')
  writeFileSync(path, rows.map((row) => (typeof row === 'string' ? row : JSON.stringify(row))).join('\n'))
  return openDataset(path)
}

describe('the report', () => {
  it('counts rows, sides and what they carry, and names the bad ones', async () => {
    const source = await dataset([{ q: 'one', a: '1', side: 'train' }, { q: 'two', side: 'test' }, { q: '' }, 'broken', { q: 'three', id: 'x' }, { q: 'four', id: 'x', side: 'train' }])
    const report = await reportDataset(source, { ...options, heldoutShare: 0 })
    expect(report).toMatchObject({ rows: 6, good: 3, badRows: 3, train: 2, heldout: 1, ownSplit: true, withAnswer: 1 })
    expect(report.problems.map(({ line, field }) => [line, field])).toEqual([[3, 'q'], [4, ''], [6, 'id']])
    await source.close()
  })

  it('finds prompts that stand twice, spacing and letter case left out', async () => {
    const source = await dataset([{ q: 'Say  hello' }, { q: 'other' }, { q: 'say hello ' }])
    expect(await reportDataset(source, options)).toMatchObject({ duplicates: 1, duplicateExamples: [{ line: 3, before: 1, text: 'say hello' }] })
    await source.close()
  })

  it('finds held-out prompts that nearly stand among the training ones', async () => {
    const long = sentence(3).repeat(4)
    const source = await dataset([...Array.from({ length: 40 }, (_, at) => ({ q: sentence(at + 10).repeat(3), side: 'train' })), { q: long, side: 'train' }, { q: `${long} please`, side: 'test' }, { q: 'something else entirely, about the weather in the mountains', side: 'test' }])
    const report = await reportDataset(source, options)
    expect(report).toMatchObject({ heldout: 2, nearDuplicates: 1, nearExamples: [{ heldoutLine: 42, trainLine: 41 }] })
    await source.close()
  })

  it('measures characters, and tokens where it is told how', async () => {
    const source = await dataset([{ q: 'ab' }, { q: 'abcd' }, { q: 'abcdef' }])
    const report = await reportDataset(source, { ...options, countTokens: ({ prompt }) => prompt.length * 10 })
    expect(report.characters).toMatchObject({ least: 2, median: 4, most: 6, measured: 3 })
    expect(report.tokens).toMatchObject({ least: 20, median: 40, most: 60 })
    await source.close()
  })

  it('can be ended from its beat', async () => {
    const source = await dataset(Array.from({ length: 2000 }, (_, at) => ({ q: `prompt ${at}` })))
    await expect(reportDataset(source, { ...options, beat: () => { throw new Error('enough') } })).rejects.toThrow('enough')
    await source.close()
  })
})

describe('lengths', () => {
  it('add up to all values, the longest in the last bin', () => {
    const values = [...Array.from({ length: 1000 }, (_, at) => at % 100), 100_000]
    const { edges, counts, most } = lengthsOf(values)
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(1001)
    expect(counts.length).toBeLessThanOrEqual(24)
    expect(edges).toHaveLength(counts.length + 1)
    expect([edges.at(-1), most]).toEqual([100_001, 100_000])
  })

  it('are nothing of nothing', () => {
    expect(lengthsOf([])).toMatchObject({ least: 0, most: 0, measured: 0, counts: [0] })
  })
})

describe('the held-out side', () => {
  it('gets about its share, by the prompt alone', () => {
    const share = Array.from({ length: 5000 }, (_, at) => isHeldOut(sentence(at), 0.2, 7)).filter(Boolean).length / 5000
    // Four standard deviations of a binomial with n = 5000, p = 0.2: 0.0226.
    expect(Math.abs(share - 0.2)).toBeLessThan(0.0226)
    expect(isHeldOut('Say  Hello', 0.5, 7)).toBe(isHeldOut('say hello', 0.5, 7))
  })

  it('is another one with another seed', () => {
    const drawn = (seed: number): boolean[] => Array.from({ length: 100 }, (_, at) => isHeldOut(sentence(at), 0.5, seed))
    expect(drawn(1)).not.toEqual(drawn(2))
  })
})

describe('signatures', () => {
  it('agree in about the share of word runs two texts have in common', () => {
    const words = Array.from({ length: 60 }, (_, at) => `word${at}`)
    const half = [...words.slice(0, 40), ...Array.from({ length: 20 }, (_, at) => `other${at}`)]
    const [a, b] = [signatureOf(words.join(' ')), signatureOf(half.join(' '))]
    // 38 of 78 different runs of three words are shared: 0.487; the estimate over 64 places has a standard deviation of 0.0625.
    expect(Math.abs(similarity(a, b) - 38 / 78)).toBeLessThan(0.25)
    expect(similarity(a, a)).toBe(1)
    expect(bandKeys(a)).toHaveLength(16)
  })
})

describe('the prompt file', () => {
  it('holds every good row with its side, and is read by a run', async () => {
    const source = await dataset([{ q: 'one', a: '1', side: 'train' }, { q: '' }, { q: 'two', id: 'b', side: 'test' }])
    const out = join(folder, 'made', 'prompts.jsonl')
    expect(await writePrompts(source, out, options)).toEqual({ prompts: out, rows: 2, skipped: 1, train: 1, heldout: 1 })
    expect(await readPromptFile(out)).toMatchObject([{ id: 'row-1', prompt: 'one', answer: '1', split: 'train' }, { id: 'b', prompt: 'two', split: 'heldout' }])
    await source.close()
  })

  it('is not there when it would hold nothing to train on', async () => {
    const source = await dataset([{ q: 'two', side: 'test' }])
    const out = join(folder, 'nothing', 'prompts.jsonl')
    await expect(writePrompts(source, out, options)).rejects.toThrow(/every prompt would be held out/)
    expect(readdirSync(join(folder, 'nothing'))).toEqual([])
    await source.close()
  })

  it('replaces an earlier one only when it is whole', async () => {
    const out = join(folder, 'again.jsonl')
    writeFileSync(out, 'before')
    const source = await dataset([{ wrong: 1 }])
    await expect(writePrompts(source, out, options)).rejects.toThrow(/no row of this dataset makes a prompt/)
    expect(readFileSync(out, 'utf8')).toBe('before')
    await source.close()
  })
})
