import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { lossConfigSchema } from '../../../src-main/contract/run-config.ts'
import type { LossConfig } from '../../../src-main/contract/run-config.ts'
import { addLossSums, aggregationWeights, emptyLossSums, klEstimate, lossMetrics, policyLoss } from '../../../src-main/engine/policy/losses.ts'
import type { PolicyLossBatch } from '../../../src-main/engine/policy/losses.ts'

const config = (settings: Partial<LossConfig> = {}): LossConfig => ({ ...lossConfigSchema.parse({}), ...settings })

describe('aggregationWeights', () => {
  // Token losses [1,1] and [.5]x6.
  const aggregate = (settings: Partial<LossConfig>, rollouts = [[1, 1], new Array<number>(6).fill(0.5)]): number => {
    const weights = aggregationWeights(config(settings), rollouts.map((losses) => losses.length))
    return rollouts.reduce((sum, losses, k) => sum + weights[k]! * losses.reduce((a, b) => a + b, 0), 0)
  }

  it('gives the golden values of the three aggregations', () => {
    expect(aggregate({ aggregation: 'token-then-rollout' })).toBeCloseTo(0.75, 14)
    expect(aggregate({ aggregation: 'all-tokens' })).toBeCloseTo(0.625, 14)
    expect(aggregate({ aggregation: 'constant-length', constantLength: 8 })).toBeCloseTo(0.3125, 14)
  })

  it('counts empty rollouts nowhere', () => {
    for (const aggregation of ['token-then-rollout', 'all-tokens', 'constant-length'] as const) {
      expect(aggregate({ aggregation }, [[1, 1], [], new Array<number>(6).fill(0.5), []])).toBe(aggregate({ aggregation }))
    }
    expect([...aggregationWeights(config(), [0, 0])]).toEqual([0, 0])
  })
})

describe('klEstimate', () => {
  it('gives the golden values at d = .1 and d = -1', () => {
    // d = l_ref - l: k1 = -d, k2 = d^2/2, k3 = e^d - d - 1
    const values = (d: number): number[] => (['k1', 'k2', 'k3'] as const).map((estimator) => klEstimate(estimator, -2, -2 + d).value)
    for (const [i, expected] of [-0.1, 0.005, 0.005171].entries()) expect(values(0.1)[i]).toBeCloseTo(expected, 6)
    for (const [i, expected] of [1, 0.5, 0.367879].entries()) expect(values(-1)[i]).toBeCloseTo(expected, 6)
  })

  it.each(['k1', 'k2', 'k3'] as const)('%s has the derivative of its finite difference', (estimator) => {
    for (const l of [-3, -1.2, -0.1]) {
      const h = 1e-5
      const difference = (klEstimate(estimator, l + h, -1).value - klEstimate(estimator, l - h, -1).value) / (2 * h)
      expect(klEstimate(estimator, l, -1).derivative).toBeCloseTo(difference, 6)
    }
  })

  it('keeps k3 of nearly equal policies, which e^d - d - 1 would lose', () => {
    expect(klEstimate('k3', 0, 1e-7).value).toBeGreaterThan(4e-15)
    expect(klEstimate('k3', 0, 1e-7).value).toBeLessThan(6e-15)
  })
})

