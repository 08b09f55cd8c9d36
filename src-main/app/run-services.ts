// Everything about runs put together: supervision, queue, library, watcher, log. One object for the app to start with and to end with.
import type { QueuedRun, RunSummary } from '../contract/calls/run-data.ts'
import type { PageRunEvent, runPageEvents } from '../contract/calls/runs.ts'
import type { EngineEvent } from '../contract/events.ts'
import type { z } from 'zod'
import { createCommandLine } from './command-line.ts'
import type { Desktop } from './desktop.ts'
import type { EngineProgram } from './engine-process.ts'
import { createFolderWatcher } from './folder-watcher.ts'
import { createRunLibrary } from './library.ts'
import { createRunLog } from './run-log.ts'
import { openRunMemory } from './run-memory.ts'
import { createRunQueue } from './run-queue.ts'
import { createRunHandlers } from './runs.ts'
import type { RunHandlers } from './runs.ts'
import { createSupervisor } from './supervisor.ts'
import type { Patience, Supervisor } from './supervisor.ts'

type Announced<Name extends keyof typeof runPageEvents> = z.infer<(typeof runPageEvents)[Name]>

export interface RunServicesOptions {
  readonly runsFolder: string
  readonly reportsFolder: string
  readonly demoFile: string
  /** Where exports go; empty where each run has its own folder for them. */
  readonly exportsFolder: () => string
  /** File that remembers waiting and interrupted runs over a restart. */
  readonly memoryFile: string
  /** The full path of something the person dropped or chose. @throws UserError for any other path */
  readonly granted: (path: string) => string
  readonly desktop: Desktop
  readonly patience: Patience
  /** Programs by what they run: an engine, or a command of the command line. */
  readonly program: (entry: 'engine' | 'command-line') => EngineProgram
  readonly announce: <Name extends keyof typeof runPageEvents>(name: Name, payload: Announced<Name>) => void
  /** Hears every event as the page does, and every change of the queue: for the tray, notifications and the power setting. */
  readonly onActivity?: (activity: { readonly directory: string; readonly event: PageRunEvent } | { readonly queue: readonly QueuedRun[] }) => void
  readonly pollMilliseconds?: number
}

export interface RunServicesHandle {
  readonly handlers: RunHandlers
  readonly supervisor: Supervisor
  /** The folder of a run the page names. @throws UserError for a folder that is none of the runs */
  allowed(directory: string): string
  /** Stops every engine (with a checkpoint) and every job, and waits until the engines are gone. */
  dispose(): Promise<void>
}

/** What the page hears of an engine's event: the rollouts themselves are on disk by then. */
export function pageEventOf(event: EngineEvent): PageRunEvent {
  if (event.type === 'rollouts') return { type: 'rollouts-written', step: event.rollouts[0]?.step ?? 0 }
  return event.type === 'evaluation' ? { ...event, result: { ...event.result, samplesShown: [] } } : event
}

export function createRunServices(options: RunServicesOptions): RunServicesHandle {
  const { runsFolder, reportsFolder, exportsFolder, demoFile, granted, desktop, patience, program, announce, onActivity } = options
  const memory = openRunMemory(options.memoryFile)
  const log = createRunLog()
  const library = createRunLibrary(runsFolder)

  function hear(directory: string, event: PageRunEvent): void {
    log.hear(directory, event)
    announce('run.event', { directory, event })
    onActivity?.({ directory, event })
  }

  const supervisor = createSupervisor({
    program: () => program('engine'),
    patience,
    announce: (directory, event) => hear(directory, pageEventOf(event)),
    onIdle: () => void queue.next(),
  })
  const queue = createRunQueue({
    restored: memory.queue,
    // What could not be kept is waiting all the same.
    keep: (waiting) => void memory.keepQueue(waiting).catch(() => undefined),
    start: (start) => supervisor.start(start),
    busy: () => supervisor.busy(),
    onChange: (waiting, { problem, started }: { problem?: Announced<'runs.queued'>['problem']; started?: RunSummary }) => {
      announce('runs.queued', { queue: [...waiting], started: started ?? null, problem: problem ?? null })
      onActivity?.({ queue: waiting })
    },
  })
  const watcher = createFolderWatcher({
    library,
    runsFolder,
    announce: hear,
    onListChange: () => announce('runs.changed', {}),
    ...(options.pollMilliseconds === undefined ? {} : { milliseconds: options.pollMilliseconds }),
  })
  const commandLine = createCommandLine(() => program('command-line'))
  const handlers = createRunHandlers({ runsFolder, reportsFolder, exportsFolder, demoFile, granted, memory, library, supervisor, queue, watcher, log, commandLine, desktop, onProgress: (job, line) => announce('runs.progress', { job, line }) })
  return {
    handlers,
    supervisor,
    allowed: (directory) => library.allowed(directory),
    async dispose() {
      // A list that cannot be kept must not keep the app from closing.
      await memory.keepInterrupted(supervisor.working()).catch(() => undefined)
      watcher.dispose()
      commandLine.dispose()
      await supervisor.dispose()
    },
  }
}
