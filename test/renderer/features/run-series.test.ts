import { describe, expect, it } from 'vitest'
import { csvOf, describeSeries, lineStyles, metricLines, paddedRange, stageSeries, tableRows, valueAt } from '../../../src-renderer/features/charts/run-series.ts'
import { recipeOf } from '../../../src-renderer/state/recipe-of.ts'
import { seriesOf } from '../../../src-renderer/state/run-series.ts'
import { curvesOf, evaluationOf } from '../samples.ts'

const linesOf = (rows: Parameters<typeof curvesOf>[0], ...names: string[]): ReturnType<typeof metricLines> => metricLines(seriesOf(curvesOf(rows).series), names.map((name) => ({ name, label: name })))

describe('lines of the charts', () => {
  it('leave out steps at which a metric is not known', () => {
    const rows = [{ step: 1, values: { kl: null } }, { step: 2, values: { kl: 0.5 } }, { step: 3, values: {} }]
    expect(linesOf(rows, 'kl')[0]?.points).toEqual([{ x: 2, y: 0.5 }])
  })

  it('differ in dash and mark, not by colour alone', () => {
    const stages = stageSeries([evaluationOf(0, 0.25)])
    expect(stages.map((line) => line.points)).toEqual(stages.map(() => [{ x: 0, y: 25 }]))
    expect(new Set(stages.map((line) => line.dash.join())).size).toBe(4)
    expect(new Set(stages.map((line) => line.mark)).size).toBe(4)
    expect(new Set(lineStyles.map(({ dash, mark }) => `${dash.join()} ${mark}`)).size).toBe(lineStyles.length)
  })

  it('are told in words', () => {
    const [line] = stageSeries([evaluationOf(0, 0.25), evaluationOf(20, 0.5)])
    expect(line && describeSeries(line, (value) => `${value} %`)).toBe('Parses: from 25 % at step 0 to 50 % at step 20.')
    expect(line && describeSeries({ ...line, points: [] }, String)).toBe('Parses: no values yet.')
  })

  it('become a table, newest step first, with gaps where a line has no value', () => {
    const line = { label: 'a', tone: 1, dash: [], mark: 'none' } as const
    const rows = tableRows([{ ...line, points: [{ x: 1, y: 10 }, { x: 2, y: 20 }] }, { ...line, points: [{ x: 2, y: 5 }] }])
    expect(rows).toEqual([{ step: 2, cells: [20, 5] }, { step: 1, cells: [10, undefined] }])
  })

  it('are not blown up when they hardly move, and set their own axis when they do', () => {
    const moving = (...rewards: number[]): ReturnType<typeof linesOf> => linesOf(rewards.map((reward, index) => ({ step: index + 1, values: { reward } })), 'reward')
    const { low, high } = paddedRange(moving(-1.41, -1.37), 0.5)
    expect([low, high]).toEqual([-1.75, -0.75])
    expect(paddedRange(moving(-1.4, 0.6), 0.5)).toEqual({})
    expect(paddedRange([], 0.5)).toEqual({})
  })

  it('leave out metrics the run does not have, unless it has none of them', () => {
    const rows = [{ step: 1, values: { kl: 1 } }]
    expect(linesOf(rows, 'kl', 'approx_kl').map(({ label }) => label)).toEqual(['kl'])
    expect(linesOf([], 'kl', 'approx_kl').map(({ label }) => label)).toEqual(['kl'])
  })

  it('give the value at a step, or the one before it', () => {
    const points = [{ x: 2, y: 20 }, { x: 5, y: 50 }]
    expect([1, 2, 4, 5, 9].map((step) => valueAt(points, step))).toEqual([undefined, 20, 20, 50, 50])
  })

  it('become CSV with full precision, steps ascending', () => {
    const line = { tone: 1, dash: [], mark: 'none' } as const
    const csv = csvOf([{ ...line, label: 'a, "b"', points: [{ x: 1, y: 1 / 3 }, { x: 2, y: -2 }] }, { ...line, label: 'c', points: [{ x: 2, y: 5 }] }])
    expect(csv.split('\r\n')).toEqual(['step,"a, ""b""",c', '1,0.3333333333333333,', '2,-2,5', ''])
  })

  it('are named by the gates of the recipe, each once', () => {
    expect(stageSeries([], recipeOf({ reward: { recipe: 'custom' } })).map(({ label }) => label)).toEqual(['Was judged', 'Passes'])
    expect(recipeOf({ reward: { recipe: 'unheard of' } })).toBe('react')
    expect(recipeOf({})).toBe('react')
  })
})
