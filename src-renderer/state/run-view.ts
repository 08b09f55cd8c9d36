// What the page knows of one run: a snapshot, and every event since applied to it. Pure; the back end owns the truth.
import type { RunSnapshot, RunSummary } from '../../src-main/contract/calls.ts'
import type { ErrorEnvelope } from '../../src-main/contract/errors.ts'
import type { EngineEvent, EvaluationResult, MetricsRow, Phase, RolloutRecord } from '../../src-main/contract/events.ts'

export interface Progress {
  readonly phase: Phase
  readonly step: number
  readonly done: number
  readonly total: number
}

export interface RunView {
  readonly summary: RunSummary
  readonly message: string
  readonly secondsLeft: number | null
  readonly progress: Progress | null
  readonly metrics: readonly MetricsRow[]
  readonly evaluations: readonly EvaluationResult[]
  readonly rollouts: readonly RolloutRecord[]
  /** Newest last; repeated ones once. */
  readonly warnings: readonly string[]
  readonly checkpointStep: number | null
  readonly error: ErrorEnvelope | null
}

const keptWarnings = 5

export function viewOf(snapshot: RunSnapshot): RunView {
  return {
    summary: snapshot.summary,
    message: snapshot.message,
    secondsLeft: null,
    progress: null,
    metrics: snapshot.metrics,
    evaluations: snapshot.evaluations,
    rollouts: snapshot.newestRollouts,
    warnings: [],
    checkpointStep: null,
    error: null,
  }
}

/** Puts an item with a step into a list ordered by step. What the list held from that step on was undone by a resume, unless it is the same event heard twice. */
function putByStep<Item extends { readonly step: number }>(items: readonly Item[], item: Item): Item[] {
  const before = items.findLastIndex((other) => other.step < item.step) + 1
  return [...items.slice(0, before), item]
}

/** The view after one event. */
export function applyEvent(view: RunView, event: EngineEvent): RunView {
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
      }
    }
    case 'progress':
      return { ...view, progress: { phase: event.phase, step: event.step, done: event.done, total: event.total } }
    case 'metrics':
      return { ...view, metrics: putByStep(view.metrics, event.row), summary: { ...view.summary, step: event.row.step } }
    case 'rollouts':
      return event.rollouts.length === 0 ? view : { ...view, rollouts: event.rollouts }
    case 'evaluation':
      return { ...view, evaluations: putByStep(view.evaluations, event.result) }
    case 'checkpoint':
      return { ...view, checkpointStep: event.step }
    case 'warning':
      return { ...view, warnings: [...view.warnings.filter((warning) => warning !== event.message), event.message].slice(-keptWarnings) }
    case 'error':
      return { ...view, error: event.error }
  }
}
