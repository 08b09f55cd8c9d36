// Watches runs whose engines another program started (the command line, say): looks into their folders again and again, reads what was
// appended, and announces it as if the engine had said it. Watches the runs folder itself for runs that come and go.
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { RunSnapshot, RunSummary } from '../contract/calls/run-data.ts'
import type { PageRunEvent } from '../contract/calls/runs.ts'
import { readChanges } from './library.ts'
import type { RunLibrary } from './library.ts'
import { rolloutFiles } from './rollout-files.ts'
import { namesIn } from './run-files.ts'
import { isWorking, readState } from './run-state.ts'

export interface FolderWatcher {
  /** Watches a run until nothing works on it any more, from what the page knows of it. */
  watch(snapshot: RunSnapshot): void
  dispose(): void
}

export interface WatcherOptions {
  readonly library: RunLibrary
  readonly runsFolder: string
  readonly announce: (directory: string, event: PageRunEvent) => void
  /** The runs folder holds other runs than before, or one that nobody watches has changed its state. */
  readonly onListChange: () => void
  readonly milliseconds?: number
}

const pollMilliseconds = 1_000

/** What is known of a watched run. */
interface Watched {
  summary: RunSummary
  evaluation: number
  rollouts: number
  checkpoint: number
  changes: number
  message: string
}

/** A watcher that begins at once with the runs folder. */
export function createFolderWatcher({ library, runsFolder, announce, onListChange, milliseconds = pollMilliseconds }: WatcherOptions): FolderWatcher {
  const watched = new Map<string, Watched>()
  let known: string | undefined
  let timer: NodeJS.Timeout | undefined
  let disposed = false

  async function lookAround(): Promise<void> {
    const now = await fingerprint(runsFolder)
    if (known !== undefined && known !== now) onListChange()
    known = now
  }

  async function round(): Promise<void> {
    await Promise.all([lookAround(), ...[...watched].map(async ([directory, run]) => {
      await look(library, run, (event) => announce(directory, event))
      if (!isWorking(run.summary.state)) watched.delete(directory)
    })]).catch(() => undefined) // A folder that is being written or has gone; the next round tells.
    if (!disposed) timer = setTimeout(() => void round(), milliseconds)
  }
  timer = setTimeout(() => void round(), milliseconds)

  return {
    watch({ summary, evaluations, checkpoints, changes, rolloutSteps, message }) {
      if (watched.has(summary.directory)) return
      watched.set(summary.directory, { summary, evaluation: evaluations.at(-1)?.step ?? -1, rollouts: rolloutSteps.at(-1)?.[1] ?? 0, checkpoint: checkpoints.at(-1) ?? -1, changes: changes.length, message })
    },
    dispose() {
      disposed = true
      clearTimeout(timer)
      watched.clear()
    },
  }
}

/** Names and states of the runs in a folder as one text that changes when they do. */
async function fingerprint(runsFolder: string): Promise<string> {
  const entries = await readdir(runsFolder).catch(() => [])
  const parts = await Promise.all(entries.sort().map(async (name) => {
    const made = await stat(join(runsFolder, name, 'run.json')).then(() => true, () => false)
    return made ? `${name} ${(await readState(join(runsFolder, name), false)).state}` : ''
  }))
  return parts.join('\n')
}

/** Announces what is new in a run's folder. */
async function look(library: RunLibrary, run: Watched, announce: (event: PageRunEvent) => void): Promise<void> {
  const { directory, totalSteps } = run.summary
  const index = library.index(directory)
  await index.refresh()
  const folderState = await readState(directory, index.lastStep >= totalSteps)
  const evaluation = newest((await namesIn(join(directory, 'eval'))).filter((name) => name.endsWith('.json')))
  const checkpoint = newest((await namesIn(join(directory, 'checkpoints'))).filter((name) => /^\d+$/.test(name)))
  const rollouts = (await rolloutFiles(directory)).at(-1)?.step ?? 0
  const changes = await readChanges(directory)

  // A resumed run does its steps again: its last row tells where it went back to.
  const from = index.lastStep < run.summary.step ? index.length - 1 : indexAfter(index, run.summary.step)
  for (let row = Math.max(0, from); row < index.length; row += 1) announce({ type: 'metrics', row: index.row(row) })
  if (evaluation > run.evaluation) announce({ type: 'evaluation', result: { ...(await library.evaluation(directory, evaluation)), samplesShown: [] } })
  if (checkpoint > run.checkpoint) announce({ type: 'checkpoint', step: checkpoint, path: join(directory, 'checkpoints') })
  if (changes.length > run.changes) announce({ type: 'changed', changes: changes.slice(run.changes) })
  if (rollouts > run.rollouts) announce({ type: 'rollouts-written', step: rollouts })
  const step = Math.max(index.lastStep, folderState.step)
  if (folderState.state !== run.summary.state || step !== run.summary.step || folderState.message !== run.message) {
    announce({ type: 'state', state: folderState.state, step, totalSteps, secondsLeft: null, runDirectory: directory, message: folderState.message })
  }
  Object.assign(run, { summary: { ...run.summary, state: folderState.state, step }, evaluation, checkpoint, changes: changes.length, rollouts, message: folderState.message })
}

function newest(names: readonly string[]): number {
  return Number.parseInt(names.at(-1) ?? '-1', 10)
}

/** Place of the first row after a step. */
function indexAfter(index: { readonly length: number; row(at: number): { readonly step: number } }, step: number): number {
  let at = index.length
  while (at > 0 && index.row(at - 1).step > step) at -= 1
  return at
}
