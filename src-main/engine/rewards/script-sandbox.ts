// Programs without a page: one at a time in the locked-down process, called with JSON, answering with JSON.
import type { RewardConfig } from '../../contract/reward-config.ts'
import type { ScriptRequest } from './render-protocol.ts'
import { startSandbox, type SandboxProcess } from './sandbox-process.ts'

/** What the kit said, or why it said nothing. `line`: where the program was when its time was up. */
export type ScriptResult = { readonly text: string } | { readonly failure: string; readonly timedOut: boolean; readonly line?: number }

export interface ScriptSandbox {
  /** Starts the process now instead of with the first program. Throws when it cannot start. */
  start(): Promise<void>
  /** Loads a program into a context of its own. */
  load(script: string, milliseconds: number): Promise<ScriptResult>
  /** Calls the loaded program (or the kit, where it needs none). After a time-out the program has been loaded afresh. */
  call(input: string, milliseconds: number): Promise<ScriptResult>
  dispose(): void
}

/** Makes a sandbox. Its process starts with the first request and is replaced after a crash; a program that was loaded is loaded again. */
export function createScriptSandbox(kit: string, limits: RewardConfig['limits']): ScriptSandbox {
  let child: SandboxProcess | undefined
  let loaded: { readonly script: string; readonly milliseconds: number } | undefined
  let nextId = 1
  let disposed = false

  const started = async (): Promise<SandboxProcess> => {
    if (child !== undefined) return child
    child = await startSandbox({ kind: 'start-scripts', kit }, limits)
    if (disposed) child.dispose()
    return child
  }

  const ask = async (request: (id: number) => ScriptRequest): Promise<ScriptResult> => {
    const process = await started()
    // The clock inside ends a call long before; this one is for a process that no longer obeys it.
    const answer = await process.ask(request(nextId++), limits.renderSeconds * 1_000)
    if (answer.kind === 'value') return { text: answer.text }
    if (answer.kind === 'failed') return { failure: answer.reason, timedOut: answer.timedOut ?? false, ...(answer.line === undefined ? {} : { line: answer.line }) }
    child = undefined
    return { failure: answer.kind === 'lost' ? answer.reason : 'the sandbox answered out of turn', timedOut: false }
  }

  const load = (script: string, milliseconds: number): Promise<ScriptResult> => ask((id) => ({ kind: 'load', id, script, milliseconds }))

  return {
    start: async () => void (await started()),
    load(script, milliseconds) {
      loaded = { script, milliseconds }
      return load(script, milliseconds)
    },
    async call(input, milliseconds) {
      if (child === undefined && loaded !== undefined) {
        const again = await load(loaded.script, loaded.milliseconds)
        if (!('text' in again)) return again
      }
      return ask((id) => ({ kind: 'call', id, input, milliseconds }))
    },
    dispose() {
      disposed = true
      child?.dispose()
      child = undefined
    },
  }
}
