import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { z } from 'zod'
import { estimatorConfigSchema, estimatorNames } from '../../src-main/contract/estimator-config.ts'
import type { EstimatorConfig } from '../../src-main/contract/run-config.ts'
import { advantageRules, advantageSettings, readsScores } from '../../src-main/engine/policy/advantage-settings.ts'
import type { AdvantageSettings } from '../../src-main/engine/policy/advantage-settings.ts'
import type { AdvantageBatch, AdvantageResult } from '../../src-main/engine/policy/advantages.ts'
import { readStatistics } from '../../src-main/engine/policy/advantages.ts'
import { allocateAdvantages, computeAdvantages } from '../../src-main/engine/runtime/kernels.ts'
import { createStream } from '../../src-main/engine/runtime/random.ts'
import { implementations, largestDifference, loaded, sameBits } from './support.ts'

const config = (settings: z.input<typeof estimatorConfigSchema> = {}): EstimatorConfig => estimatorConfigSchema.parse(settings)

/** One group a list; a rollout is its token rewards. */
function batchOf(groups: number[][][], outcomes?: number[][], masked?: boolean[][]): AdvantageBatch {
  const rollouts = groups.flat()
  return {
    rewards: Float64Array.from(rollouts.flat()),
    lengths: Int32Array.from(rollouts, (rollout) => rollout.length),
    groupSizes: Int32Array.from(groups, (group) => group.length),
    outcomes: Float64Array.from(outcomes?.flat() ?? rollouts.map((_, k) => k)),
    masked: Uint8Array.from(masked?.flat() ?? rollouts.map(() => false), Number),
  }
}

function run(kernels: (typeof implementations)[number][1], settings: EstimatorConfig, batch: AdvantageBatch): AdvantageResult {
  return runSettings(kernels, advantageSettings(settings), batch)
}

function runSettings(kernels: (typeof implementations)[number][1], settings: AdvantageSettings, batch: AdvantageBatch): AdvantageResult {
  const result = allocateAdvantages(batch)
  result.advantages.fill(Number.NaN) // a kernel has to write every place
  kernels.advantages(settings, batch, result)
  return result
}

