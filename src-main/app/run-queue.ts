// Runs wait here for their turn: one engine at a time has the whole machine.
import type { QueuedRun, RunSummary } from '../contract/calls/run-data.ts'
import { toEnvelope } from '../contract/errors.ts'
import type { ErrorEnvelope } from '../contract/errors.ts'
import type { EngineStart } from '../contract/events.ts'

/** A run as the queue takes it: what to tell the engine, and what to call it until it has a folder. */
export interface RunRequest {
  readonly start: EngineStart
  readonly name: string
  readonly what: QueuedRun['what']
  /** A few words for the list. */
  readonly detail: string
}

/** A run that waits, as it is kept over a restart. */
export interface WaitingRun {
  readonly entry: QueuedRun
  readonly start: EngineStart
}

export interface QueueOptions {
  /** Runs that waited when the app was closed. They go on waiting until another run has ended, or somebody starts them. */
  readonly restored?: readonly WaitingRun[]
  /** Hears of every change, to keep it. */
  readonly keep?: (queue: readonly WaitingRun[]) => void
  readonly start: (start: EngineStart) => Promise<RunSummary>
  readonly busy: () => boolean
  /** Hears of every change; `problem` is why a run that had waited could not start, `started` the one that did. */
  readonly onChange: (queue: readonly QueuedRun[], news: { readonly problem?: ErrorEnvelope; readonly started?: RunSummary }) => void
}

export interface RunQueue {
  /** Starts the run when the machine is free, otherwise lets it wait. */
  submit(request: RunRequest): Promise<{ readonly started: RunSummary } | { readonly waiting: QueuedRun }>
  list(): QueuedRun[]
  /** Takes a waiting run out; does nothing for one that is not waiting any more. */
  remove(id: string): void
  /** Starts the next one, if any; called when the last engine has gone. */
  next(): Promise<void>
}

/** A queue in the order of asking. A run that cannot start is told and does not hold up those behind it. */
export function createRunQueue({ restored = [], keep = () => undefined, start, busy, onChange }: QueueOptions): RunQueue {
  let waiting: readonly WaitingRun[] = restored
  let starting = false
  let asked = restored.reduce((most, { entry }) => Math.max(most, Number(entry.id) || 0), 0)
  const list = (): QueuedRun[] => waiting.map(({ entry }) => entry)

  function change(next: readonly WaitingRun[]): void {
    waiting = next
    keep(next)
  }

  /** No other run may start while one has been chosen and its engine is not there yet. */
  async function exclusively<Value>(act: () => Promise<Value>): Promise<Value> {
    starting = true
    try {
      return await act()
    } finally {
      starting = false
    }
  }

  async function next(): Promise<void> {
    const [first, ...rest] = waiting
    if (first === undefined || starting || busy()) return
    change(rest)
    try {
      onChange(list(), { started: await exclusively(() => start(first.start)) })
    } catch (error) {
      onChange(list(), { problem: toEnvelope(error) })
      await next()
    }
  }

  return {
    list,
    next,
    async submit({ start: message, name, what, detail }) {
      if (!starting && !busy()) {
        try {
          return { started: await exclusively(() => start(message)) }
        } finally {
          // One that could not start leaves the machine free.
          if (!busy()) void next()
        }
      }
      asked += 1
      const entry: QueuedRun = { id: String(asked), name, what, detail }
      change([...waiting, { entry, start: message }])
      onChange(list(), {})
      return { waiting: entry }
    },
    remove(id) {
      change(waiting.filter(({ entry }) => entry.id !== id))
      onChange(list(), {})
    },
  }
}
