// Numbers of the replication's report, against values worked out by hand.
import { describe, expect, it } from 'vitest'
import { chooseLearningRate, peakToFinal, speedUp, spread, reachedAt, area, type RunResult } from '../../../src-main/engine-host/replicate/summary.ts'

const curve = (...rates: readonly number[]): RunResult['curve'] => rates.map((rate, index) => ({ step: 4 * index, rollouts: 256 * index, rate, requirementScore: 0, hackRate: 0, passAtK: {}, length: 10 }))
const run = (change: Partial<RunResult>): RunResult => ({
  id: '', stage: 'sweep', task: 'react', base: 'react-rare', method: 'grpo', variant: '', seed: 1, learningRate: 1e-3, curve: [], flatGroups: null, stepSeconds: 1, scoreWaitSeconds: 0, ...change,
})

describe('the summary of a run', () => {
  it('steps to a rate are interpolated between evaluations; a rate never reached has none', () => {
    expect(reachedAt(curve(0.1, 0.4, 0.8), 0.5)).toBeCloseTo(5, 12)
    expect(reachedAt(curve(0.6, 0.7), 0.5)).toBe(0)
    expect(reachedAt(curve(0.1, 0.4), 0.5)).toBeNull()
    expect(reachedAt(curve(0.1, 0.4, 0.8), 0.5, 'rollouts')).toBeCloseTo(320, 9)
    // It counts when the rate is first reached, whatever comes after.
    expect(reachedAt(curve(0, 1, 0), 0.5)).toBe(2)
  })

  it('area: trapezoids over the steps, divided by their number', () => {
    expect(area(curve(0, 1))).toBe(0.5)
    expect(area(curve(0, 1, 1))).toBe(0.75)
  })

  it('drop: from the best evaluation to the last', () => {
    expect(peakToFinal(curve(0.1, 0.9, 0.7))).toBeCloseTo(0.2, 12)
    expect(peakToFinal(curve(0.1, 0.9))).toBe(0)
  })

  it('median and range, with steps that were never reached as infinity', () => {
    expect(spread([3, 1, 2])).toEqual({ median: 2, low: 1, high: 3 })
    expect(spread([4, 1, 2, 3])).toEqual({ median: 2.5, low: 1, high: 4 })
    expect(spread([1, 2, Infinity])).toEqual({ median: 2, low: 1, high: Infinity })
    expect(spread([Infinity, Infinity])?.median).toBe(Infinity)
    expect(spread([])).toBeNull()
  })

  it('times sooner: ratio of medians; the interval covers it, is 1 for equal seeds, and bounds what was never reached', () => {
    expect(speedUp([20, 20, 20], [10, 10, 10], 41)).toEqual({ median: 2, low: 2, high: 2 })
    const wide = speedUp([20, 30, 40], [10, 12, 20], 41)!
    expect(wide.median).toBe(2.5)
    expect(wide.low).toBeLessThan(2.5)
    expect(wide.high).toBeGreaterThan(2.5)
    expect(speedUp([null, null], [10, 10], 40)).toEqual({ median: 4, low: 4, high: 4 })
  })

  it('the learning rate with the largest mean area over the sweep\'s seeds is chosen, of that method and task alone', () => {
    const runs = [
      run({ learningRate: 1e-3, curve: curve(0, 0.5) }), run({ learningRate: 1e-3, seed: 2, curve: curve(0, 0.1) }),
      run({ learningRate: 2e-3, curve: curve(0, 0.4) }), run({ learningRate: 2e-3, seed: 2, curve: curve(0, 0.4) }),
      run({ learningRate: 4e-3, curve: curve(0, 1), method: 'dapo' }), run({ learningRate: 5e-3, curve: curve(0, 1), stage: 'compare' }),
    ]
    expect(chooseLearningRate(runs, 'react', 'grpo')).toBe(2e-3)
    expect(chooseLearningRate(runs, 'maths', 'grpo')).toBeUndefined()
  })
})
