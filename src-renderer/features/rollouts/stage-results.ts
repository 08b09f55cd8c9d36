// How far a completion came on the ladder. Pure.
import type { RolloutRecord } from '../../../src-main/contract/events.ts'
import type { Recipe } from '../../../src-main/contract/reward-config.ts'
import { gateNames } from '../../../src-main/contract/rewards.ts'

export interface StageResult {
  readonly stage: 'parse' | 'types' | 'bundle' | 'render'
  /** The gate as its recipe calls it. */
  readonly label: string
  readonly result: 'passed' | 'failed' | 'not-reached'
}

/**
 * The stages in their order, and how far a completion came: the first that is false failed, those after it were not reached. Recipes with
 * fewer gates call several of them the same; those are one.
 */
export function stageResults(stages: RolloutRecord['stages'], recipe: Recipe = 'react'): StageResult[] {
  let failed = false
  const all = (['parse', 'types', 'bundle', 'render'] as const).map((stage): StageResult => {
    const label = recipe === 'react' ? stage : gateNames[recipe][stage]
    if (stages[stage] && !failed) return { stage, label, result: 'passed' }
    const result = failed ? 'not-reached' : 'failed'
    failed = true
    return { stage, label, result }
  })
  return all.filter(({ label }, at) => all.findIndex((other) => other.label === label) === at)
}
