// Asks the app once, then listens. Publishes a fresh, immutable view after every change; draws nothing.
import type { SatchelBridge } from '../../src-main/contract/bridge.ts'
import type { CallName, CallRequest, CallResponse, RunSummary } from '../../src-main/contract/calls.ts'
import type { QueuedRun } from '../../src-main/contract/calls/run-data.ts'
import type { PageRunEvent } from '../../src-main/contract/calls/runs.ts'
import type { ErrorEnvelope } from '../../src-main/contract/errors.ts'
import { manyLiveRows, seriesOf, withRow } from './run-series.ts'
import { applyEvent, viewOf } from './run-view.ts'
import type { RunView } from './run-view.ts'

/** A request that is on its way; its button waits. */
export type Pending = 'start' | 'pause' | 'continue' | 'stop' | 'stop-now' | 'checkpoint' | 'resume' | null

export interface AppView {
  readonly load: 'loading' | 'ready' | 'failed'
  /** Newest first. */
  readonly runs: readonly RunSummary[]
  readonly selected: RunView | null
  /** Runs that wait for their turn. */
  readonly queue: readonly QueuedRun[]
  readonly pending: Pending
  /** The last call that failed, until it is dismissed or the next call is made. */
  readonly problem: ErrorEnvelope | null
}

export interface RunController {
  load(): Promise<void>
  select(directory: string): Promise<void>
  startDemo(seed: number): Promise<void>
  /** Starts a run as configured, or lets it wait. `started` is shown at once; undefined where it could not be had (`problem` says why). */
  start(config: Readonly<Record<string, unknown>>): Promise<'started' | 'waiting' | undefined>
  unqueue(id: string): Promise<void>
  /** Asks for a run folder from elsewhere and shows it. */
  addFolder(): Promise<void>
  /** Shows a run folder that was dropped. @returns whether it is one */
  openFolder(path: string): Promise<boolean>
  /** Starts the run that waits longest. */
  startNext(): Promise<void>
  pause(): Promise<void>
  continueRun(): Promise<void>
  stop(): Promise<void>
  stopNow(): Promise<void>
  checkpoint(): Promise<void>
  resume(): Promise<void>
  dismissProblem(): void
  /** The last problem, which is then no longer shown anywhere else. */
  takeProblem(): ErrorEnvelope | null
  dispose(): void
}

export const initialAppView: AppView = { load: 'loading', runs: [], selected: null, queue: [], pending: null, problem: null }

