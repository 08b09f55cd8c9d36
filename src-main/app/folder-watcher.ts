// Watches a run whose engine another program started (the command line, say): reads its folder again and again, and announces what is new
// as if the engine had said it.
import type { RunSnapshot } from '../contract/calls.ts'
import type { EngineEvent } from '../contract/events.ts'
import { isWorking, readRun } from './library.ts'

export interface FolderWatcher {
  /** Watches the run of this snapshot instead of the present one; undefined watches none. */
  watch(snapshot: RunSnapshot | undefined): void
  dispose(): void
}

const pollMilliseconds = 1_000

/** What an engine would have said to lead from one snapshot to the next. */
export function eventsBetween(before: RunSnapshot, after: RunSnapshot): EngineEvent[] {
  const events: EngineEvent[] = []
  const lastRow = before.metrics.at(-1)?.step ?? 0
  const lastResult = before.evaluations.at(-1)?.step ?? -1
  for (const row of after.metrics) if (row.step > lastRow) events.push({ type: 'metrics', row })
  for (const result of after.evaluations) if (result.step > lastResult) events.push({ type: 'evaluation', result })
  if ((after.newestRollouts[0]?.step ?? 0) > (before.newestRollouts[0]?.step ?? 0)) events.push({ type: 'rollouts', rollouts: after.newestRollouts })
  const { state, step, totalSteps, directory } = after.summary
  if (state !== before.summary.state || step !== before.summary.step || after.message !== before.message) {
    events.push({ type: 'state', state, step, totalSteps, secondsLeft: null, runDirectory: directory, message: after.message })
  }
  return events
}

/** A watcher of one run at a time; it stops by itself when nothing works on the run any more. */
export function createFolderWatcher(announce: (directory: string, event: EngineEvent) => void, milliseconds = pollMilliseconds): FolderWatcher {
  let watched: RunSnapshot | undefined
  let timer: NodeJS.Timeout | undefined

  async function look(before: RunSnapshot): Promise<void> {
    let after: RunSnapshot
    try {
      after = await readRun(before.summary.directory)
    } catch {
      // The folder is being written or has gone; the next look tells.
      after = before
    }
    // Another run was chosen while the folder was read.
    if (watched !== before) return
    for (const event of eventsBetween(before, after)) announce(after.summary.directory, event)
    watch(isWorking(after.summary.state) ? after : undefined)
  }

  function watch(snapshot: RunSnapshot | undefined): void {
    clearTimeout(timer)
    watched = snapshot
    if (snapshot !== undefined) timer = setTimeout(() => void look(snapshot), milliseconds)
  }

  return { watch, dispose: () => watch(undefined) }
}