describe.each(implementations)('advantages, %s', (_, kernels) => {
  // spec of the estimator: rewards [[1],[.5,0],[1,0,-1,0]]: mu = (1 + .25 + 0)/3 = 5/12, sigma^2 = 53/144 (by hand).
  const golden = [[[1], [0.5, 0], [1, 0, -1, 0]]]

  it('gives the golden BoT-GRPO values at epsilon 0 and 1e-6', () => {
    const exact = run(kernels, config({ epsilon: 0 }), batchOf(golden))
    expect(largestDifference(exact.advantages, [0.961523948, 0.137360564, -0.68680282, 0.961523948, -0.68680282, -2.335129587, -0.68680282])).toBeLessThan(1e-9)
    const { mu, sigma } = readStatistics(exact.statistics, 0)
    expect(mu).toBeCloseTo(5 / 12, 14)
    expect(sigma ** 2).toBeCloseTo(53 / 144, 14)
    const usual = run(kernels, config({ epsilon: 1e-6 }), batchOf(golden))
    expect(largestDifference(usual.advantages, [0.961522363, 0.137360338, -0.686801688, 0.961522363, -0.686801688, -2.335125738, -0.686801688])).toBeLessThan(1e-9)
  })

  it('gives the golden GRPO values (population deviation) for R = [1, 0, 0, .5]', () => {
    const batch = { ...batchOf([[[1, 1], [0], [0, 0, 0], [0.5]]]), rewards: Float64Array.of(1, 0, 0, 0.5) }
    const { advantages } = run(kernels, config({ name: 'grpo' }), batch)
    expect(largestDifference(advantages, [1.507553, 1.507553, -0.904532, -0.904532, -0.904532, -0.904532, 0.301511])).toBeLessThan(1e-6)
  })

  it('is GRPO when the reward is constant inside each rollout', () => {
    const rollouts = [[1, 1], [0], [0, 0, 0], [0.5]]
    const bot = run(kernels, config(), batchOf([rollouts]))
    const grpo = run(kernels, config({ name: 'grpo' }), { ...batchOf([rollouts]), rewards: Float64Array.from(rollouts, (r) => r[0]!) })
    expect(largestDifference(bot.advantages, grpo.advantages)).toBeLessThan(1e-12)
  })

  it('keeps a deviation that a one-pass or single-precision formula loses', () => {
    const { advantages, statistics } = run(kernels, config({ epsilon: 0 }), batchOf([[[3 + 1e-4], [3 - 1e-4]]]))
    expect(largestDifference(advantages, [1, -1])).toBeLessThan(1e-10)
    expect(readStatistics(statistics, 0).sigma).toBeCloseTo(1e-4, 14)
  })

  it('drops rollouts without tokens and with rewards or outcomes that are not finite', () => {
    const clean = run(kernels, config(), batchOf(golden))
    const dirty = run(kernels, config(), batchOf([[[1], [], [0.5, 0], [Number.NaN, 1], [1, 0, -1, 0], [Infinity], [2]]], [[1, 9, 0.25, 9, 0, 9, Number.NaN]]))
    expect(largestDifference(dirty.advantages, [...clean.advantages.slice(0, 3), 0, 0, ...clean.advantages.slice(3), 0, 0])).toBeLessThan(1e-12)
    expect([...dirty.kept]).toEqual([1, 0, 1, 0, 1, 0, 0])
    expect(readStatistics(dirty.statistics, 0)).toMatchObject({ kept: 3, dropped: 4, flat: false, skipped: false })
  })

  it('skips a group with fewer than two rollouts left', () => {
    const { advantages, statistics } = run(kernels, config(), batchOf([[[1, -1]], [[2], [Number.NaN]], [[], []], []]))
    expect([...advantages]).toEqual([0, 0, 0, 0])
    for (const g of [0, 1, 2, 3]) expect(readStatistics(statistics, g).skipped).toBe(true)
    expect(readStatistics(statistics, 0)).toMatchObject({ mu: 0, kept: 1, dropped: 0 })
    expect(readStatistics(statistics, 3)).toMatchObject({ mu: 0, sigma: 0, kept: 0, flat: false })
  })

  it('gives truncated, masked rollouts no advantage and leaves them in mu and sigma', () => {
    const whole = run(kernels, config(), batchOf(golden))
    const { advantages, kept } = run(kernels, config(), batchOf(golden, undefined, [[false, true, false]]))
    const expected = [...whole.advantages]
    expected[1] = expected[2] = 0
    expect(largestDifference(advantages, expected)).toBeLessThan(1e-12)
    expect([...kept]).toEqual([1, 1, 1])
  })

  it('tests flatness on the outcome, not on the shaped rewards', () => {
    // All failed (outcome -1), and a small local penalty differs: the paper blows it up to unit size.
    const failed = batchOf([[[-1, -1.001], [-1, -1]]], [[-1, -1]])
    const keep = run(kernels, config({ epsilon: 0 }), failed)
    expect(readStatistics(keep.statistics, 0)).toMatchObject({ flat: true, skipped: false })
    // mu = -1.00025, deviations [.00025, -.00075 | .00025, .00025]; sigma^2 = (.5 * (.00025^2 + .00075^2) + .00025^2) / 2
    const sigma = Math.sqrt((0.5 * (0.00025 ** 2 + 0.00075 ** 2) + 0.00025 ** 2) / 2)
    expect(largestDifference(keep.advantages, [0.00025, -0.00075, 0.00025, 0.00025].map((d) => d / sigma))).toBeLessThan(1e-10)
    expect(largestDifference(run(kernels, config({ flatGroups: 'mean-only' }), failed).advantages, [0.00025, -0.00075, 0.00025, 0.00025])).toBeLessThan(1e-12)
    expect(largestDifference(run(kernels, config({ flatGroups: 'sigma-floor', sigmaFloor: 0.5, epsilon: 0 }), failed).advantages, [0.0005, -0.0015, 0.0005, 0.0005])).toBeLessThan(1e-12)
    const skip = run(kernels, config({ flatGroups: 'skip' }), failed)
    expect([...skip.advantages]).toEqual([0, 0, 0, 0])
    expect(readStatistics(skip.statistics, 0)).toMatchObject({ flat: true, skipped: true })
    // The same rewards with outcomes that differ: no policy applies.
    const mixed = { ...failed, outcomes: Float64Array.of(-1, 0) }
    expect(largestDifference(run(kernels, config({ flatGroups: 'skip', epsilon: 0 }), mixed).advantages, keep.advantages)).toBeLessThan(1e-12)
  })

  it('does not let a floor lower a larger sigma', () => {
    const batch = batchOf(golden, [[0, 0, 0]])
    expect(largestDifference(run(kernels, config({ flatGroups: 'sigma-floor', sigmaFloor: 0.1 }), batch).advantages, run(kernels, config(), batch).advantages)).toBeLessThan(1e-12)
  })

  it('clips A after it was computed', () => {
    const { advantages } = run(kernels, config({ epsilon: 0, clipAdvantage: 0.9 }), batchOf(golden))
    expect(largestDifference(advantages, [0.9, 0.137360564, -0.68680282, 0.9, -0.68680282, -0.9, -0.68680282])).toBeLessThan(1e-9)
  })

  it('blows one penalised token among clean ones up to 44.7 at K = 5, L = 400, and a clip bounds it', () => {
    const clean = new Array<number>(400).fill(0)
    const group = [[-1, ...clean.slice(1)], clean, clean, clean, clean]
    expect(Math.min(...run(kernels, config({ epsilon: 0 }), batchOf([group])).advantages)).toBeCloseTo(-Math.sqrt(5 * 400 - 1), 9) // -44.71
    expect(Math.min(...run(kernels, config({ clipAdvantage: 5 }), batchOf([group])).advantages)).toBe(-5)
  })

  it('gives zeros, not NaN, where all rewards are equal and epsilon is 0', () => {
    expect([...run(kernels, config({ epsilon: 0 }), batchOf([[[2, 2], [2]]])).advantages]).toEqual([0, 0, 0])
  })

  const reward = fc.integer({ min: -400, max: 400 }).map((n) => n / 100)
  const rollouts = fc.array(fc.array(reward, { minLength: 1, maxLength: 40 }), { minLength: 2, maxLength: 6 })

  it('sums to zero over rollouts of the mean over tokens, and stays within sqrt(K L - 1)', () => {
    fc.assert(
      fc.property(rollouts, (group) => {
        const { advantages } = run(kernels, config({ epsilon: 0 }), batchOf([group]))
        let sum = 0
        let token = 0
        for (const rollout of group) {
          const own = advantages.subarray(token, (token += rollout.length))
          sum += own.reduce((total, a) => total + a, 0) / rollout.length
          const bound = Math.sqrt(group.length * rollout.length - 1)
          for (const a of own) expect(Math.abs(a)).toBeLessThanOrEqual(bound + 1e-9)
        }
        expect(Math.abs(sum)).toBeLessThan(1e-9)
      }),
    )
  })

  it('does not change when rewards are scaled and shifted (epsilon 0)', () => {
    fc.assert(
      fc.property(rollouts, fc.integer({ min: 1, max: 50 }), fc.integer({ min: -50, max: 50 }), (group, scale, shift) => {
        fc.pre(new Set(group.flat()).size > 1)
        const moved = group.map((rollout) => rollout.map((r) => (scale * r) / 8 + shift))
        const before = run(kernels, config({ epsilon: 0 }), batchOf([group]))
        const after = run(kernels, config({ epsilon: 0 }), batchOf([moved]))
        expect(largestDifference(after.advantages, before.advantages)).toBeLessThan(1e-8)
      }),
    )
  })

  it('gives a group the same advantages alone and among others', () => {
    fc.assert(
      fc.property(fc.array(rollouts, { minLength: 1, maxLength: 4 }), (groups) => {
        const together = run(kernels, config(), batchOf(groups))
        const alone = groups.flatMap((group) => [...run(kernels, config(), batchOf([group])).advantages])
        expect([...together.advantages]).toEqual(alone)
      }),
    )
  })
})

