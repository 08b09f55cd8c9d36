// The verdict on a completion nobody could judge: it stalled or crashed whoever looked at it.
import type { RewardConfig } from '../../contract/reward-config.ts'
import type { ScoredCompletion, SourceScore } from '../../contract/rewards.ts'
import { assemble } from './bus.ts'
import { failedReactSources } from './score-parts.ts'

const nothingPassed = { parse: false, types: false, bundle: false, render: false }

/** The lowest outcome of the recipe, with the reason. */
export function failedCompletion(reason: string, config: RewardConfig): ScoredCompletion {
  const failures = [config.recipe === 'react' ? 'nothing visible' : 'not judged']
  return assemble({ sources: failedSources(reason, config), stages: nothingPassed, requirementScore: 0, audit: { passed: false, failures } }, config)
}

function failedSources(reason: string, config: RewardConfig): SourceScore[] {
  const none = { spans: [], milliseconds: 0 }
  switch (config.recipe) {
    case 'react':
      return failedReactSources(reason, config)
    case 'maths':
      return [
        { source: 'answer', global: 0, ...none, failure: reason },
        { source: 'format', global: config.formatMissing, ...none },
        { source: 'steps', global: 0, ...none },
      ]
    case 'code':
      return [
        { source: 'compiler', global: config.ladder.parse, ...none, failure: reason },
        { source: 'tests', global: 0, ...none },
      ]
    case 'custom':
      return [{ source: 'custom', global: config.failureValue, ...none, failure: reason }]
  }
}
