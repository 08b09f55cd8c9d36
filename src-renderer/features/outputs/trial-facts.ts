// The numbers of an answer, in words.
import type { Trial } from '../../../src-main/contract/calls/runs.ts'
import { percent } from '../../state/number-format.ts'
import { words } from '../../words.ts'

/** How long it is, how sure the model was on average (geometric mean of the probabilities), and whether it was cut off. */
export function trialFacts({ ids, logprobs, finish }: Trial): string {
  const sure = logprobs.length === 0 ? null : percent(Math.exp(logprobs.reduce((sum, value) => sum + value, 0) / logprobs.length))
  return words.try.facts(ids.length, sure, finish === 'length')
}
