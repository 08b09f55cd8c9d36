// Which buttons make sense, and the sentence above them.
import type { RunSummary } from '../../src-main/contract/calls/run-data.ts'
import { outcomeWords } from '../../src-main/contract/outcome-words.ts'
import { recipeOf } from './recipe-of.ts'
import type { AppView } from './run-controller.ts'
import { isLive } from './run-controller.ts'
import type { RunView } from './run-view.ts'
import { duration, percent } from './number-format.ts'
import { words } from '../words.ts'

export interface RunActions {
  readonly start: boolean
  readonly pause: boolean
  /** 'continue' a paused engine, or 'restart' one from the newest checkpoint. */
  readonly resume: 'continue' | 'restart' | false
  readonly stop: boolean
  readonly checkpoint: boolean
  /** Whether rates and weights can be changed. */
  readonly change: boolean
}

/** What may be pressed now. One run at a time: while any is live, no other starts. */
export function runActions(view: AppView): RunActions {
  const idle = view.load === 'ready' && view.pending === null
  const anyLive = view.runs.some(isLive)
  // A run outside the runs folder is only looked at.
  const own = view.selected?.summary.outside === true ? undefined : view.selected?.summary
  const state = own?.state
  const restartable = (state === 'stopped' || state === 'failed') && (own?.totalSteps ?? 0) > 0
  return {
    start: idle && !anyLive,
    pause: idle && state === 'running',
    resume: !idle ? false : state === 'paused' ? 'continue' : restartable && !anyLive ? 'restart' : false,
    checkpoint: idle && (state === 'running' || state === 'paused'),
    change: idle && own !== undefined && changeable(own),
    stop: idle && (state === 'starting' || state === 'running' || state === 'paused' || state === 'stopping'),
  }
}

/** A run that goes on, or can be made to, and has a configuration to change. */
export function changeable({ state, step, totalSteps, outside }: RunSummary): boolean {
  return outside !== true && totalSteps > 0 && step < totalSteps && state !== 'starting' && state !== 'done'
}

const say = words.runs.status

function workSentence(view: RunView): string {
  const { summary, progress, secondsLeft } = view
  const left = secondsLeft === null ? '' : ` ${say.left(duration(secondsLeft))}`
  if (progress === null) return `${say.stepDone(summary.step, summary.totalSteps)}${left}`
  const inStep = progress.step >= 1 && progress.step <= summary.totalSteps ? progress.step : null
  return `${say.doing(progress.phase, inStep, summary.totalSteps, progress.total > 1 ? [progress.done, progress.total] : null)}${left}`
}

function resultSentence(view: RunView): string {
  const first = view.evaluations[0]
  const last = view.evaluations.at(-1)
  if (first === undefined || last === undefined || first === last) return ''
  return ` ${say.result(outcomeWords[recipeOf(view.description)].subject, percent(first.compile.rate), percent(last.compile.rate))}`
}

/** One or two sentences that say what is going on. */
export function statusSentence(view: RunView): string {
  const { state, step, totalSteps } = view.summary
  switch (state) {
    case 'starting':
    case 'running':
      return view.progress === null && view.newestRow === null ? view.message || say.engine : workSentence(view)
    case 'paused':
      return say.paused(step, totalSteps)
    case 'stopping':
    case 'stopped':
    case 'failed':
      return view.message
    case 'done':
      return `${say.allDone(totalSteps)}${resultSentence(view)}`
  }
}

/** Share of the run that is done, 0..1. */
export function runShare(view: RunView): number {
  const { step, totalSteps } = view.summary
  return totalSteps <= 0 ? 0 : Math.min(1, Math.max(0, step / totalSteps))
}