describe('policyLoss', () => {
  const lengths = [2, 0, 3]
  const batch = (change: Partial<PolicyLossBatch> = {}): PolicyLossBatch => ({
    lengths,
    weights: aggregationWeights(config(), lengths),
    logProbabilities: [-1, -2, -0.5, -3, -1],
    oldLogProbabilities: [-1, -2, -0.5, -3, -1],
    advantages: [1, -1, 0.5, 2, -0.25],
    ...change,
  })

  it('is -A rho weighted, and its derivative -A / (R L), when the policy has not moved', () => {
    const { loss, derivatives, tokenLosses } = policyLoss(config(), batch())
    // (-(1 - 1) / 2 - (.5 + 2 - .25) / 3) / 2, two rollouts that have tokens
    expect(loss).toBeCloseTo(-2.25 / 6, 14)
    expect([...tokenLosses]).toEqual([-1, 1, -0.5, -2, 0.25])
    ;[-1 / 4, 1 / 4, -0.5 / 6, -2 / 6, 0.25 / 6].forEach((expected, t) => expect(derivatives[t]).toBeCloseTo(expected, 14))
  })

  it('has the derivative of its finite difference, with clip, KL and corrections', () => {
    const number = fc.integer({ min: -300, max: 0 }).map((n) => n / 100)
    const five = fc.array(number, { minLength: 5, maxLength: 5 })
    const settings = fc.record({ klCoefficient: fc.constantFrom(0, 0.1), klEstimator: fc.constantFrom('k1' as const, 'k2' as const, 'k3' as const), klUnbiased: fc.boolean(), clipHigh: fc.constantFrom(0.2, 0.28) })
    fc.assert(
      fc.property(five, five, five, five, settings, (now, old, reference, advantages, change) => {
        const own = config({ ...change, aggregation: 'all-tokens' })
        const at = (logProbabilities: number[]) =>
          policyLoss(own, batch({ logProbabilities, oldLogProbabilities: old, referenceLogProbabilities: reference, advantages: advantages.map((a) => a + 1.5), corrections: [1, 0.5, 2, 0, 1.5], weights: aggregationWeights(own, lengths) }))
        const { derivatives } = at(now)
        for (let t = 0; t < 5; t++) {
          const ratio = Math.exp(now[t]! - old[t]!)
          if ([0.8, 1.2, 1.28].some((kink) => Math.abs(ratio - kink) < 1e-4)) continue // no derivative at the corner
          const h = 1e-6
          const moved = (by: number) => at(now.map((l, i) => (i === t ? l + by : l))).loss
          const difference = (moved(h) - moved(-h)) / (2 * h)
          expect(Math.abs(derivatives[t]! - difference)).toBeLessThan(1e-6 * Math.max(1, Math.abs(difference)))
        }
      }),
    )
  })

  it('adds the KL to the reference with its coefficient, and reports it also when it is 0', () => {
    const referenceLogProbabilities = [-0.9, -1.9, -0.4, -2.9, -0.9] // d = .1 everywhere
    const with0 = policyLoss(config(), batch({ referenceLogProbabilities }))
    const with1 = policyLoss(config({ klCoefficient: 1 }), batch({ referenceLogProbabilities }))
    expect(with1.loss - with0.loss).toBeCloseTo(0.005171, 6)
    expect(with0.loss).toBe(policyLoss(config(), batch()).loss)
    expect(lossMetrics(with0.sums).referenceKl).toBeCloseTo(0.005171, 6)
  })

  it('counts clipped tokens by side, the mean ratio and the KL from the old policy', () => {
    const moved = batch({ logProbabilities: [-1 + Math.log(1.5), -2 + Math.log(0.5), -0.5 + Math.log(0.5), -3, -1 + Math.log(1.5)] })
    // A = [1, -1, .5, 2, -.25]: the first is cut above, the second below; the third and fifth are on the side that is not cut.
    const metrics = lossMetrics(policyLoss(config(), moved).sums)
    expect(metrics).toMatchObject({ clipFraction: 0.4, clipFractionHigh: 0.2, clipFractionLow: 0.2 })
    expect(metrics.meanRatio).toBeCloseTo((1.5 + 0.5 + 0.5 + 1 + 1.5) / 5, 12)
    // k3 = rho - 1 - ln rho
    const k3 = (rho: number): number => rho - 1 - Math.log(rho)
    expect(metrics.approximateKl).toBeCloseTo((2 * k3(1.5) + 2 * k3(0.5)) / 5, 12)
  })

  it('adds up over micro-batches to loss, derivatives and metrics of the whole', () => {
    const whole = policyLoss(config(), batch({ oldLogProbabilities: [-1.1, -1.6, -0.8, -3, -1.4] }))
    const weights = aggregationWeights(config(), lengths)
    const first = policyLoss(config(), { lengths: [2], weights: weights.slice(0, 1), logProbabilities: [-1, -2], oldLogProbabilities: [-1.1, -1.6], advantages: [1, -1] })
    const second = policyLoss(config(), { lengths: [0, 3], weights: weights.slice(1), logProbabilities: [-0.5, -3, -1], oldLogProbabilities: [-0.8, -3, -1.4], advantages: [0.5, 2, -0.25] })
    expect(first.loss + second.loss).toBeCloseTo(whole.loss, 14)
    expect([...first.derivatives, ...second.derivatives]).toEqual([...whole.derivatives])
    const sums = emptyLossSums()
    addLossSums(sums, first.sums)
    addLossSums(sums, second.sums)
    expect(lossMetrics(sums).meanRatio).toBeCloseTo(lossMetrics(whole.sums).meanRatio, 14)
    expect(sums.tokens).toBe(5)
  })

  it('leaves a rollout of weight 0 out of everything, whatever its numbers are', () => {
    const { loss, derivatives, sums } = policyLoss(config(), batch({ weights: [0.5, 0, 0], advantages: [1, -1, Number.NaN, Number.NaN, Number.NaN] }))
    expect(loss).toBe(0)
    expect([...derivatives.slice(2)]).toEqual([0, 0, 0])
    expect(sums.tokens).toBe(2)
  })

  it('lets a non-finite log-probability through to the loss, where the loop sees it', () => {
    expect(policyLoss(config(), batch({ logProbabilities: [-1, Number.NaN, -0.5, -3, -1] })).loss).toBeNaN()
  })

  it('refuses arrays that do not fit and a KL term without a reference', () => {
    expect(() => policyLoss(config(), batch({ advantages: [1] }))).toThrow(/5 tokens but advantages has 1/)
    expect(() => policyLoss(config(), batch({ weights: [1] }))).toThrow(/3 rollouts but 1 weights/)
    expect(() => policyLoss(config({ klCoefficient: 0.1 }), batch())).toThrow(/reference/)
  })

  it('has metrics without tokens', () => {
    expect(lossMetrics(emptyLossSums())).toMatchObject({ meanRatio: 1, clipFraction: 0 })
  })
})
