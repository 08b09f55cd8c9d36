// Long work the page asked for, by the name the page gave it: its progress is announced with the time that is left, and it can be cancelled.
import type { taskCalls, Progress, taskPageEvents } from '../contract/calls/tasks.ts'
import type { HandlersOf } from '../contract/calls/shared.ts'
import { UserError } from '../contract/errors.ts'
import type { z } from 'zod'
import type { AskOptions } from './tools-client.ts'

type Announced = z.infer<(typeof taskPageEvents)['task.progress']>

export interface LongWork {
  readonly handlers: HandlersOf<typeof taskCalls>
  /** Runs work under a name. @throws UserError when work of this name is on its way already */
  run<Value>(task: string, work: (options: AskOptions) => Promise<Value>): Promise<Value>
}

/** Before this the rate says little about the rest. */
const firstEstimateSeconds = 1.5

/** Seconds that are left at the rate since the beginning; null where that cannot be told yet. */
export function secondsLeft(seconds: number, done: number, total: number): number | null {
  if (seconds < firstEstimateSeconds || done <= 0 || total <= 0) return null
  return Math.max(0, (seconds / done) * (total - done))
}

export function createLongWork(announce: (progress: Announced) => void, now: () => number = () => performance.now() / 1000): LongWork {
  const running = new Map<string, AbortController>()
  return {
    handlers: {
      'tasks.cancel': async ({ task }) => {
        running.get(task)?.abort()
        return {}
      },
    },
    async run(task, work) {
      if (running.has(task)) throw new UserError({ code: 'usage', what: 'This is being done already.' })
      const control = new AbortController()
      running.set(task, control)
      // Another file or phase has another rate: the clock starts again with each total.
      let begun = { at: now(), total: -1, done: 0 }
      const onProgress = (progress: Progress): void => {
        if (progress.total !== begun.total) begun = { at: now(), total: progress.total, done: progress.done }
        announce({ ...progress, task, secondsLeft: secondsLeft(now() - begun.at, progress.done - begun.done, progress.total - begun.done) })
      }
      try {
        return await work({ onProgress, signal: control.signal })
      } finally {
        running.delete(task)
      }
    },
  }
}
