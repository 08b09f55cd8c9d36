// Answers the page's calls about runs: the folder tells what was, the supervisor tells what is.
import { mkdir } from 'node:fs/promises'
import type { CallName, CallRequest, CallResponse, RunSnapshot, RunSummary } from '../contract/calls.ts'
import { UserError } from '../contract/errors.ts'
import { listRuns, readRun, runInside } from './library.ts'
import type { Supervisor } from './supervisor.ts'

export type CallHandlers = { readonly [Name in CallName]: (request: CallRequest<Name>) => Promise<CallResponse<Name>> }

function withLiveState(summary: RunSummary, supervisor: Supervisor): RunSummary {
  const live = supervisor.lastState(summary.directory)
  if (live === undefined) return summary
  return { ...summary, state: live.state, step: Math.max(live.step, summary.step), totalSteps: live.totalSteps }
}

async function openRun(directory: string, supervisor: Supervisor): Promise<RunSnapshot> {
  const snapshot = await readRun(directory)
  const live = supervisor.lastState(directory)
  return { ...snapshot, summary: withLiveState(snapshot.summary, supervisor), message: live?.message ?? snapshot.message }
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

/** The handlers for every call of the contract. `runsFolder` is the folder whose children are runs. */
export function createRunHandlers(runsFolder: string, supervisor: Supervisor): CallHandlers {
  return {
    'runs.list': async () => (await listRuns(runsFolder)).map((summary) => withLiveState(summary, supervisor)),
    'runs.open': async ({ directory }) => openRun(runInside(runsFolder, directory), supervisor),
    'runs.startDemo': async ({ seed }) => {
      await ensureFolder(runsFolder)
      return supervisor.startDemo(seed, runsFolder)
    },
    'runs.pause': async ({ directory }) => {
      supervisor.pause(runInside(runsFolder, directory))
      return {}
    },
    'runs.continue': async ({ directory }) => {
      supervisor.continue(runInside(runsFolder, directory))
      return {}
    },
    'runs.stop': async ({ directory }) => {
      supervisor.stop(runInside(runsFolder, directory))
      return {}
    },
    'runs.resume': async ({ directory }) => supervisor.resume(runInside(runsFolder, directory)),
  }
}
