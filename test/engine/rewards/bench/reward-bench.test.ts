import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { rewardConfig } from '../../../../src-main/contract/reward-config.ts'
import { honestFailure, knownCheats } from '../../../../src-main/engine/rewards/bench/cheats.ts'
import { benchReward, wordOffsets, type BenchReport } from '../../../../src-main/engine/rewards/bench/reward-bench.ts'
import { correlation, deviation, mean } from '../../../../src-main/engine/rewards/bench/statistics.ts'
import { makeProblems } from '../../../../src-main/engine/rewards/maths/problems.ts'
import type { ScoreRow } from '../../../../src-main/engine/rewards/score.ts'
import { buildForTests } from '../../../support/build-entries.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })
beforeAll(buildForTests)

test('statistics are those of the textbook', () => {
  expect([mean([]), mean([1, 2, 6]), deviation([1, 1]), deviation([0, 2])]).toEqual([0, 3, 0, 1])
  expect(correlation([1, 2, 3], [2, 4, 6])).toBeCloseTo(1, 12)
  expect(correlation([1, 2, 3], [3, 2, 1])).toBeCloseTo(-1, 12)
  expect(correlation([1, 1], [1, 2])).toBeNull()
})

test('words stand in for tokens and cover the text', () => {
  const text = ' a bc\n\n d  '
  const { starts, ends } = wordOffsets(text)
  expect([...starts].map((start, index) => text.slice(start, ends[index])).join('')).toBe(text)
  expect(wordOffsets('').starts).toHaveLength(1)
})

describe('a bench on maths', () => {
  const problems = makeProblems({ seed: 1, count: 3, levels: [1], instructions: false })
  const right = (index: number): string => problems[index]!.reference!
  const wrong = (index: number): string => honestFailure('maths', problems[index]!)!.text
  const rows: ScoreRow[] = [[right(0), right(0), wrong(0), wrong(0)], [right(1), right(1)], [wrong(2), wrong(2)]].flatMap((group, index) => group.map((completion) => ({ ...problems[index]!, completion })))
  let report: BenchReport
  beforeAll(async () => {
    report = await benchReward(rows, { config: rewardConfig({ recipe: 'maths' }), workers: 1, scorings: 2 })
  })

  test('counts groups, passes and what teaches', () => {
    // One group of three varies: half right, half wrong (deviation 1/2); group means are 1/2, 1 and 0.
    expect(report).toMatchObject({ completions: 8, groups: 3, passed: 0.5, hackRate: 0, overturned: 0 })
    expect(report.flatGroups).toBeCloseTo(2 / 3, 12)
    const answer = report.sources.find(({ source }) => source === 'answer')!
    expect(answer).toMatchObject({ mean: 0.5, noisy: 0, failures: 0, sparsity: 1, boundHits: 0 })
    expect(answer.spreadInside).toBeCloseTo(0.5 / 3, 12)
    expect(answer.spreadBetween).toBeCloseTo(deviation([0.5, 1, 0]), 12)
    expect(answer.outcomeCorrelation).toBeCloseTo(1, 12)
    expect(report.sources.find(({ source }) => source === 'format')!.outcomeCorrelation).toBeNull()
    expect(report.sources.find(({ source }) => source === 'steps')!.sparsity).toBeLessThan(0.5)
  })
  test('the defaults of the recipe prefer no cheat to an honest failure', () => {
    expect(report.cheats.map(({ name }) => name)).toEqual(knownCheats('maths', problems[0]!).map(({ name }) => name))
    expect(report.honest?.name).toBe('the last step wrong')
    expect(report.warnings).toEqual([])
  })
})

describe('warnings', () => {
  let folder: string
  beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'bench-'))))
  afterAll(() => rm(folder, { recursive: true, force: true }))
  const bench = async (code: string, rows: readonly ScoreRow[], input: object = {}): Promise<BenchReport> => {
    const file = join(folder, 'reward.js')
    await writeFile(file, code)
    return benchReward(rows, { config: rewardConfig({ recipe: 'custom', file, ...input }), workers: 1, scorings: 3 })
  }
  const row = (prompt: string, completion: string): ScoreRow => ({ id: completion, prompt, completion, reference: 'an honest long answer' })

  test('cheats, local signals that are too strong, and pairs they overturn', async () => {
    // The longer the better, so that repetition wins; the better completion loses more by its span than its score is ahead.
    const code = `let calls = 0
    export default ({ completion }) => ({ global: completion.length / 100 + (completion === 'noisy' ? (calls++, Math.random()) : 0), spans: completion === 'bbbb' ? [{ start: 0, end: 4, value: -1 }] : [] })`
    const { warnings, sources } = await bench(code, [row('p', 'aaa'), row('p', 'bbbb'), row('q', 'noisy'), row('q', 'c')], { localWeight: 2, minimum: -100, maximum: 100 })
    expect(warnings.find((text) => /w_g = 1 is not well above w_s \* B = 2/.test(text))).toBeDefined()
    expect(warnings.find((text) => /In 50.0 % of the pairs/.test(text))).toBeDefined()
    expect(warnings.find((text) => /known cheat \(one word many times/.test(text))).toBeDefined()
    // The sandbox's chance is the same in every run, and the calls before are the same: what is random here is still repeatable.
    expect(sources[0]?.noisy).toBe(0)
  })
  test('failures and flat groups are counted', async () => {
    const code = "export default ({ completion }) => { if (completion === 'bad') throw new Error('no'); return 0 }"
    const { warnings, flatGroups } = await bench(code, [row('p', 'bad'), row('p', 'b'), row('q', 'c'), row('q', 'd')])
    expect(flatGroups).toBe(1)
    expect(warnings.find((text) => /custom could not judge 25.0 %/.test(text))).toBeDefined()
    expect(warnings.find((text) => /100.0 % of the groups are flat/.test(text))).toBeDefined()
  })
  test('without groups nothing is said about them', async () => {
    const { warnings } = await bench('export default () => 0', [row('p', 'a'), row('q', 'b')])
    expect(warnings.find((text) => /No prompt has two or more/.test(text))).toBeDefined()
  })
})