export function createRunController(bridge: SatchelBridge, publish: (view: AppView) => void): RunController {
  let view = initialAppView
  let thinning = false
  /** Events of a run whose snapshot is on its way. */
  let opening: { directory: string; events: PageRunEvent[] } | null = null

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
    if (view.runs.some((run) => run.directory === summary.directory)) return view.runs.map((run) => (run.directory === summary.directory ? { ...run, ...summary } : run))
    return [summary, ...view.runs]
  }

  /** A long run asks for its thinned curves again, and keeps the rows that come meanwhile. */
  async function thin(directory: string): Promise<void> {
    thinning = true
    const outcome = await bridge.call('runs.metrics', { directory, from: 0, to: Number.MAX_SAFE_INTEGER, columns: 500 })
    thinning = false
    const { selected } = view
    if (!outcome.ok || selected?.summary.directory !== directory) return
    const last = Math.max(0, ...outcome.value.map(({ steps }) => steps.at(-1) ?? 0))
    change({ selected: { ...selected, series: selected.series.live.filter(({ step }) => step > last).reduce(withRow, seriesOf(outcome.value)) } })
  }

  function hear(directory: string, event: PageRunEvent): void {
    if (opening?.directory === directory) {
      opening.events.push(event)
    } else if (view.selected?.summary.directory === directory) {
      const selected = applyEvent(view.selected, event)
      const sameSummary = selected.summary === view.selected.summary
      change({ selected, runs: sameSummary ? view.runs : putSummary(selected.summary) })
      if (selected.series.live.length > manyLiveRows && !thinning) void thin(directory)
      // A run that was opened before its engine had made its folder.
      if (event.type === 'state' && event.totalSteps > 0 && Object.keys(selected.description).length === 0) void select(directory)
    } else if (event.type === 'state') {
      const name = directory.split(/[\\/]/).at(-1) ?? directory
      change({ runs: putSummary({ name, directory, state: event.state, step: event.step, totalSteps: event.totalSteps }) })
    }
  }

  async function select(directory: string): Promise<void> {
    const mine = { directory, events: [] as PageRunEvent[] }
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

  function actOnSelected(pending: Pending, name: 'runs.pause' | 'runs.continue' | 'runs.stop' | 'runs.stopNow' | 'runs.checkpoint' | 'runs.resume'): Promise<void> {
    const directory = view.selected?.summary.directory
    return directory === undefined ? Promise.resolve() : act(pending, () => ask(name, { directory }))
  }

  async function start(config: Readonly<Record<string, unknown>>): Promise<'started' | 'waiting' | undefined> {
    change({ pending: 'start', problem: null })
    const answer = await ask('runs.start', { config })
    if (answer !== undefined && 'started' in answer) await select(answer.started.directory)
    change({ pending: null })
    return answer === undefined ? undefined : 'started' in answer ? 'started' : 'waiting'
  }

  async function list(): Promise<boolean> {
    const runs = await ask('runs.list', {})
    if (runs !== undefined) change({ runs })
    return runs !== undefined
  }

  const subscriptions = [
    bridge.subscribe('run.event', ({ directory, event }) => hear(directory, event)),
    bridge.subscribe('runs.changed', () => void list()),
    bridge.subscribe('runs.queued', ({ queue, started, problem }) => {
      change({ queue, ...(problem === null ? {} : { problem }), ...(started === null ? {} : { runs: putSummary(started) }) })
      // The one that waited longest is what the person wants to see next, unless they look at a run at work.
      if (started !== null && (view.selected === null || !isLive(view.selected.summary))) void select(started.directory)
    }),
  ]
  return {
    load: async () => {
      if (!(await list())) return change({ load: 'failed' })
      const waiting = await bridge.call('runs.queue', {})
      if (waiting.ok && waiting.value.length > 0) change({ queue: waiting.value })
      const newest = view.runs.find((run) => isLive(run)) ?? view.runs[0]
      if (newest !== undefined) await select(newest.directory)
      change({ load: 'ready' })
    },
    select,
    startDemo: (seed) => act('start', () => ask('runs.startDemo', { seed })),
    start,
    unqueue: async (id) => {
      await ask('runs.unqueue', { id })
    },
    addFolder: async () => {
      const added = await ask('runs.add', {})
      if (added === undefined || added === null) return
      await list()
      await select(added.directory)
    },
    openFolder: async (path) => {
      const added = await ask('runs.openFolder', { path })
      if (added === undefined) return false
      await list()
      await select(added.directory)
      return true
    },
    startNext: async () => {
      await ask('runs.startNext', {})
    },
    pause: () => actOnSelected('pause', 'runs.pause'),
    continueRun: () => actOnSelected('continue', 'runs.continue'),
    stop: () => actOnSelected('stop', 'runs.stop'),
    stopNow: () => actOnSelected('stop-now', 'runs.stopNow'),
    checkpoint: () => actOnSelected('checkpoint', 'runs.checkpoint'),
    resume: () => actOnSelected('resume', 'runs.resume'),
    dismissProblem: () => change({ problem: null }),
    takeProblem() {
      const { problem } = view
      change({ problem: null })
      return problem
    },
    dispose: () => subscriptions.forEach((unsubscribe) => unsubscribe()),
  }
}

/** Whether an engine is at work on a run. */
export function isLive(run: RunSummary): boolean {
  return run.state === 'starting' || run.state === 'running' || run.state === 'paused' || run.state === 'stopping'
}
