// What this machine is, and what was found when it was tried. Read when somebody looks, tried once on its own and then when asked.
import type { SatchelBridge } from '../../src-main/contract/bridge.ts'
import type { MachineFacts, MachineTrials } from '../../src-main/contract/calls/machine.ts'
import { describeError } from '../../src-main/contract/errors.ts'
import { createTask } from './task.svelte.ts'
import type { Notices } from './notices.svelte.ts'
import type { Task } from './task.svelte.ts'

export interface MachineState {
  readonly facts: MachineFacts | null
  /** Why there are no facts, in words; empty while they may still come. */
  readonly problem: string
  readonly trials: MachineTrials | null
  readonly task: Task
  /** Reads the facts and what was found before. */
  look(): Promise<void>
  /** Tries every device, if nothing was ever tried here. */
  tryOnce(): Promise<void>
  tryAgain(): Promise<void>
}

export function createMachineState(bridge: SatchelBridge, notices: Notices): MachineState {
  let facts = $state.raw<MachineFacts | null>(null)
  let problem = $state('')
  let trials = $state.raw<MachineTrials | null>(null)
  let looked = false
  const task = createTask(bridge)

  async function tryAgain(): Promise<void> {
    const outcome = await task.run((name) => bridge.call('machine.try', { task: name }))
    if (outcome === undefined) return
    if (outcome.ok) trials = outcome.value
    else notices.fail(outcome.error)
  }

  return {
    get facts() {
      return facts
    },
    get problem() {
      return problem
    },
    get trials() {
      return trials
    },
    task,
    async look() {
      const [remembered, now] = await Promise.all([bridge.call('machine.lastTrials', {}), bridge.call('machine.facts', {})])
      if (remembered.ok && remembered.value !== null) trials = remembered.value
      if (now.ok) facts = now.value
      else problem = describeError(now.error)
      looked = true
    },
    async tryOnce() {
      if (looked && trials === null && !task.running) await tryAgain()
    },
    tryAgain,
  }
}
