import { describe, expect, it } from 'vitest'
import { groupRollouts, samePlace, stageResults } from '../../../src-renderer/features/rollouts/rollout-groups.ts'
import { rolloutOf } from '../samples.ts'

const rollouts = [
  rolloutOf(['a'], { promptId: 'x', index: 1, reward: 1, outcome: 1 }),
  rolloutOf(['b'], { promptId: 'y', index: 0, reward: -1, outcome: -1 }),
  rolloutOf(['c'], { promptId: 'x', index: 0, reward: 0, outcome: -1 }),
  rolloutOf(['d'], { promptId: 'y', index: 1, reward: -0.5, outcome: -1 }),
]

describe('groupRollouts', () => {
  it('puts rollouts of a prompt together, by index', () => {
    const groups = groupRollouts(rollouts)
    expect(groups.map((group) => group.rollouts.map((rollout) => rollout.text))).toEqual([['c', 'a'], ['b', 'd']])
    expect(groups.map((group) => group.meanReward)).toEqual([0.5, -0.75])
  })

  it('calls a group flat by its outcomes, not by its shaped rewards', () => {
    expect(groupRollouts(rollouts).map((group) => group.flat)).toEqual([false, true])
  })
})

describe('samePlace', () => {
  it('finds the rollout at the same place of another step, or the nearest there is', () => {
    const groups = groupRollouts(rollouts)
    expect(samePlace(groups, 1, 1)?.text).toBe('d')
    expect(samePlace(groups, 9, 1)?.text).toBe('a')
    expect(samePlace(groups, 0, 9)?.text).toBe('c')
    expect(samePlace([], 0, 0)).toBeUndefined()
  })
})

describe('stageResults', () => {
  it('tells a stage that failed from one that was not reached', () => {
    const results = stageResults({ parse: true, types: false, bundle: false, render: false })
    expect(results.map(({ result }) => result)).toEqual(['passed', 'failed', 'not-reached', 'not-reached'])
  })
})
