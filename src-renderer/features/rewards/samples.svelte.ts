// The samples of a source, read when the source or the recipe changes.
import type { SatchelBridge } from '../../../src-main/contract/bridge.ts'
import type { RewardSample, SampleSource } from '../../../src-main/contract/calls/rewards.ts'
import type { ErrorEnvelope } from '../../../src-main/contract/errors.ts'
import type { Recipe } from '../../../src-main/contract/reward-config.ts'
import { words } from '../../words.ts'

export interface Samples {
  readonly current: readonly RewardSample[]
  readonly reading: boolean
  /** What is worth knowing of them: rows that held nothing, prompts that are gone. */
  readonly note: string
  readonly problem: ErrorEnvelope | null
  /** Reads them; the same question again is not asked. */
  read(recipe: Recipe, source: SampleSource): Promise<void>
}

export function createSamples(bridge: SatchelBridge): Samples {
  let current = $state.raw<readonly RewardSample[]>([])
  let reading = $state(false)
  let note = $state('')
  let problem = $state.raw<ErrorEnvelope | null>(null)
  let asked = ''
  return {
    get current() {
      return current
    },
    get reading() {
      return reading
    },
    get note() {
      return note
    },
    get problem() {
      return problem
    },
    async read(recipe, source) {
      const key = JSON.stringify([recipe, source])
      if (key === asked) return
      asked = key
      reading = true
      // Those of another recipe hold other fields: nothing of them may be scored.
      current = []
      const outcome = await bridge.call('rewards.samples', { recipe, source })
      if (asked !== key) return
      reading = false
      current = outcome.ok ? outcome.value.samples : []
      problem = outcome.ok ? null : outcome.error
      note = outcome.ok ? [outcome.value.skipped > 0 ? words.rewards.skipped(outcome.value.skipped) : '', outcome.value.note].filter((part) => part !== '').join(' ') : ''
    },
  }
}
