import { describe, expect, it } from 'vitest'
import { describeSeries, metricPoints, paddedRange, rewardSeries, stageSeries, tableRows } from '../../../src-renderer/features/charts/run-series.ts'
import { evaluationOf } from '../samples.ts'

describe('lines of the charts', () => {
  it('leave out steps at which a metric is not known', () => {
    const rows = [{ step: 1, values: { kl: null } }, { step: 2, values: { kl: 0.5 } }, { step: 3, values: {} }]
    expect(metricPoints(rows, 'kl')).toEqual([{ x: 2, y: 0.5 }])
  })

  it('differ in dash and mark, not by colour alone', () => {
    const stages = stageSeries([evaluationOf(0, 0.25)])
    expect(stages.map((line) => line.points)).toEqual(stages.map(() => [{ x: 0, y: 25 }]))
    expect(new Set(stages.map((line) => line.dash.join())).size).toBe(4)
    expect(new Set(stages.map((line) => line.mark)).size).toBe(4)
  })

  it('are told in words', () => {
    const [line] = stageSeries([evaluationOf(0, 0.25), evaluationOf(20, 0.5)])
    expect(line && describeSeries(line, (value) => `${value} %`)).toBe('Parse: from 25 % at step 0 to 50 % at step 20.')
    expect(line && describeSeries({ ...line, points: [] }, String)).toBe('Parse: no values yet.')
  })

  it('become a table, newest step first, with gaps where a line has no value', () => {
    const line = { label: 'a', tone: 1, dash: [], mark: 'none' } as const
    const rows = tableRows([{ ...line, points: [{ x: 1, y: 10 }, { x: 2, y: 20 }] }, { ...line, points: [{ x: 2, y: 5 }] }])
    expect(rows).toEqual([{ step: 2, cells: [20, 5] }, { step: 1, cells: [10, undefined] }])
  })

  it('are not blown up when they hardly move, and set their own axis when they do', () => {
    const moving = (...rewards: number[]): ReturnType<typeof rewardSeries> => rewardSeries(rewards.map((reward, index) => ({ step: index + 1, values: { reward } })))
    const { low, high } = paddedRange(moving(-1.41, -1.37), 0.5)
    expect([low, high]).toEqual([-1.75, -0.75])
    expect(paddedRange(moving(-1.4, 0.6), 0.5)).toEqual({})
    expect(paddedRange([], 0.5)).toEqual({})
  })
})
