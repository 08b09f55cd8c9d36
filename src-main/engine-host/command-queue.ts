// Commands for a run as they come in - from a parent process, from Ctrl-C - waiting for the engine to read them.
import type { EngineCommand } from '../contract/events.ts'
import type { CommandSource } from '../engine/training/run-commands.ts'

export interface CommandQueue extends CommandSource {
  push(command: EngineCommand): void
}

/** A first-in, first-out queue; `stop-now` goes before everything else. */
export function createCommandQueue(): CommandQueue {
  const pending: EngineCommand[] = []
  let waiters: (() => void)[] = []
  return {
    push(command) {
      if (command.type === 'stop-now') pending.unshift(command)
      else pending.push(command)
      for (const wake of waiters.splice(0)) wake()
    },
    take: () => pending.shift(),
    wait: () =>
      new Promise((resolve) => {
        if (pending.length > 0) resolve()
        else waiters = [...waiters, resolve]
      }),
  }
}

/**
 * Ctrl-C finishes the step and stops; a second one stops at once; a third ends the process with code 4.
 * A closed terminal or a polite kill finishes the step as well.
 * @returns removes the handlers
 */
export function stopOnInterrupt(queue: CommandQueue, say: (line: string) => void): () => void {
  let count = 0
  const interrupt = (): void => {
    count += 1
    if (count === 1) {
      say('Finishing the step, then stopping. Press Ctrl-C again to stop at once; the step in progress is lost then.')
      queue.push({ type: 'stop' })
    } else if (count === 2) {
      say('Stopping at once.')
      queue.push({ type: 'stop-now' })
    } else process.exit(4)
  }
  const terminate = (): void => queue.push({ type: 'stop' })
  process.on('SIGINT', interrupt)
  process.on('SIGTERM', terminate)
  process.on('SIGHUP', terminate)
  return () => {
    process.off('SIGINT', interrupt)
    process.off('SIGTERM', terminate)
    process.off('SIGHUP', terminate)
  }
}

/**
 * Ctrl-C, a closed terminal or a polite kill abort the signal; a second Ctrl-C ends the process with code 4.
 * @returns the signal, and what removes the handlers
 */
export function abortOnInterrupt(): { readonly signal: AbortSignal; readonly release: () => void } {
  const controller = new AbortController()
  const abort = (): void => {
    if (controller.signal.aborted) process.exit(4)
    controller.abort()
  }
  const names = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const name of names) process.on(name, abort)
  return { signal: controller.signal, release: () => names.forEach((name) => process.off(name, abort)) }
}
