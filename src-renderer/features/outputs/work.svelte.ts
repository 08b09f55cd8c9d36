// A piece of work the app does for a page: its progress in words, its end, and a way to stop it.
import type { SatchelBridge } from '../../../src-main/contract/bridge.ts'
import type { CallOutcome } from '../../../src-main/contract/bridge.ts'
import type { ErrorEnvelope } from '../../../src-main/contract/errors.ts'
import { workName } from '../../state/work-name.ts'

export interface Work {
  readonly running: boolean
  /** What it says it is doing; empty when it says nothing. */
  readonly line: string
  readonly problem: ErrorEnvelope | null
  /** Does it; undefined when it failed (`problem` says why) or was stopped. */
  run<Value>(act: (job: string) => Promise<CallOutcome<Value>>): Promise<Value | undefined>
  stop(): void
  dispose(): void
}

/** @param name begins the name of each job */
export function createWork(bridge: SatchelBridge, name: string): Work {
  let running = $state(false)
  let line = $state('')
  let problem = $state.raw<ErrorEnvelope | null>(null)
  let job = ''
  const unsubscribe = bridge.subscribe('runs.progress', (said) => {
    if (running && said.job === job) line = said.line
  })
  return {
    get running() {
      return running
    },
    get line() {
      return line
    },
    get problem() {
      return problem
    },
    async run(act) {
      if (running) return undefined
      job = workName(name)
      running = true
      line = ''
      problem = null
      const outcome = await act(job)
      running = false
      if (outcome.ok) return outcome.value
      problem = outcome.error.code === 'stopped' ? null : outcome.error
      return undefined
    },
    stop() {
      if (running) void bridge.call('runs.cancel', { job })
    },
    dispose: unsubscribe,
  }
}