describe('implementations of advantages', () => {
  const anyReward = fc.oneof({ weight: 40, arbitrary: fc.integer({ min: -300, max: 300 }).map((n) => n / 64) }, { weight: 1, arbitrary: fc.constantFrom(Number.NaN, Infinity, -Infinity, 1e200) })
  const anyRollout = fc.record({ rewards: fc.array(anyReward, { maxLength: 50 }), outcome: fc.constantFrom(-1, -1, -1, 0, 0.5), masked: fc.boolean(), score: anyReward, ends: fc.infiniteStream(fc.boolean()) })
  const anyGroups = fc.array(fc.array(anyRollout, { maxLength: 7 }), { maxLength: 5 })
  const anyConfig = fc.record({
    name: fc.constantFrom(...estimatorNames),
    flatGroups: fc.constantFrom('keep' as const, 'mean-only' as const, 'skip' as const, 'sigma-floor' as const),
    deviation: fc.constantFrom('population' as const, 'sample' as const),
    clipAdvantage: fc.constantFrom(null, 0.5, 3),
    epsilon: fc.constantFrom(1e-6, 0.01),
    discount: fc.constantFrom(1, 0.9),
    pooled: fc.boolean(),
  })

  it.each(advantageRules)('agree to 1e-12 on whatever a batch may hold: %s', (rule) => {
    fc.assert(
      fc.property(anyGroups, anyConfig, fc.boolean(), (groups, { clipAdvantage, ...numbers }, stepped) => {
        const plain = batchOf(groups.map((group) => group.map((r) => r.rewards)), groups.map((group) => group.map((r) => r.outcome)), groups.map((group) => group.map((r) => r.masked)))
        const stepEnds = Uint8Array.from(groups.flat().flatMap(({ rewards, ends }) => rewards.map(() => Number(ends.next().value))))
        const batch = { ...plain, ...(readsScores(rule) ? { rewards: Float64Array.from(groups.flat(), (r) => r.score) } : {}), ...(stepped ? { stepEnds } : {}) }
        const settings: AdvantageSettings = { ...advantageSettings(config()), ...numbers, rule, pooled: numbers.pooled && rule === 'bot-grpo', clip: clipAdvantage ?? Infinity, sigmaFloor: 0.3, temperature: 0.1 }
        const results = implementations.map(([, kernels]) => runSettings(kernels, settings, batch))
        for (const result of results) {
          expect(largestDifference(result.advantages, results[0]!.advantages)).toBeLessThan(1e-12)
          expect(largestDifference(result.statistics, results[0]!.statistics)).toBeLessThan(1e-12)
          expect(result.kept).toEqual(results[0]!.kept)
        }
      }),
      { numRuns: 150 },
    )
  })

  it.each(advantageRules)('agree on 64 groups of 8 rollouts of up to 1,024 tokens, bit by bit for 1, 2 and 5 threads: %s', (rule) => {
    const stream = createStream(1, 'advantages')
    const groups = Array.from({ length: 64 }, () => Array.from({ length: 8 }, () => Array.from({ length: 1 + stream.integer(1024) }, () => stream.normal())))
    const plain = batchOf(groups)
    const batch = readsScores(rule) ? { ...plain, rewards: Float64Array.from(groups.flat(), (rollout) => rollout[0]!) } : plain
    const settings: AdvantageSettings = { ...advantageSettings(config()), rule, temperature: 0.1, discount: 0.99 }
    const results = implementations.map(([, kernels]) => runSettings(kernels, settings, batch))
    for (const result of results) {
      expect(largestDifference(result.advantages, results[0]!.advantages)).toBeLessThan(1e-12)
      expect(largestDifference(result.statistics, results[0]!.statistics)).toBeLessThan(1e-12)
    }
    const threaded = [1, 2, 5].map((threads) => {
      loaded.binary?.setThreadCount(threads)
      return runSettings(implementations[1]?.[1] ?? implementations[0]![1], settings, batch)
    })
    loaded.binary?.setThreadCount(0)
    for (const result of threaded) expect(sameBits(result, threaded[0]!)).toBe(true)
  })
})

describe('computeAdvantages', () => {
  it('refuses arrays that do not fit together and names the array', () => {
    const batch = batchOf([[[1], [2, 3]]])
    expect(() => computeAdvantages(config(), { ...batch, rewards: new Float64Array(2) })).toThrow(/rewards has 2 elements, expected 3/)
    expect(() => computeAdvantages(config(), { ...batch, outcomes: new Float64Array(3) })).toThrow(/outcomes/)
    expect(() => computeAdvantages(config(), { ...batch, groupSizes: Int32Array.of(3) })).toThrow(/lengths/)
    expect(() => computeAdvantages(config(), { ...batch, lengths: Int32Array.of(4, -1) })).toThrow(/lengths\[1\] is -1/)
    expect(() => computeAdvantages(config({ name: 'grpo' }), batch)).toThrow(/rewards has 3 elements, expected 2/)
  })

  it('fills the arrays it is given', () => {
    const batch = batchOf([[[1], [2, 3]]])
    const own = allocateAdvantages(batch)
    expect(computeAdvantages(config(), batch, own)).toBe(own)
    expect(own.advantages[0]).toBeLessThan(0)
  })
})
