// The golden values of every estimator, and what must hold for any rewards. All through `groupAdvantages`, as the training loop calls it.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { z } from 'zod'
import { estimatorConfigSchema, estimatorNames, rewardForm } from '../../../src-main/contract/estimator-config.ts'
import { returnsToGo } from '../../../src-main/engine/policy/advantage-rules.ts'
import { groupAdvantages } from '../../../src-main/engine/policy/group-advantages.ts'
import type { RolloutGroup } from '../../../src-main/engine/policy/group-advantages.ts'

type Settings = z.input<typeof estimatorConfigSchema>

/** Advantages of groups of token rewards; estimators that take scores get each rollout's mean. */
function advantagesOf(settings: Settings, groups: number[][][], more: Partial<RolloutGroup> = {}): number[][][] {
  const batch = groups.map((group): RolloutGroup => {
    const scores = group.map((rewards) => rewards.reduce((sum, reward) => sum + reward, 0) / Math.max(1, rewards.length))
    return { tokenRewards: group.map((rewards) => Float64Array.from(rewards)), outcomes: group.map((_, k) => k), truncated: group.map(() => false), scores, ...more }
  })
  return groupAdvantages(estimatorConfigSchema.parse(settings), batch).advantages.map((group) => group.map((own) => [...own]))
}

function expectClose(actual: number[], expected: number[], within = 1e-6): void {
  expect(actual).toHaveLength(expected.length)
  expected.forEach((value, i) => expect(Math.abs(actual[i]! - value), `${i}: ${actual[i]} for ${value}`).toBeLessThan(within))
}

const process = [[1], [0.5, 0], [1, 0, -1, 0]]

