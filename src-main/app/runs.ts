// Answers the page's calls about runs: the folder tells what was, the supervisor tells what is.
import { randomUUID } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { basename } from 'node:path'
import type { RunSnapshot, RunSummary } from '../contract/calls/run-data.ts'
import type { runCalls } from '../contract/calls/runs.ts'
import type { HandlersOf } from '../contract/calls/shared.ts'
import { UserError } from '../contract/errors.ts'
import type { EngineCommand, EngineEvent } from '../contract/events.ts'
import { changesOf, configAtStep } from '../contract/run-changes.ts'
import type { LiveSetting } from '../contract/run-changes.ts'
import { runConfigSchema } from '../contract/run-config.ts'
import type { CommandLine } from './command-line.ts'
import type { Desktop } from './desktop.ts'
import { leaveCommand } from './folder-commands.ts'
import type { FolderWatcher } from './folder-watcher.ts'
import { runInside } from './library.ts'
import type { RunLibrary } from './library.ts'
import { createConfigHandlers, originFields } from './run-configs.ts'
import { createOutputHandlers } from './run-outputs.ts'
import type { RunLog } from './run-log.ts'
import type { RunMemory } from './run-memory.ts'
import type { RunQueue } from './run-queue.ts'
import { isWorking } from './run-state.ts'
import type { Supervisor } from './supervisor.ts'

export type RunHandlers = HandlersOf<typeof runCalls>

/** What the handlers work with. */
export interface RunServices {
  /** The folder whose children are runs. */
  readonly runsFolder: string
  /** A folder of the app's own, for reports about several runs. */
  readonly reportsFolder: string
  /** Where exports go; empty where each run has its own folder for them. */
  readonly exportsFolder: () => string
  /** run.json of the built-in demo. */
  readonly demoFile: string
  /** The full path of something the person dropped or chose. @throws UserError for any other path */
  readonly granted: (path: string) => string
  readonly memory: RunMemory
  readonly library: RunLibrary
  readonly supervisor: Supervisor
  readonly queue: RunQueue
  readonly watcher: FolderWatcher
  readonly log: RunLog
  readonly commandLine: CommandLine
  readonly desktop: Desktop
  readonly onProgress: (job: string, line: string) => void
}

/** What the supervisor knows better than the folder: the present state of its own runs, and why an engine of its own went without a word. */
function supervisedState(summary: RunSummary, supervisor: Supervisor): Extract<EngineEvent, { type: 'state' }> | undefined {
  return supervisor.presentState(summary.directory) ?? (summary.state === 'failed' ? supervisor.lastState(summary.directory) : undefined)
}

function withSupervisedState(summary: RunSummary, supervisor: Supervisor): RunSummary {
  const known = supervisedState(summary, supervisor)
  if (known === undefined) return summary
  return { ...summary, state: known.state, step: Math.max(known.step, summary.step), totalSteps: known.totalSteps > 0 ? known.totalSteps : summary.totalSteps }
}

/** A run from its folder; from what the supervisor knows while an engine has named its folder but not made it yet, or failed before it did. */
async function readRunOrAnnounced(directory: string, { library, supervisor }: RunServices): Promise<RunSnapshot> {
  try {
    return await library.open(directory)
  } catch (error) {
    const state = supervisor.presentState(directory) ?? supervisor.lastState(directory)
    if (state === undefined || !(error instanceof UserError && error.envelope.code === 'not-found')) throw error
    const summary = { name: basename(directory), directory, state: state.state, step: state.step, totalSteps: state.totalSteps }
    return { summary, description: {}, series: [], newestRow: null, evaluations: [], rolloutSteps: [], checkpoints: [], changes: [], exports: [], log: [], message: state.message }
  }
}

async function openRun(directory: string, services: RunServices): Promise<RunSnapshot> {
  const { supervisor, watcher, log } = services
  const snapshot = await readRunOrAnnounced(directory, services)
  // An engine that was started elsewhere tells us nothing; its folder does.
  if (supervisor.presentState(directory) === undefined && isWorking(snapshot.summary.state)) watcher.watch(snapshot)
  return {
    ...snapshot,
    summary: withSupervisedState(snapshot.summary, supervisor),
    message: supervisedState(snapshot.summary, supervisor)?.message ?? snapshot.message,
    log: [...snapshot.log, ...log.entries(directory)].sort((a, b) => a.time.localeCompare(b.time)),
  }
}

/** Makes a folder of the app. @throws UserError `storage` when it cannot be made */
export async function ensureFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true })
  } catch (error) {
    throw new UserError(
      { code: 'storage', what: 'The runs folder cannot be made.', place: { file: folder }, expected: 'a folder Satchel may write to', remedy: 'Free some space, or set SATCHEL_RUNS to another folder.' },
      { cause: error },
    )
  }
}

