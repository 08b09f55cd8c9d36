import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { measureValues, paintClass, scaleReach, shadeClass } from '../../../src-renderer/features/rollouts/diverging-scale.ts'
import { rolloutOf } from '../samples.ts'

describe('scaleReach', () => {
  it('covers the largest size of all rollouts, rounded up to a readable number', () => {
    const rollouts = [rolloutOf(['a', 'b'], { advantages: [0.2, -2.3], tokenRewards: [-1, 1] }), rolloutOf(['c'], { advantages: [1.1], tokenRewards: [0.4] })]
    expect(scaleReach(rollouts, 'advantage')).toBe(2.5)
    expect(scaleReach(rollouts, 'reward')).toBe(1)
  })

  it('is 1 when there is nothing but zero, and looks past what is not finite', () => {
    expect(scaleReach([], 'reward')).toBe(1)
    expect(scaleReach([rolloutOf(['a', 'b'], { tokenRewards: [0, Number.NaN] })], 'reward')).toBe(1)
  })

  it('is never smaller than what it covers, nor more than twice as large', () => {
    fc.assert(
      fc.property(fc.double({ min: 1e-6, max: 1e6, noNaN: true }), (value) => {
        const reach = scaleReach([rolloutOf(['a'], { tokenRewards: [-value] })], 'reward')
        expect(reach).toBeGreaterThanOrEqual(value * (1 - 1e-6))
        expect(reach).toBeLessThanOrEqual(value * 2)
      }),
    )
  })
})

describe('shadeClass', () => {
  it('is symmetric around zero and clamps at the ends', () => {
    expect([-9, -2, -1, -0.01, 0, 0.01, 1, 2, 9].map((value) => shadeClass(value, 2))).toEqual(['shade-n6', 'shade-n6', 'shade-n3', 'shade-n1', 'shade-0', 'shade-p1', 'shade-p3', 'shade-p6', 'shade-p6'])
  })

  it('never paints a value that is not zero as zero', () => {
    expect(shadeClass(-1e-12, 1e6)).toBe('shade-n1')
    expect(shadeClass(1e-12, 1e6)).toBe('shade-p1')
  })

  it('paints nothing where there is no number', () => {
    expect(shadeClass(Number.NaN, 1)).toBe('shade-0')
  })
})

describe('paintClass', () => {
  it('paints what the model was sure of not at all, and what it was not sure of strongly', () => {
    expect([1, 0.99, 0.5, 0.01].map((probability) => paintClass('probability', probability, 1))).toEqual(['shade-0', 'shade-0', 'shade-p3', 'shade-p6'])
    expect([0, 1, 2].map((entropy) => paintClass('entropy', entropy, 2))).toEqual(['shade-0', 'shade-p3', 'shade-p6'])
  })

  it('shows ratios by their logarithm, so that half and twice as likely are painted alike', () => {
    const rollout = rolloutOf(['a', 'b', 'c'], { ratios: [2, 0.5, 1] })
    const values = measureValues(rollout, 'ratio')
    expect(values[0]).toBeCloseTo(-values[1]!)
    expect(values.map((value) => paintClass('ratio', value, Math.log(2)))).toEqual(['shade-p6', 'shade-n6', 'shade-0'])
    expect(measureValues(rolloutOf(['a']), 'ratio')).toEqual([])
  })

  it('shows probabilities, not their logarithms', () => {
    expect(measureValues(rolloutOf(['a'], { logprobs: [Math.log(0.25)] }), 'probability')[0]).toBeCloseTo(0.25)
    expect(scaleReach([rolloutOf(['a'])], 'probability')).toBe(1)
  })
})
