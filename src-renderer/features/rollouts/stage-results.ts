// How far a completion came on the ladder. Pure.
import type { RolloutRecord } from '../../../src-main/contract/events.ts'

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
