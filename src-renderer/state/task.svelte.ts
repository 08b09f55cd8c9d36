// One piece of long work: started by the page, followed by its progress, ended early when the person wants.
import type { SatchelBridge } from '../../src-main/contract/bridge.ts'
import type { PageEvent } from '../../src-main/contract/calls.ts'
import type { CallOutcome } from '../../src-main/contract/bridge.ts'
import { workName } from './work-name.ts'

export type TaskProgress = PageEvent<'task.progress'>

export interface Task {
  readonly running: boolean
  /** Newest progress; null before the first and after the end. */
  readonly progress: TaskProgress | null
  /** Runs work that takes its name from here. A second one waits for nothing: it is refused while the first runs. */
  run<Value>(work: (task: string) => Promise<CallOutcome<Value>>): Promise<CallOutcome<Value> | undefined>
  cancel(): void
}

export function createTask(bridge: SatchelBridge): Task {
  let running = $state(false)
  let progress = $state.raw<TaskProgress | null>(null)
  let name = ''
  return {
    get running() {
      return running
    },
    get progress() {
      return progress
    },
    async run(work) {
      if (running) return undefined
      name = workName('task')
      running = true
      const unsubscribe = bridge.subscribe('task.progress', (heard) => {
        if (heard.task === name) progress = heard
      })
      try {
        return await work(name)
      } finally {
        unsubscribe()
        running = false
        progress = null
      }
    },
    cancel() {
      if (running) void bridge.call('tasks.cancel', { task: name })
    },
  }
}
