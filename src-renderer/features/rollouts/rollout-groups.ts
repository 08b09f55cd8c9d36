// Rollouts of one step, put together by the prompt they answer. Pure.
import type { RolloutRecord } from '../../../src-main/contract/events.ts'

export interface RolloutGroup {
  readonly promptId: string
  readonly prompt: string
  readonly rollouts: readonly RolloutRecord[]
  readonly meanReward: number
  /** Every rollout has the same outcome: the group does not tell good from bad as a whole. */
  readonly flat: boolean
}

const flatTolerance = 1e-9

/** Groups in the order their first rollout came; rollouts by index. */
export function groupRollouts(rollouts: readonly RolloutRecord[]): RolloutGroup[] {
  const byPrompt = new Map<string, RolloutRecord[]>()
  for (const rollout of rollouts) {
    const group = byPrompt.get(rollout.promptId)
    if (group === undefined) byPrompt.set(rollout.promptId, [rollout])
    else group.push(rollout)
  }
  return [...byPrompt.values()].map((group) => {
    const outcomes = group.map((rollout) => rollout.outcome)
    return {
      promptId: group[0]?.promptId ?? '',
      prompt: group[0]?.prompt ?? '',
      rollouts: group.toSorted((a, b) => a.index - b.index),
      meanReward: group.reduce((sum, rollout) => sum + rollout.reward, 0) / group.length,
      flat: group.length > 1 && Math.max(...outcomes) - Math.min(...outcomes) <= flatTolerance,
    }
  })
}

/** The stages in their order, and how far a completion came: the first that is false failed, those after it were not reached. */
export function stageResults(stages: RolloutRecord['stages']): { stage: 'parse' | 'types' | 'bundle' | 'render'; result: 'passed' | 'failed' | 'not-reached' }[] {
  let failed = false
  return (['parse', 'types', 'bundle', 'render'] as const).map((stage) => {
    if (stages[stage] && !failed) return { stage, result: 'passed' }
    const result = failed ? 'not-reached' : 'failed'
    failed = true
    return { stage, result }
  })
}

/** The rollout at the same place of a newer step: same group by order, same index; the first when there is none. */
export function samePlace(groups: readonly RolloutGroup[], groupOrder: number, index: number): RolloutRecord | undefined {
  const group = groups[groupOrder] ?? groups[0]
  return group?.rollouts.find((rollout) => rollout.index === index) ?? group?.rollouts[0]
}