/** Tells the engine of a run something: over its channel when it is ours, through the folder when it was started elsewhere. */
async function command({ supervisor, library }: RunServices, directory: string, told: 'pause' | 'continue' | 'stop' | 'stopNow' | 'checkpoint', elsewhere: EngineCommand): Promise<Record<string, never>> {
  if (supervisor.presentState(directory) === undefined && isWorking((await library.open(directory)).summary.state)) await leaveCommand(directory, elsewhere)
  else supervisor[told](directory)
  return {}
}

/** Changes a run: our own engine is told, once the values are known to be good; for any other run the command line does the same. */
async function change({ supervisor, library, commandLine, onProgress }: RunServices, directory: string, settings: readonly LiveSetting[]): Promise<Record<string, never>> {
  const state = supervisor.presentState(directory)
  if (state === undefined || !isWorking(state.state)) {
    const job = `set-${randomUUID()}`
    await commandLine.run(job, ['control', directory, ...settings.flatMap(({ field, value }) => ['--set', `${field}=${value}`])], (line) => onProgress(job, line))
    return {}
  }
  const { description, changes } = await library.open(directory)
  const config = runConfigSchema.parse(Object.fromEntries(Object.entries(description).filter(([name]) => !originFields.has(name))))
  changesOf(configAtStep(config, changes, state.step + 1), settings, state.step + 1, '')
  supervisor.set(directory, settings)
  return {}
}

/** The handlers for every call about runs. */
export function createRunHandlers(services: RunServices): RunHandlers {
  const { library, supervisor, queue, runsFolder, commandLine, memory, granted } = services
  /** A run the page may change: one that lies in the runs folder. */
  const own = (directory: string): string => library.own(library.allowed(directory))
  return {
    ...createConfigHandlers(services),
    ...createOutputHandlers(services),
    'runs.list': async () => (await library.list()).map((summary) => withSupervisedState(summary, supervisor)),
    'runs.open': async ({ directory }) => openRun(library.allowed(directory), services),
    'runs.metrics': async ({ directory, ...request }) => library.metrics(library.allowed(directory), request),
    'runs.rollouts': async ({ directory, step }) => library.rollouts(library.allowed(directory), step),
    'runs.rollout': async ({ directory, step, order }) => library.rollout(library.allowed(directory), step, order),
    'runs.search': async ({ directory, query, from }) => library.search(library.allowed(directory), query, from),
    'runs.evaluation': async ({ directory, step }) => library.evaluation(library.allowed(directory), step),
    'runs.startDemo': async ({ seed }) => {
      await ensureFolder(runsFolder)
      return supervisor.startDemo(seed, runsFolder)
    },
    'runs.start': async ({ config }) => {
      await ensureFolder(runsFolder)
      const name = typeof config['name'] === 'string' ? config['name'] : 'run'
      return queue.submit({ start: { type: 'start', config, runsDirectory: runsFolder }, name, what: 'start', detail: detailOf(config) })
    },
    'runs.queue': async () => queue.list(),
    'runs.startNext': async () => {
      await queue.next()
      return {}
    },
    'runs.interrupted': async () => (await Promise.all((await memory.takeInterrupted()).map((directory) => interruptedRun(services, directory)))).flat(),
    'runs.openFolder': async ({ path }) => library.add(granted(path)),
    'runs.unqueue': async ({ id }) => {
      queue.remove(id)
      return {}
    },
    'runs.pause': ({ directory }) => command(services, own(directory), 'pause', { type: 'pause' }),
    'runs.continue': ({ directory }) => command(services, own(directory), 'continue', { type: 'resume' }),
    'runs.stop': ({ directory }) => command(services, own(directory), 'stop', { type: 'stop' }),
    'runs.stopNow': ({ directory }) => command(services, own(directory), 'stopNow', { type: 'stop-now' }),
    'runs.checkpoint': ({ directory }) => command(services, own(directory), 'checkpoint', { type: 'checkpoint' }),
    'runs.set': ({ directory, settings }) => change(services, own(directory), settings),
    'runs.resume': async ({ directory }) => supervisor.resume(own(directory)),
    'runs.cancel': async ({ job }) => {
      commandLine.cancel(job)
      return {}
    },
  }
}

/** A run that was stopped when the app was closed, if it can still be resumed; it may have been moved or resumed elsewhere since. */
async function interruptedRun({ library, runsFolder }: RunServices, directory: string): Promise<RunSummary[]> {
  try {
    const { summary } = await library.open(runInside(runsFolder, directory))
    return !isWorking(summary.state) && summary.state !== 'done' && summary.step < summary.totalSteps ? [summary] : []
  } catch {
    return []
  }
}

/** A few words about a configuration: its estimator and how long it runs. */
function detailOf(config: Readonly<Record<string, unknown>>): string {
  const part = (block: string, field: string): unknown => {
    const value = config[block]
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[field] : undefined
  }
  const name = part('estimator', 'name')
  const steps = part('training', 'steps')
  return [typeof name === 'string' ? name : 'bot-grpo', typeof steps === 'number' ? `${steps} steps` : ''].filter((words) => words !== '').join(', ')
}