describe('golden values', () => {
  it.each([
    // R = [1, 0, 0, .5]: mean .375; squared distances .390625, 2 x .140625, .015625; population sigma .414578, sample .478714
    [{ name: 'grpo' }, [1.507553, -0.904532, -0.904532, 0.301511]],
    [{ name: 'grpo', deviation: 'sample', epsilon: 1e-6 }, [1.30558, -0.783348, -0.783348, 0.261116]], // verl
    [{ name: 'grpo', deviation: 'sample', epsilon: 1e-4 }, [1.30531, -0.783186, -0.783186, 0.261062]], // TRL
    [{ name: 'dapo' }, [1.507553, -0.904532, -0.904532, 0.301511]],
    [{ name: 'gspo' }, [1.507553, -0.904532, -0.904532, 0.301511]],
    [{ name: 'gspo-token' }, [1.507553, -0.904532, -0.904532, 0.301511]],
    [{ name: 'cispo' }, [1.507553, -0.904532, -0.904532, 0.301511]],
    [{ name: 'sapo' }, [1.507553, -0.904532, -0.904532, 0.301511]],
    [{ name: 'dr-grpo' }, [0.625, -0.375, -0.375, 0.125]],
    [{ name: 'rloo' }, [0.833333, -0.5, -0.5, 0.166667]],
  ] as [Settings, number[]][])('%o for R = [1, 0, 0, .5]', (settings, expected) => {
    expectClose(advantagesOf(settings, [[[1], [0], [0], [0.5]]])[0]!.flat(), expected)
  })

  it('of BoT-GRPO with the sample deviation are those with the population one times sqrt((K - 1) / K)', () => {
    const [population, sample] = (['population', 'sample'] as const).map((deviation) => advantagesOf({ name: 'bot-grpo', deviation, epsilon: 0 }, [process])[0]!.flat())
    expectClose(sample!, population!.map((value) => value * Math.sqrt(2 / 3)), 1e-12)
  })

  it('of BoT-GRPO without the weight 1/L_k: mean and deviation over the tokens', () => {
    // Seven tokens, mean 1.5/7 = .2142857, population sigma .646813 as in the process form below.
    const rows = advantagesOf({ name: 'bot-grpo', pooling: 'token', epsilon: 0 }, [process])[0]!
    expectClose(rows.flat(), [1, 0.5, 0, 1, 0, -1, 0].map((reward) => (reward - 1.5 / 7) / 0.6468132241526726), 1e-9)
  })

  it('of GRPO in its process form', () => {
    // Seven steps pooled: mean 1.5/7, population sigma .646813 (DeepSeekMath 4.1.3, worked out by hand); A sums from the end.
    const [a, b, c] = advantagesOf({ name: 'grpo-process' }, [process])[0]!
    expectClose(a!, [1.214747], 1e-5)
    expectClose(b!, [0.110432, -0.331295], 1e-5)
    expectClose(c!, [-1.325178, -2.539925, -2.208631, -0.331295], 1e-5)
  })

  it('of GRPO in its process form give all tokens of a step the same advantage, and read the reward at its end', () => {
    const stepEnds = [[1], [0, 1], [1, 1, 0, 1]].map((ends) => Uint8Array.from(ends))
    const [, b, c] = advantagesOf({ name: 'grpo-process' }, [[[1], [99, 0.5], [1, 0, 99, -1]]], { stepEnds, outcomes: [0, 1, 2] })[0]!
    expect(b![0]).toBe(b![1])
    expect(c![2]).toBe(c![3])
    // Steps 1, .5, 1, 0, -1: mean .3, sigma sqrt(.56)
    const sigma = Math.sqrt((0.7 ** 2 + 0.2 ** 2 + 0.7 ** 2 + 0.3 ** 2 + 1.3 ** 2) / 5)
    expectClose([b![0]!, c![3]!, c![0]!], [0.2 / sigma, -1.3 / sigma, (0.7 - 0.3 - 1.3) / sigma], 1e-5)
  })

  it('of PURE: the worst step bears the credit, the baseline is the credit a token of the others', () => {
    // softmax(-PR/.1) PR on [.9, .2, -.6, .8] sums to -.59973 from the first and second step, -.599797 from the third, .000001 from the last.
    // The other rollout has one step of two tokens with credit 0: a baseline of 0. Its own baseline is -.59973/4 a token.
    const stepEnds = [Uint8Array.of(1, 1, 1, 1), Uint8Array.of(0, 1)]
    const [first, second] = advantagesOf({ name: 'pure' }, [[[0.9, 0.2, -0.6, 0.8], [7, 0]]], { stepEnds })[0]!
    expectClose(first!, [-0.59973, -0.59973, -0.599797, 0.000001], 1e-6)
    expectClose(second!, [0.299865, 0.299865], 1e-6)
  })

  it('of REINFORCE++: returns from the end, whitened over all tokens of the batch, sample variance + 1e-8', () => {
    expect([...returnsToGo(Float64Array.of(1, 2, 3), 0.5)]).toEqual([2.75, 3.5, 3])
    // Returns 1, 1 | 0 | 3, 2: mean 1.4, squared distances .16, .16, 1.96, 2.56, .36 = 5.2, over 4
    const rows = advantagesOf({ name: 'reinforce++' }, [[[0, 1], [0]], [[1, 2]]])
    expectClose(rows.flat(2), [-0.4, -0.4, -1.4, 1.6, 0.6].map((value) => value / Math.sqrt(1.3 + 1e-8)), 1e-9)
  })
})

const reward = fc.integer({ min: -400, max: 400 }).map((n) => n / 100)
const rollouts = fc.array(fc.array(reward, { minLength: 1, maxLength: 12 }), { minLength: 2, maxLength: 6 })

