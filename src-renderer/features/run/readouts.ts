// The six numbers above the charts.
import type { EvaluationResult } from '../../../src-main/contract/events.ts'
import { outcomeWords } from '../../../src-main/contract/outcome-words.ts'
import { recipeOf } from '../../state/recipe-of.ts'
import { compact, percent, signed, unknown } from '../../state/number-format.ts'
import type { RunView } from '../../state/run-view.ts'

export interface Readout {
  readonly label: string
  readonly value: string
  readonly unit: string
  readonly note: string
}

function metric(run: RunView, name: string): number | null {
  return run.newestRow?.values[name] ?? null
}

function evaluationNote(first: EvaluationResult | undefined, last: EvaluationResult | undefined): string {
  if (first === undefined || last === undefined) return 'not evaluated yet'
  if (first === last) return `before training, n ${last.compile.n}`
  return `step ${last.step}, was ${percent(first.compile.rate)} before`
}

/** The newest values; a dash where none is known yet. */
export function readouts(run: RunView): Readout[] {
  const words = outcomeWords[recipeOf(run.description)]
  const first = run.evaluations[0]
  const last = run.evaluations.at(-1)
  const reward = metric(run, 'reward')
  const length = metric(run, 'completions/mean_length')
  const entropy = metric(run, 'entropy')
  const spread = metric(run, 'reward_std')
  const flat = metric(run, 'frac_reward_zero_std')
  const truncated = metric(run, 'completions/clipped_ratio')
  const rowNote = run.newestRow === null ? 'no step yet' : ''
  return [
    { label: `Held-out ${words.rate.toLowerCase()}`, value: percent(last?.compile.rate), unit: '', note: evaluationNote(first, last) },
    ...(words.detail === null ? [] : [{ label: words.detail.title, value: percent(last?.requirementScore), unit: '', note: last === undefined ? 'not evaluated yet' : 'of held-out prompts' }]),
    { label: 'Hack rate', value: percent(last?.hackRate.rate), unit: '', note: last === undefined ? 'not evaluated yet' : 'pass reward, fail audit' },
    { label: 'Mean reward', value: reward === null ? unknown : signed(reward), unit: '', note: rowNote || (spread === null ? '' : `spread ${compact(spread)}`) },
    { label: 'Mean length', value: compact(length), unit: length === null ? '' : 'tokens', note: rowNote || (truncated === null ? '' : `${percent(truncated)} cut off`) },
    { label: 'Entropy', value: compact(entropy), unit: entropy === null ? '' : 'nats', note: rowNote || (flat === null ? '' : `${percent(flat)} of groups are flat`) },
  ]
}
