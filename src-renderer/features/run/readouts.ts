// The six numbers above the charts.
import type { EvaluationResult } from '../../../src-main/contract/events.ts'
import { outcomeWords } from '../../../src-main/contract/outcome-words.ts'
import { recipeOf } from '../../state/recipe-of.ts'
import { compact, percent, signed, unknown } from '../../state/number-format.ts'
import type { RunView } from '../../state/run-view.ts'
import { words } from '../../words.ts'

const say = words.monitor.numbers

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
  if (first === undefined || last === undefined) return say.notEvaluated
  if (first === last) return say.before(last.compile.n)
  return say.since(last.step, percent(first.compile.rate))
}

/** The newest values; a dash where none is known yet. */
export function readouts(run: RunView): Readout[] {
  const outcome = outcomeWords[recipeOf(run.description)]
  const first = run.evaluations[0]
  const last = run.evaluations.at(-1)
  const reward = metric(run, 'reward')
  const length = metric(run, 'completions/mean_length')
  const entropy = metric(run, 'entropy')
  const spread = metric(run, 'reward_std')
  const flat = metric(run, 'frac_reward_zero_std')
  const truncated = metric(run, 'completions/clipped_ratio')
  const rowNote = run.newestRow === null ? say.noStep : ''
  return [
    { label: say.heldOut(outcome.rate.toLowerCase()), value: percent(last?.compile.rate), unit: '', note: evaluationNote(first, last) },
    ...(outcome.detail === null ? [] : [{ label: outcome.detail.title, value: percent(last?.requirementScore), unit: '', note: last === undefined ? say.notEvaluated : say.ofHeldOut }]),
    { label: say.hackRate, value: percent(last?.hackRate.rate), unit: '', note: last === undefined ? say.notEvaluated : say.hacks },
    { label: say.reward, value: reward === null ? unknown : signed(reward), unit: '', note: rowNote || (spread === null ? '' : say.spread(compact(spread))) },
    { label: say.length, value: compact(length), unit: length === null ? '' : say.tokens, note: rowNote || (truncated === null ? '' : say.cutOff(percent(truncated))) },
    { label: say.entropy, value: compact(entropy), unit: entropy === null ? '' : say.nats, note: rowNote || (flat === null ? '' : say.flat(percent(flat))) },
  ]
}
