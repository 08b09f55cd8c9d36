import { describe, expect, it } from 'vitest'
import { lossConfigSchema } from '../../../src-main/contract/run-config.ts'
import { carmKeeps, correctionOf, importanceWeights } from '../../../src-main/engine/policy/importance.ts'

const truncatedCorrection = correctionOf(lossConfigSchema.parse({ correction: 'truncated' }))
const maskedCorrection = correctionOf(lossConfigSchema.parse({ correction: 'masked', correctionLow: 0.4 }))

describe('importanceWeights', () => {
  const sampler = [-1, -1, -1, -1, -1]
  const trainer = [0.25, 0.5, 1, 2.5, 6].map((ratio) => -1 + Math.log(ratio))
  const rounded = (weights: Float64Array): number[] => Array.from(weights, (weight) => Math.round(weight * 1e12) / 1e12)

  it('is 1 without a correction, and the meter still shows the largest difference', () => {
    const { weights, largestDifference, cutShare, meanWeight } = importanceWeights({ kind: 'none' }, trainer, sampler)
    expect([...weights]).toEqual([1, 1, 1, 1, 1])
    expect(largestDifference).toBeCloseTo(Math.log(6), 12)
    expect([cutShare, meanWeight]).toEqual([0, 1])
  })

  it('truncates at the cap, 2 by default', () => {
    const { weights, cutShare, meanWeight } = importanceWeights(truncatedCorrection, trainer, sampler)
    expect(rounded(weights)).toEqual([0.25, 0.5, 1, 2, 2])
    expect(cutShare).toBe(0.4)
    expect(meanWeight).toBeCloseTo(5.75 / 5, 12)
  })

  it('sets weights outside the band to 0 and leaves those inside as they are', () => {
    const { weights, cutShare } = importanceWeights(maskedCorrection, trainer, sampler)
    expect(rounded(weights)).toEqual([0, 0.5, 1, 2.5, 0])
    expect(cutShare).toBe(0.4)
  })

  it('does not hide a NaN from the meter', () => {
    expect(importanceWeights({ kind: 'none' }, [-1, Number.NaN, -1], [-1, -1, -1]).largestDifference).toBeNaN()
  })

  it('has neutral values without tokens, and refuses lists of different lengths', () => {
    expect(importanceWeights(truncatedCorrection, [], [])).toMatchObject({ cutShare: 0, meanWeight: 1, largestDifference: 0 })
    expect(() => importanceWeights(truncatedCorrection, [1], [])).toThrow(/1 trainer log-probabilities but 0/)
  })
})

describe('carmKeeps', () => {
  it('looks at absolute log-ratios: signed ones would cancel', () => {
    const sampler = [-1, -1]
    expect(carmKeeps(0.2, [-1.1, -0.9], sampler)).toBe(true) // mean .1 <= log 1.2 = .182
    expect(carmKeeps(0.2, [-1.3, -0.7], sampler)).toBe(false) // mean .3, signed 0
    expect(carmKeeps(0.2, [-1 + Math.log(1.19), -1 - Math.log(1.19)], sampler)).toBe(true)
    expect(carmKeeps(0.2, [Number.NaN, -1], sampler)).toBe(false)
  })
})
