// Answers the page's calls about runs: the folder tells what was, the supervisor tells what is.
import { mkdir } from 'node:fs/promises'
import { basename } from 'node:path'
import type { RunSnapshot, runCalls, RunSummary } from '../contract/calls/runs.ts'
import type { HandlersOf } from '../contract/calls/shared.ts'
import { UserError } from '../contract/errors.ts'
import type { EngineCommand, EngineEvent } from '../contract/events.ts'
import { leaveCommand } from './folder-commands.ts'
import type { FolderWatcher } from './folder-watcher.ts'
import { isWorking, listRuns, readRun, runInside } from './library.ts'
import type { Supervisor } from './supervisor.ts'

export type RunHandlers = HandlersOf<typeof runCalls>

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
async function readRunOrAnnounced(directory: string, supervisor: Supervisor): Promise<RunSnapshot> {
  try {
    return await readRun(directory)
  } catch (error) {
    const state = supervisor.presentState(directory) ?? supervisor.lastState(directory)
    if (state === undefined || !(error instanceof UserError && error.envelope.code === 'not-found')) throw error
    const summary = { name: basename(directory), directory, state: state.state, step: state.step, totalSteps: state.totalSteps }
    return { summary, metrics: [], evaluations: [], newestRollouts: [], message: state.message }
  }
}

async function openRun(directory: string, supervisor: Supervisor, watcher: FolderWatcher): Promise<RunSnapshot> {
  const snapshot = await readRunOrAnnounced(directory, supervisor)
  // An engine that was started elsewhere tells us nothing; its folder does.
  const elsewhere = supervisor.presentState(directory) === undefined && isWorking(snapshot.summary.state)
  watcher.watch(elsewhere ? snapshot : undefined)
  return { ...snapshot, summary: withSupervisedState(snapshot.summary, supervisor), message: supervisedState(snapshot.summary, supervisor)?.message ?? snapshot.message }
}

async function ensureFolder(folder: string): Promise<void> {
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
async function command(supervisor: Supervisor, directory: string, told: 'pause' | 'continue' | 'stop', elsewhere: EngineCommand): Promise<Record<string, never>> {
  if (supervisor.presentState(directory) === undefined && isWorking((await readRun(directory)).summary.state)) await leaveCommand(directory, elsewhere)
  else supervisor[told](directory)
  return {}
}

/** The handlers for every call about runs. `runsFolder` is the folder whose children are runs. */
export function createRunHandlers(runsFolder: string, supervisor: Supervisor, watcher: FolderWatcher): RunHandlers {
  return {
    'runs.list': async () => (await listRuns(runsFolder)).map((summary) => withSupervisedState(summary, supervisor)),
    'runs.open': async ({ directory }) => openRun(runInside(runsFolder, directory), supervisor, watcher),
    'runs.startDemo': async ({ seed }) => {
      await ensureFolder(runsFolder)
      return supervisor.startDemo(seed, runsFolder)
    },
    'runs.pause': ({ directory }) => command(supervisor, runInside(runsFolder, directory), 'pause', { type: 'pause' }),
    'runs.continue': ({ directory }) => command(supervisor, runInside(runsFolder, directory), 'continue', { type: 'resume' }),
    'runs.stop': ({ directory }) => command(supervisor, runInside(runsFolder, directory), 'stop', { type: 'stop' }),
    'runs.resume': async ({ directory }) => supervisor.resume(runInside(runsFolder, directory)),
  }
}
