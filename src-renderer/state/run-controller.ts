// Asks the app once, then listens. Publishes a fresh, immutable view after every change; draws nothing.
import type { SatchelBridge } from '../../src-main/contract/bridge.ts'
import type { CallName, CallRequest, CallResponse, RunSummary } from '../../src-main/contract/calls.ts'
import type { ErrorEnvelope } from '../../src-main/contract/errors.ts'
import type { EngineEvent } from '../../src-main/contract/events.ts'
import { applyEvent, viewOf } from './run-view.ts'
import type { RunView } from './run-view.ts'

/** A request that is on its way; its button waits. */
export type Pending = 'start' | 'pause' | 'continue' | 'stop' | 'resume' | null

export interface AppView {
  readonly load: 'loading' | 'ready' | 'failed'
  /** Newest first. */
  readonly runs: readonly RunSummary[]
  readonly selected: RunView | null
  readonly pending: Pending
  /** The last call that failed, until it is dismissed or the next call is made. */
  readonly problem: ErrorEnvelope | null
}

export interface RunController {
  load(): Promise<void>
  select(directory: string): Promise<void>
  startDemo(seed: number): Promise<void>
  pause(): Promise<void>
  continueRun(): Promise<void>
  stop(): Promise<void>
  resume(): Promise<void>
  dismissProblem(): void
  dispose(): void
}

export const initialAppView: AppView = { load: 'loading', runs: [], selected: null, pending: null, problem: null }

export function createRunController(bridge: SatchelBridge, publish: (view: AppView) => void): RunController {
  let view = initialAppView
  /** Events of a run whose snapshot is on its way. */
  let opening: { directory: string; events: EngineEvent[] } | null = null

  function change(part: Partial<AppView>): void {
    view = { ...view, ...part }
    publish(view)
  }

  async function ask<Name extends CallName>(name: Name, request: CallRequest<Name>): Promise<CallResponse<Name> | undefined> {
    const outcome = await bridge.call(name, request)
    if (outcome.ok) return outcome.value
    change({ problem: outcome.error })
    return undefined
  }

  function putSummary(summary: RunSummary): RunSummary[] {
    if (view.runs.some((run) => run.directory === summary.directory)) return view.runs.map((run) => (run.directory === summary.directory ? summary : run))
    return [summary, ...view.runs]
  }

  function hear(directory: string, event: EngineEvent): void {
    if (opening?.directory === directory) {
      opening.events.push(event)
    } else if (view.selected?.summary.directory === directory) {
      const selected = applyEvent(view.selected, event)
      const sameSummary = selected.summary === view.selected.summary
      change({ selected, runs: sameSummary ? view.runs : putSummary(selected.summary) })
    } else if (event.type === 'state') {
      const name = directory.split(/[\\/]/).at(-1) ?? directory
      change({ runs: putSummary({ name, directory, state: event.state, step: event.step, totalSteps: event.totalSteps }) })
    }
  }

  async function select(directory: string): Promise<void> {
    const mine = { directory, events: [] as EngineEvent[] }
    opening = mine
    const snapshot = await ask('runs.open', { directory })
    // Another run was chosen meanwhile.
    if (opening !== mine) return
    opening = null
    if (snapshot === undefined) return
    const selected = mine.events.reduce(applyEvent, viewOf(snapshot))
    change({ selected, runs: putSummary(selected.summary) })
  }

  async function act(pending: Pending, request: () => Promise<RunSummary | object | undefined>): Promise<void> {
    change({ pending, problem: null })
    const answer = await request()
    if (answer !== undefined && 'directory' in answer) await select(answer.directory)
    change({ pending: null })
  }

  function actOnSelected(pending: Pending, name: 'runs.pause' | 'runs.continue' | 'runs.stop' | 'runs.resume'): Promise<void> {
    const directory = view.selected?.summary.directory
    return directory === undefined ? Promise.resolve() : act(pending, () => ask(name, { directory }))
  }

  const unsubscribe = bridge.subscribe('run.event', ({ directory, event }) => hear(directory, event))
  return {
    load: async () => {
      const runs = await ask('runs.list', {})
      if (runs === undefined) return change({ load: 'failed' })
      change({ runs })
      const newest = runs.find((run) => isLive(run)) ?? runs[0]
      if (newest !== undefined) await select(newest.directory)
      change({ load: 'ready' })
    },
    select,
    startDemo: (seed) => act('start', () => ask('runs.startDemo', { seed })),
    pause: () => actOnSelected('pause', 'runs.pause'),
    continueRun: () => actOnSelected('continue', 'runs.continue'),
    stop: () => actOnSelected('stop', 'runs.stop'),
    resume: () => actOnSelected('resume', 'runs.resume'),
    dismissProblem: () => change({ problem: null }),
    dispose: unsubscribe,
  }
}

/** Whether an engine is at work on a run. */
export function isLive(run: RunSummary): boolean {
  return run.state === 'starting' || run.state === 'running' || run.state === 'paused' || run.state === 'stopping'
}
