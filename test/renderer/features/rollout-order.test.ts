import { describe, expect, it } from 'vitest'
import { spreadSteps } from '../../../src-renderer/features/rollouts/gallery-steps.ts'
import { groupFacts, groupKey, sortRollouts } from '../../../src-renderer/features/rollouts/rollout-order.ts'
import { headerOf } from '../samples.ts'

describe('the order of a list', () => {
  const headers = [headerOf({ order: 0, reward: 1, tokens: 5 }), headerOf({ order: 1, reward: -1, tokens: 9 }), headerOf({ order: 2, reward: 1, tokens: 7 })]
  const orders = (...parameters: Parameters<typeof sortRollouts>): number[] => sortRollouts(...parameters).map(({ order }) => order)

  it('is that of the file by prompt, and the largest or smallest first by a number', () => {
    expect(orders(headers, 'prompt', true)).toEqual([0, 1, 2])
    expect(orders(headers, 'reward', false)).toEqual([0, 2, 1])
    expect(orders(headers, 'length', true)).toEqual([0, 2, 1])
  })

  it('changes nothing in place', () => {
    sortRollouts(headers, 'length', false)
    expect(headers.map(({ order }) => order)).toEqual([0, 1, 2])
  })
})

describe('groupFacts', () => {
  it('tells a group whose outcomes are all the same from one whose are not, and never mixes steps', () => {
    const headers = [headerOf({ outcome: 1, reward: 1 }), headerOf({ outcome: 1, reward: 3 }), headerOf({ promptId: 'b', outcome: 0 }), headerOf({ promptId: 'b', outcome: 1 }), headerOf({ step: 2, outcome: 5 })]
    const facts = groupFacts(headers)
    expect(facts.get(groupKey(headers[0] as (typeof headers)[number]))).toEqual({ meanReward: 2, flat: true })
    expect(facts.get(groupKey(headers[2] as (typeof headers)[number]))?.flat).toBe(false)
    expect(facts.size).toBe(3)
  })
})

describe('the gallery', () => {
  it('shows one rollout a step, the one in the middle, and keeps the first and the last step', () => {
    const hits = [30, 20, 10].flatMap((step) => [5, 1, 3].map((reward, order) => headerOf({ step, reward, order })))
    expect(spreadSteps(hits, 12).map(({ step, reward }) => [step, reward])).toEqual([[10, 3], [20, 3], [30, 3]])
    const many = Array.from({ length: 100 }, (_, index) => headerOf({ step: index + 1 }))
    const shown = spreadSteps(many, 5).map(({ step }) => step)
    expect([shown[0], shown.length, shown.at(-1)]).toEqual([1, 5, 100])
  })
})
