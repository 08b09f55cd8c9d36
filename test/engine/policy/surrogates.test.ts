import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { lossConfigSchema, surrogates } from '../../../src-main/contract/loss-config.ts'
import type { LossConfig } from '../../../src-main/contract/loss-config.ts'
import { aggregationWeights, policyLoss } from '../../../src-main/engine/policy/losses.ts'
import { cispoSurrogate, clipBounds, clippedSurrogate, sapoSurrogate, sequenceColumns, sequenceRatio } from '../../../src-main/engine/policy/surrogates.ts'

const config = (settings: Partial<LossConfig> = {}): LossConfig => ({ ...lossConfigSchema.parse({}), ...settings })

describe('clippedSurrogate', () => {
  const at = (ratio: number, advantage: number, dualClip: number | null = null) => clippedSurrogate(clipBounds({ clipLow: 0.2, clipHigh: 0.28, dualClip }), Math.log(ratio), advantage)

  it.each([
    // min(rho A, clip(rho, .8, 1.28) A) worked out by hand
    [1, 2, -2, -2, 'no'],
    [1.2, 2, -2.4, -2.4, 'no'],
    [1.5, 2, -2.56, 0, 'high'],
    [0.5, 2, -1, -1, 'no'],
    [0.5, -2, 1.6, 0, 'low'],
    [0.9, -2, 1.8, 1.8, 'no'],
    [1.5, -2, 3, 3, 'no'],
    [4, -1, 4, 4, 'no'],
  ] as const)('at ratio %d and advantage %d is %d with derivative %d', (ratio, advantage, value, derivative, clipped) => {
    const result = at(ratio, advantage)
    expect(result.value).toBeCloseTo(value, 12)
    expect(result.derivative).toBeCloseTo(derivative, 12)
    expect(result.clipped).toBe(clipped)
  })

  it('is 0 at advantage 0 even when the ratio overflows', () => {
    expect(clippedSurrogate(clipBounds(config()), 1000, 0)).toMatchObject({ value: 0, derivative: 0 })
  })

  it('is bounded by the dual clip for negative advantages only', () => {
    // A = -1, rho = 4, c = 3: loss 3 (verl's documentation of the clip).
    expect(at(4, -1, 3)).toMatchObject({ value: 3, derivative: 0, clipped: 'high' })
    expect(at(2, -1, 3).value).toBeCloseTo(2, 12)
    expect(at(4, 1, 3).value).toBeCloseTo(-1.28, 12)
  })
})

describe('cispoSurrogate', () => {
  it('keeps the gradient of every token with a bounded weight', () => {
    expect(cispoSurrogate(5, -2, Math.log(3), 0.5).derivative).toBeCloseTo(-1.5, 12)
    expect(cispoSurrogate(5, -2, Math.log(3), 0.5).value).toBeCloseTo(3, 12)
    expect(cispoSurrogate(5, -2, Math.log(8), 0.5)).toMatchObject({ derivative: -2.5, value: 5, clipped: 'high' })
    expect(cispoSurrogate(5, -2, Math.log(8), -0.5).derivative).toBe(2.5)
  })
})

describe('sapoSurrogate', () => {
  const temperatures = { sapoTemperaturePositive: 1, sapoTemperatureNegative: 1.05 }

  it('gives the golden values at tau 1', () => {
    // 4 sigmoid(rho - 1) at rho .5, 1, 1.5, 2
    for (const [ratio, expected] of [[0.5, 1.510163], [1, 2], [1.5, 2.489837], [2, 2.924234]] as const) {
      expect(-sapoSurrogate(temperatures, Math.log(ratio), 1).value).toBeCloseTo(expected, 6)
    }
  })

  it('takes the other temperature for negative advantages, and is the policy gradient where the policy has not moved', () => {
    expect(sapoSurrogate(temperatures, Math.log(2), -1).value).toBeCloseTo((4 / 1.05) / (1 + Math.exp(-1.05)), 12)
    expect(sapoSurrogate(temperatures, 0, 2).derivative).toBe(-2)
    expect(sapoSurrogate(temperatures, 0, -2).derivative).toBe(2)
  })

  it('stays finite when the ratio overflows', () => {
    expect(sapoSurrogate(temperatures, 1000, 1)).toMatchObject({ value: -4, derivative: -0 })
  })
})

