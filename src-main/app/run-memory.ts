// What the app remembers of runs beyond its end: those that wait for their turn, and those it had to stop when it was closed.
import { z } from 'zod'
import { queuedRunSchema } from '../contract/calls/run-data.ts'
import { engineStartSchema } from '../contract/events.ts'
import { openJsonStore } from './json-store.ts'
import type { WaitingRun } from './run-queue.ts'

const schema = z.object({
  version: z.literal(1),
  queue: z.array(z.object({ entry: queuedRunSchema, start: engineStartSchema })),
  /** Folders of runs that were at work when the app was closed. */
  interrupted: z.array(z.string()),
})

export interface RunMemory {
  /** The waiting runs of the last time, in their order. */
  readonly queue: readonly WaitingRun[]
  keepQueue(queue: readonly WaitingRun[]): Promise<void>
  keepInterrupted(directories: readonly string[]): Promise<void>
  /** The runs that were stopped the last time; afterwards there are none. */
  takeInterrupted(): Promise<readonly string[]>
}

/** @param file where it is kept; a damaged one counts as empty, and is told of by nobody: it holds no result */
export function openRunMemory(file: string): RunMemory {
  const store = openJsonStore(file, schema, { version: 1, queue: [], interrupted: [] })
  return {
    queue: store.value.queue,
    keepQueue: (queue) => store.update((before) => ({ ...before, queue: [...queue] })),
    keepInterrupted: (directories) => store.update((before) => ({ ...before, interrupted: [...directories] })),
    async takeInterrupted() {
      const { interrupted } = store.value
      if (interrupted.length > 0) await store.update((before) => ({ ...before, interrupted: [] }))
      return interrupted
    },
  }
}
