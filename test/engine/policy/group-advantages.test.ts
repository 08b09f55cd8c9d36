import { describe, expect, it } from 'vitest'
import type { z } from 'zod'
import { estimatorConfigSchema } from '../../../src-main/contract/run-config.ts'
import type { EstimatorConfig } from '../../../src-main/contract/run-config.ts'
import { groupAdvantages, lossLengths } from '../../../src-main/engine/policy/group-advantages.ts'
import type { RolloutGroup } from '../../../src-main/engine/policy/group-advantages.ts'

const config = (settings: z.input<typeof estimatorConfigSchema> = {}): EstimatorConfig => estimatorConfigSchema.parse(settings)

function group(tokenRewards: number[][], more: Partial<RolloutGroup> = {}): RolloutGroup {
  return { tokenRewards: tokenRewards.map((rewards) => Float64Array.from(rewards)), outcomes: tokenRewards.map((_, k) => k), truncated: tokenRewards.map(() => false), ...more }
}

function expectClose(actual: Float64Array[] | undefined, expected: number[][], digits = 8): void {
  expect(actual?.map((row) => row.length)).toEqual(expected.map((row) => row.length))
  actual!.forEach((row, k) => row.forEach((a, t) => expect(a).toBeCloseTo(expected[k]![t]!, digits)))
}

const golden = [[1], [0.5, 0], [1, 0, -1, 0]]
const goldenAdvantages = [[0.961523948], [0.137360564, -0.68680282], [0.961523948, -0.68680282, -2.335129587, -0.68680282]] // epsilon 0

describe('groupAdvantages', () => {
  it('gives every group its advantages and statistics', () => {
    const { advantages, stats, fates } = groupAdvantages(config({ epsilon: 0 }), [group(golden), group([[0, 0], [1, 1]])])
    expectClose(advantages[0], goldenAdvantages)
    expectClose(advantages[1], [[-1, -1], [1, 1]])
    expect(stats[0]!.mu).toBeCloseTo(5 / 12, 12)
    expect(stats[1]).toEqual({ mu: 0.5, sigma: 0.5, kept: 2, dropped: 0, flat: false, skipped: false })
    expect(fates).toEqual([['taught', 'taught', 'taught'], ['taught', 'taught']])
  })

  it('takes masked tokens out before lengths are counted, and gives them 0', () => {
    const masked = group([[1], [9, 0.5, 9, 0], [1, 0, -1, 0, -7]], { completionMasks: [[1], [0, 1, 0, 1], [1, 1, 1, 1, 0]].map((mask) => Uint8Array.from(mask)) })
    const [a, b, c] = goldenAdvantages as [number[], number[], number[]]
    expectClose(groupAdvantages(config({ epsilon: 0 }), [masked]).advantages[0], [a, [0, b[0]!, 0, b[1]!], [...c, 0]])
  })

  it('checks for finite rewards before the mask, and drops a rollout that the mask empties', () => {
    const dirty = group([...golden, [Number.NaN, 1], [4, 4]], { completionMasks: [[1], [1, 1], [1, 1, 1, 1], [0, 1], [0, 0]].map((mask) => Uint8Array.from(mask)) })
    const { advantages, fates, stats } = groupAdvantages(config({ epsilon: 0 }), [dirty])
    expectClose(advantages[0], [...goldenAdvantages, [0, 0], [0, 0]])
    expect(fates[0]).toEqual(['taught', 'taught', 'taught', 'dropped', 'dropped'])
    expect(stats[0]).toMatchObject({ kept: 3, dropped: 2 })
  })

  it('masks truncated rollouts only when asked to', () => {
    const cut = group(golden, { truncated: [false, false, true] })
    expectClose(groupAdvantages(config({ epsilon: 0 }), [cut]).advantages[0], goldenAdvantages)
    const { advantages, fates } = groupAdvantages(config({ epsilon: 0, maskTruncated: true }), [cut])
    expectClose(advantages[0], [...goldenAdvantages.slice(0, 2), [0, 0, 0, 0]])
    expect(fates[0]).toEqual(['taught', 'taught', 'masked'])
  })

  it('applies the flat-group policy after rollouts were dropped', () => {
    // The one success has no finite reward: what is left is flat.
    const left = group([[-1, -1.5], [-1, -1], [Number.NaN]], { outcomes: [-1, -1, 1] })
    const { advantages, stats } = groupAdvantages(config({ flatGroups: 'skip' }), [left])
    expect(stats[0]).toMatchObject({ flat: true, skipped: true, dropped: 1 })
    expectClose(advantages[0], [[0, 0], [0, 0], [0]])
  })

  it('clips after dividing', () => {
    const { advantages } = groupAdvantages(config({ epsilon: 0, clipAdvantage: 1 }), [group(golden)])
    expect(Math.min(...advantages[0]![2]!)).toBe(-1)
  })

  it('gives GRPO one advantage a rollout from its score, whatever the token rewards are', () => {
    // R = [1, 0, 0, .5], population deviation, epsilon 1e-6.
    const scored = group([[7, -7], [0], [3], [0, 0]], { scores: [1, 0, 0, 0.5], outcomes: [1, 0, 0, 0] })
    expectClose(groupAdvantages(config({ name: 'grpo' }), [scored]).advantages[0], [[1.507553, 1.507553], [-0.904532], [-0.904532], [0.301511, 0.301511]], 5)
    const { scores, ...unscored } = { ...scored, outcomes: [1, 0, 0, 0.5] }
    expect(scores).toHaveLength(4)
    expectClose(groupAdvantages(config({ name: 'grpo' }), [unscored]).advantages[0], [[1.507553, 1.507553], [-0.904532], [-0.904532], [0.301511, 0.301511]], 5)
  })

  it('takes no groups and empty groups', () => {
    expect(groupAdvantages(config(), [])).toEqual({ advantages: [], fates: [], stats: [] })
    expect(groupAdvantages(config(), [group([])]).stats[0]).toMatchObject({ kept: 0, skipped: true })
  })

  it('names the group and the list that does not fit', () => {
    expect(() => groupAdvantages(config(), [group(golden), group(golden, { outcomes: [1] })])).toThrow(/group 1: 3 rollouts but 1 outcomes/)
    expect(() => groupAdvantages(config(), [group([[1]], { completionMasks: [Uint8Array.of(1, 1)] })])).toThrow(/group 0, rollout 0: 1 token rewards but a completion mask of 2/)
  })
})

describe('lossLengths', () => {
  it('leaves dropped and masked rollouts out of every average', () => {
    expect([...lossLengths([3, 4, 5], ['taught', 'masked', 'dropped'])]).toEqual([3, 0, 0])
  })
})