describe.each(estimatorNames)('%s', (name) => {
  const exact = { name, ...(['dr-grpo', 'rloo', 'pure'].includes(name) ? {} : { epsilon: 0 }) } as Settings

  it('does not care in which order the rollouts of a group come', () => {
    fc.assert(
      fc.property(rollouts, (group) => {
        const reversed = advantagesOf(exact, [[...group].reverse()], { outcomes: group.map((_, k) => group.length - k) })[0]!.reverse()
        expectClose(reversed.flat(), advantagesOf(exact, [group])[0]!.flat(), 1e-9)
      }),
      { numRuns: 40 },
    )
  })

  it('does not see padding: tokens that are masked out and rollouts without tokens change nothing', () => {
    fc.assert(
      fc.property(rollouts, (group) => {
        const padded = [...group.map((rewards) => [...rewards, 9, 9]), []]
        const scores = group.map((rewards) => rewards.reduce((sum, value) => sum + value, 0) / rewards.length)
        const completionMasks = padded.map((rewards) => Uint8Array.from(rewards, (_, t) => Number(t < rewards.length - 2)))
        const rows = advantagesOf(exact, [padded], { completionMasks, scores: [...scores, 5] })[0]!
        expectClose(rows.map((own) => own.slice(0, -2)).flat(), advantagesOf(exact, [group])[0]!.flat(), 1e-9)
        expect(rows.flatMap((own) => own.slice(-2)).every((value) => value === 0)).toBe(true)
      }),
      { numRuns: 40 },
    )
  })

  it('gives the rollouts of a group with a bound no larger advantage than the bound', () => {
    fc.assert(
      fc.property(rollouts, (group) => {
        for (const value of advantagesOf({ ...exact, clipAdvantage: 0.7 }, [group]).flat(2)) expect(Math.abs(value)).toBeLessThanOrEqual(0.7)
      }),
      { numRuns: 40 },
    )
  })

  it('skips a group whose outcomes are all the same when told to', () => {
    const rows = advantagesOf({ ...exact, flatGroups: 'skip' }, [[[1, -1], [2]]], { outcomes: [0, 0] })
    expect(rows.flat(2)).toEqual([0, 0, 0])
  })
})

// The credits of PURE are no linear matter, and returns grow with what is left to come.
const affine = estimatorNames.filter((name) => name !== 'pure' && rewardForm(name) !== 'return')

describe.each(affine)('%s', (name) => {
  const standardised = !['dr-grpo', 'rloo'].includes(name)
  const exact = { name, ...(standardised ? { epsilon: 0 } : {}) } as Settings

  it('scales and shifts as its formula says', () => {
    fc.assert(
      fc.property(rollouts, fc.integer({ min: 1, max: 30 }), reward, (group, scale, shift) => {
        const before = advantagesOf(exact, [group]).flat(2)
        const after = advantagesOf(exact, [group.map((rewards) => rewards.map((value) => value * scale + shift))]).flat(2)
        if (before.every((value) => Math.abs(value) < 1e-9)) return // equal rewards: rounding decides what is left
        expectClose(after, before.map((value) => (standardised ? value : value * scale)), 1e-5)
      }),
      { numRuns: 40 },
    )
  })
})

describe.each(affine.filter((name) => rewardForm(name) !== 'step'))('%s', (name) => {
  it('sums to zero over rollouts of the mean over tokens', () => {
    fc.assert(
      fc.property(rollouts, (group) => {
        const means = advantagesOf({ name }, [group])[0]!.map((own) => own.reduce((sum, value) => sum + value, 0) / own.length)
        expect(Math.abs(means.reduce((sum, value) => sum + value, 0))).toBeLessThan(1e-8)
      }),
      { numRuns: 40 },
    )
  })
})

describe('REINFORCE++', () => {
  it('has mean 0 and variance 1 over the tokens of a batch', () => {
    fc.assert(
      fc.property(fc.array(rollouts, { minLength: 1, maxLength: 3 }), (groups) => {
        const all = advantagesOf({ name: 'reinforce++', epsilon: 0 }, groups).flat(2)
        if (all.every((value) => Math.abs(value) < 1e-9)) return
        expect(Math.abs(all.reduce((sum, value) => sum + value, 0))).toBeLessThan(1e-8)
        expect(all.reduce((sum, value) => sum + value * value, 0) / (all.length - 1)).toBeCloseTo(1, 8)
      }),
      { numRuns: 40 },
    )
  })
})

describe('groups of different sizes', () => {
  it('have the advantages they would have alone', () => {
    const [pair, five] = [[[1, 0], [0]], [[1], [0, 0.5], [-1], [2], [0.25, 0.75]]]
    for (const name of estimatorNames) {
      if (name === 'reinforce++') continue
      expect(advantagesOf({ name }, [pair, five])).toEqual([...advantagesOf({ name }, [pair]), ...advantagesOf({ name }, [five])])
    }
  })
})
