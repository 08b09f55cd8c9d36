import { describe, expect, it } from 'vitest'
import type { RunSnapshot } from '../../../src-main/contract/calls/run-data.ts'
import { blindPairs, chanceOf, tally } from '../../../src-renderer/features/compare/blind-test.ts'
import { differences, groupStepsTo, medianBand, seedGroups, stepsTo } from '../../../src-renderer/features/compare/compare-runs.ts'
import { comparisonCharts } from '../../../src-renderer/features/compare/comparison-charts.ts'
import { curvesOf, evaluationOf, snapshotOf } from '../samples.ts'

const run = (name: string, description: Record<string, unknown>, rewards: readonly number[] = []): RunSnapshot =>
  snapshotOf('done', { description: { name, ...description }, summary: { ...snapshotOf('done').summary, name, directory: `/runs/${name}`, estimator: 'grpo' }, ...curvesOf(rewards.map((reward, index) => ({ step: index + 1, values: { reward } }))) })
const line = (...values: number[]): { x: number; y: number }[] => values.map((y, index) => ({ x: index + 1, y }))

describe('differences', () => {
  it('are the fields that are not the same everywhere, the configuration before its surroundings, names left out', () => {
    const rows = differences([
      run('a', { environment: { node: '20' }, seed: 1, loss: { clipLow: 0.2, extra: true }, k: [1, 2] }),
      run('b', { environment: { node: '22' }, seed: 1, loss: { clipLow: 0.1 }, k: [1] }),
    ])
    expect(rows).toEqual([
      { path: 'loss.clipLow', values: ['0.2', '0.1'] },
      { path: 'loss.extra', values: ['true', undefined] },
      { path: 'k', values: ['[1,2]', '[1]'] },
      { path: 'environment.node', values: ['20', '22'] },
    ])
  })

  it('tell of fields that were changed on the way, which also keeps two seeds apart', () => {
    const changed = { ...run('a', { seed: 1, optimizer: { learningRate: 0.01 } }), changes: [{ step: 7, field: 'optimizer.learningRate', from: 0.01, to: 0.002, time: '' }] }
    const plain = run('b', { seed: 2, optimizer: { learningRate: 0.01 } })
    expect(differences([changed, plain])).toContainEqual({ path: 'optimizer.learningRate', values: ['0.01, 0.002 from step 7', '0.01'] })
    expect(seedGroups([changed, plain])).toHaveLength(2)
  })
})

describe('groups of seeds', () => {
  it('hold the runs that differ in nothing else, also made by another version', () => {
    const groups = seedGroups([run('a', { seed: 1, x: 1, environment: { node: '20' } }), run('b', { seed: 2, x: 1, environment: { node: '22' } }), run('c', { seed: 1, x: 2 })])
    expect(groups.map(({ label, members }) => [label, members.map(({ summary }) => summary.name)])).toEqual([
      ['grpo · a and 1 more', ['a', 'b']],
      ['grpo · c', ['c']],
    ])
  })

  it('are drawn as their median with the range around it, as far as all have come', () => {
    expect(medianBand([line(1, 2, 3), line(3, 4), line(8, 0, 0)])).toEqual({ points: line(3, 2), low: [1, 0], high: [8, 4] })
    expect(medianBand([line(1, 2), []]).points).toEqual([])
  })

  it('become one line of a chart with a band; curves that nobody has make no chart', () => {
    const [board] = comparisonCharts(seedGroups([run('a', { seed: 1 }, [1, 2]), run('b', { seed: 2 }, [3, 4])]))
    expect(board?.charts.map(({ id }) => id)).toEqual(['reward'])
    expect(board?.charts[0]?.series).toMatchObject([{ label: 'grpo · 2 seeds', points: line(2, 3), band: { low: [1, 2], high: [3, 4] } }])
    const evaluated = { ...run('c', { seed: 1 }), evaluations: [evaluationOf(0, 0.1)] }
    expect(comparisonCharts(seedGroups([evaluated]))[0]?.charts.map(({ id }) => id)).toEqual(['heldOut', 'requirements', 'hacks'])
  })
})

describe('steps to a threshold', () => {
  it('are the first step at or above it, or none', () => {
    expect(stepsTo(line(10, 50, 40), 50)).toBe(2)
    expect(stepsTo(line(10, 20), 50)).toBeNull()
  })

  it('are the median of the seeds that got there, with how many did', () => {
    expect(groupStepsTo([line(60), line(0, 60), line(0, 0, 0, 60), line(0)], 50)).toEqual({ median: 2, reached: 3 })
    expect(groupStepsTo([line(0)], 50)).toEqual({ median: null, reached: 0 })
  })
})

describe('the blind test', () => {
  const samples = (who: string, ...ids: string[]): { promptId: string; prompt: string; text: string }[] => ids.map((id) => ({ promptId: id, prompt: id, text: `${who}${id}` }))
  const pairs = blindPairs(samples('a', '1', '2', '3', '4', '5'), samples('b', '5', '4', '3', '2', '1', '9'))

  it('pairs the prompts both have answered, sides in the order ABBA', () => {
    expect(pairs.map(({ left, right, leftIs }) => [left, right, leftIs])).toEqual([['a1', 'b1', 'a'], ['b2', 'a2', 'b'], ['b3', 'a3', 'b'], ['a4', 'b4', 'a'], ['a5', 'b5', 'a']])
    expect(blindPairs(samples('a', '1'), samples('b', '2'))).toEqual([])
    expect(blindPairs(samples('a', '1', '1'), samples('b', '1', '1'))).toHaveLength(1)
  })

  it('counts for the run, whichever side it stood on', () => {
    expect(tally(pairs, ['left', 'right', 'left', 'none'])).toEqual({ a: 2, b: 1, none: 1, left: 2 })
  })

  it('says how likely such a split is by chance (binomial: 5 of 5 is 2/32, 4 of 5 is 12/32)', () => {
    expect(chanceOf({ a: 5, b: 0 })).toBeCloseTo(2 / 32)
    expect(chanceOf({ a: 1, b: 4 })).toBeCloseTo(12 / 32)
    expect(chanceOf({ a: 3, b: 3 })).toBe(1)
    expect(chanceOf({ a: 0, b: 0 })).toBe(1)
  })
})
