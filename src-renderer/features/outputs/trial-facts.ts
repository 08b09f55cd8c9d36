// The numbers of an answer, in words.
import type { Trial } from '../../../src-main/contract/calls/runs.ts'
import { percent, plural } from '../../state/number-format.ts'

/** How long it is, how sure the model was on average (geometric mean of the probabilities), and whether it was cut off. */
export function trialFacts({ ids, logprobs, finish }: Trial): string {
  const sure = logprobs.length === 0 ? '' : `, mean probability ${percent(Math.exp(logprobs.reduce((sum, value) => sum + value, 0) / logprobs.length))}`
  return `${plural(ids.length, 'token')}${sure}${finish === 'length' ? ', cut off' : ''}`
}
