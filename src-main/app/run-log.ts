// What the app heard of its runs since it started, as sentences with their time: the part of a run's log that no file holds.
import { resolve } from 'node:path'
import type { LogEntry } from '../contract/calls/run-data.ts'
import type { PageRunEvent } from '../contract/calls/runs.ts'
import { describeError } from '../contract/errors.ts'

export interface RunLog {
  hear(directory: string, event: PageRunEvent): void
  entries(directory: string): readonly LogEntry[]
}

const keptEntries = 200

/** The sentence an event is worth, if any. Progress and metrics are shown elsewhere; checkpoints, evaluations and changes stand in the folder. */
export function logEntryOf(event: PageRunEvent, time: string, before: string): LogEntry | undefined {
  switch (event.type) {
    case 'state': {
      const text = event.message === '' ? `It is ${event.state}.` : event.message
      // An engine repeats its state after every step.
      return event.state === before ? undefined : { time, step: event.totalSteps > 0 ? event.step : null, kind: 'state', text: `${event.state}: ${text}` }
    }
    case 'warning':
      return { time, step: null, kind: 'warning', text: event.message }
    case 'error':
      return { time, step: null, kind: 'error', text: describeError(event.error) }
    case 'progress':
    case 'metrics':
    case 'evaluation':
    case 'checkpoint':
    case 'changed':
    case 'rollouts-written':
      return undefined
  }
}

export function createRunLog(now: () => Date = () => new Date()): RunLog {
  const logs = new Map<string, LogEntry[]>()
  const states = new Map<string, string>()
  return {
    hear(directory, event) {
      const run = resolve(directory)
      const entry = logEntryOf(event, now().toISOString(), states.get(run) ?? '')
      if (event.type === 'state') states.set(run, event.state)
      if (entry !== undefined) logs.set(run, [...(logs.get(run) ?? []), entry].slice(-keptEntries))
    },
    entries: (directory) => logs.get(resolve(directory)) ?? [],
  }
}