describe('sequenceRatio', () => {
  it('is the exponent of the mean or of the sum', () => {
    const logRatios = Float64Array.of(0.1, -0.2, 0.4)
    expect(sequenceRatio(config({ surrogate: 'sequence' }), logRatios)).toMatchObject({ slope: 1 })
    expect(sequenceRatio(config({ surrogate: 'sequence' }), logRatios).logRatio).toBeCloseTo(0.1, 14)
    expect(sequenceRatio(config({ surrogate: 'sequence-sum' }), logRatios).logRatio).toBeCloseTo(0.3, 14)
    expect(sequenceRatio(config({ surrogate: 'sequence-sum' }), logRatios).slope).toBe(3)
  })

  it('widens the band of short rollouts as the noise of their mean, and narrows none', () => {
    const band = (length: number) => sequenceRatio({ surrogate: 'sequence', clipLow: 3e-4, clipHigh: 4e-4, clipReferenceLength: 6400 }, new Float64Array(length))
    expect(band(100).floor).toBeCloseTo(1 - 8 * 3e-4, 14)
    expect(band(100).ceiling).toBeCloseTo(1 + 8 * 4e-4, 14)
    expect(band(12800).ceiling).toBe(1 + 4e-4)
    expect(sequenceRatio({ surrogate: 'sequence', clipLow: 0.5, clipHigh: 0.5, clipReferenceLength: 6400 }, new Float64Array(1)).floor).toBe(0)
  })

  it('as columns gives the graph the same ratio and derivative', () => {
    const present = Float32Array.of(-1, -2, -0.5)
    const old = Float32Array.of(-1.1, -1.9, -0.7)
    for (const surrogate of ['sequence', 'sequence-sum'] as const) {
      const { logRatio } = sequenceRatio(config({ surrogate }), Float64Array.from(present, (value, t) => value - old[t]!))
      const { pivot, slope } = sequenceColumns(config({ surrogate }), present, old)
      present.forEach((value, t) => expect(slope[t]! * (value - pivot[t]!)).toBeCloseTo(logRatio, 5))
    }
  })
})

describe('every surrogate', () => {
  const number = fc.integer({ min: -300, max: 0 }).map((n) => n / 100)
  const five = fc.array(number, { minLength: 5, maxLength: 5 })
  const lengths = [2, 3]

  it.each(surrogates.filter((surrogate) => surrogate !== 'sequence-token' && surrogate !== 'cispo'))('has the derivative of its finite difference: %s', (surrogate) => {
    fc.assert(
      fc.property(five, five, fc.tuple(number, number), fc.constantFrom(null, 2), (now, old, [first, second], dual) => {
        const own = config({ surrogate, clipHigh: 0.28, dualClip: surrogate === 'token' ? dual : null })
        const advantages = [first, first, second, second, second].map((a) => a + 1.5)
        const at = (logProbabilities: number[]) => policyLoss(own, { lengths, weights: aggregationWeights(own, lengths), logProbabilities, oldLogProbabilities: old, advantages })
        const { derivatives } = at(now)
        for (let t = 0; t < 5; t++) {
          const h = 1e-6
          const moved = (by: number) => at(now.map((l, i) => (i === t ? l + by : l))).loss
          const [up, down] = [moved(h) - moved(0), moved(0) - moved(-h)]
          if (Math.abs(up - down) > 1e-3 * Math.abs(up + down) + 1e-9) continue // no derivative at the corner of a clip
          expect(Math.abs(derivatives[t]! - (up + down) / (2 * h))).toBeLessThan(1e-5 * Math.max(1, Math.abs(derivatives[t]!)))
        }
      }),
    )
  })

  it('is the policy gradient -A / (R L) where the policy has not moved', () => {
    for (const surrogate of surrogates) {
      const own = config({ surrogate })
      const l = [-1, -2, -0.5, -3, -1]
      const { derivatives } = policyLoss(own, { lengths, weights: aggregationWeights(own, lengths), logProbabilities: l, oldLogProbabilities: l, advantages: [1, 1, -2, -2, -2] })
      // RLOO's ratio is that of the whole sequence: no division by its length.
      const expected = [-1, -1, 2, 2, 2].map((value, t) => value / (2 * (surrogate === 'sequence-sum' ? 1 : t < 2 ? 2 : 3)))
      expected.forEach((value, t) => expect(derivatives[t]).toBeCloseTo(value, 14))
    }
  })

  it('of GSPO is that of GSPO-token when all tokens of a rollout share one advantage', () => {
    const batch = { lengths, weights: aggregationWeights(config(), lengths), logProbabilities: [-1, -2, -0.5, -3, -1], oldLogProbabilities: [-1.1, -1.9, -0.6, -2.9, -1.2], advantages: [1, 1, -2, -2, -2] }
    const gspo = policyLoss(config({ surrogate: 'sequence' }), batch)
    expect(policyLoss(config({ surrogate: 'sequence-token' }), batch)).toEqual(gspo)
    // mean log-ratios 0 and 0: (.1 - .1)/2 and (.1 - .1 + .2)/3; loss = -(1 * e^0 - 2 * e^(.2/3)) / 2
    expect(gspo.loss).toBeCloseTo(-(1 - 2 * Math.exp(0.2 / 3)) / 2, 12)
  })
})
