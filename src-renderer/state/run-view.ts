// What the page knows of one run: a snapshot, and every event since applied to it. Pure; the back end owns the truth.
import type { ExportNote, LogEntry, RunSnapshot, RunSummary } from '../../src-main/contract/calls/run-data.ts'
import type { PageRunEvent } from '../../src-main/contract/calls/runs.ts'
import { describeError } from '../../src-main/contract/errors.ts'
import type { ErrorEnvelope } from '../../src-main/contract/errors.ts'
import type { EvaluationResult, MetricsRow, Phase } from '../../src-main/contract/events.ts'
import { describeChange } from '../../src-main/contract/run-changes.ts'
import type { RunChange } from '../../src-main/contract/run-changes.ts'
import { seriesOf, withRow } from './run-series.ts'
import type { RunSeries } from './run-series.ts'

export interface Progress {
  readonly phase: Phase
  readonly step: number
  readonly done: number
  readonly total: number
}

export interface RunView {
  readonly summary: RunSummary
  /** run.json, as it lies on disk. */
  readonly description: Readonly<Record<string, unknown>>
  readonly message: string
  readonly secondsLeft: number | null
  readonly progress: Progress | null
  readonly series: RunSeries
  readonly newestRow: MetricsRow | null
  readonly evaluations: readonly EvaluationResult[]
  /** Steps that have rollouts, as ranges, ascending. */
  readonly rolloutSteps: readonly (readonly [number, number])[]
  /** Newest last; repeated ones once. */
  readonly warnings: readonly string[]
  readonly checkpoints: readonly number[]
  /** What was changed while it was in progress, in the order it was. */
  readonly changes: readonly RunChange[]
  readonly exports: readonly ExportNote[]
  readonly log: readonly LogEntry[]
  readonly error: ErrorEnvelope | null
}

const keptWarnings = 5
const keptLogEntries = 500

export function viewOf(snapshot: RunSnapshot): RunView {
  const { summary, description, message, series, newestRow, evaluations, rolloutSteps, checkpoints, changes, exports, log } = snapshot
  return { summary, description, message, secondsLeft: null, progress: null, series: seriesOf(series), newestRow, evaluations, rolloutSteps, warnings: [], checkpoints, changes, exports, log, error: null }
}

/** Puts an item with a step into a list ordered by step. What the list held from that step on was undone by a resume, unless it is the same event heard twice. */
function putByStep<Item extends { readonly step: number }>(items: readonly Item[], item: Item): Item[] {
  const before = items.findLastIndex((other) => other.step < item.step) + 1
  return [...items.slice(0, before), item]
}

/** The ranges with one more step; those after it were undone by a resume. */
export function withStep(ranges: RunView['rolloutSteps'], step: number): RunView['rolloutSteps'] {
  const kept = ranges.filter(([first]) => first < step).map(([first, last]) => [first, Math.min(last, step - 1)] as const)
  const previous = kept.at(-1)
  return previous?.[1] === step - 1 ? [...kept.slice(0, -1), [previous[0], step]] : [...kept, [step, step]]
}

/** The newest step that has rollouts; null where none has. */
export function newestRolloutStep(view: Pick<RunView, 'rolloutSteps'>): number | null {
  return view.rolloutSteps.at(-1)?.[1] ?? null
}

function logged(view: RunView, kind: LogEntry['kind'], step: number | null, text: string): Pick<RunView, 'log'> {
  return { log: [...view.log, { time: new Date().toISOString(), step, kind, text }].slice(-keptLogEntries) }
}

/** The view after one event. */
export function applyEvent(view: RunView, event: PageRunEvent): RunView {
  switch (event.type) {
    case 'state': {
      const working = event.state === 'running' || event.state === 'starting'
      return {
        ...view,
        // An engine that has just begun says 0 of 0.
        summary: event.totalSteps > 0 ? { ...view.summary, state: event.state, step: event.step, totalSteps: event.totalSteps } : { ...view.summary, state: event.state },
        message: event.message,
        secondsLeft: event.secondsLeft,
        progress: working || event.state === 'stopping' ? view.progress : null,
        error: working ? null : view.error,
        // An engine repeats its state after every step.
        ...(event.state === view.summary.state ? {} : logged(view, 'state', event.totalSteps > 0 ? event.step : null, `${event.state}: ${event.message}`)),
      }
    }
    case 'progress':
      return { ...view, progress: { phase: event.phase, step: event.step, done: event.done, total: event.total } }
    case 'metrics':
      return { ...view, series: withRow(view.series, event.row), newestRow: event.row, summary: { ...view.summary, step: event.row.step } }
    case 'rollouts-written':
      return { ...view, rolloutSteps: withStep(view.rolloutSteps, event.step) }
    case 'evaluation':
      return { ...view, evaluations: putByStep(view.evaluations, event.result), ...logged(view, 'evaluation', event.result.step, `Held-out evaluation after step ${event.result.step}.`) }
    case 'checkpoint':
      return { ...view, checkpoints: [...view.checkpoints.filter((step) => step < event.step), event.step], ...logged(view, 'checkpoint', event.step, `Checkpoint of step ${event.step} written.`) }
    case 'changed':
      // One that came while the run was being opened may be in its folder already.
      return event.changes.filter((change) => !view.changes.some((known) => known.field === change.field && known.time === change.time)).reduce((before, change) => ({ ...before, changes: [...before.changes, change], ...logged(before, 'change', change.step, describeChange(change)) }), view)
    case 'warning':
      return { ...view, warnings: [...view.warnings.filter((warning) => warning !== event.message), event.message].slice(-keptWarnings), ...logged(view, 'warning', null, event.message) }
    case 'error':
      return { ...view, error: event.error, ...logged(view, 'error', null, describeError(event.error)) }
  }
}
