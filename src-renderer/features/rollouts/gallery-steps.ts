// Which rollouts of a prompt a gallery shows: one a step, spread over the run, first and last among them. Pure.
import type { RolloutHeader } from '../../../src-main/contract/calls/run-data.ts'
import { grouped } from './rollout-order.ts'

/** At most `most` headers, steps ascending; of each step the one whose reward lies in the middle. */
export function spreadSteps(hits: readonly RolloutHeader[], most: number): RolloutHeader[] {
  const steps = [...grouped(hits, ({ step }) => step)].sort(([a], [b]) => a - b)
  const typical = steps.map(([, group]) => group.toSorted((a, b) => a.reward - b.reward)[Math.floor((group.length - 1) / 2)] as RolloutHeader)
  if (typical.length <= most) return typical
  return Array.from({ length: most }, (_, index) => typical[Math.round((index * (typical.length - 1)) / (most - 1))] as RolloutHeader)
}
