// Scripts in the locked-down process: loads one program into a context of its own and calls it, each call under its own time limit.
import type vm from 'node:vm'
import type { RenderAnswer, ScriptRequest } from '../engine/rewards/render-protocol.ts'
import { openSandbox, type Evaluation, type Sandbox } from './sandbox-context.ts'

/** How often a call is made while it is starved of the processor. */
const maximumAttempts = 6

/** Serves one program at a time. Every answer is the text the kit made, or the reason there is none. */
export function createScriptService(kit: vm.Script): (message: ScriptRequest) => Promise<RenderAnswer> {
  let sandbox: Sandbox = openSandbox(kit)
  let program: string | undefined

  /** A new context with the same program in it. */
  const load = (milliseconds: number): Evaluation => {
    sandbox = openSandbox(kit)
    if (program === undefined) return { text: '{}' }
    const registered = sandbox.register(program, milliseconds)
    return registered.reason === undefined ? sandbox.command('load', [], milliseconds) : registered
  }

  const attempt = (message: ScriptRequest): Evaluation => {
    if (message.kind === 'load') return load(message.milliseconds)
    const called = sandbox.command('call', [message.input], message.milliseconds)
    // An empty text: the call gave a promise, which has had its turn by now.
    return called.text === '' ? sandbox.command('result', [], message.milliseconds) : called
  }

  return async (message) => {
    const { id } = message
    if (message.kind === 'load') program = message.script
    let used = 0
    for (let round = 1; ; round++) {
      const evaluation = attempt(message)
      if (evaluation.text !== undefined) return { kind: 'value', id, text: evaluation.text }
      const { timedOutAfter, reason = 'the sandbox gave no answer' } = evaluation
      if (timedOutAfter === undefined) return { kind: 'failed', id, reason, starved: false }
      used += timedOutAfter
      const line = lineOf(sandbox.command('line', [], message.milliseconds))
      // After a time-out the context is left in the middle of something: the next call begins with a new one.
      if (message.kind === 'call') load(message.milliseconds)
      const starved = used < message.milliseconds / 2
      if (!starved || round >= maximumAttempts) return { kind: 'failed', id, reason, starved, timedOut: true, ...(line === undefined ? {} : { line }) }
    }
  }
}

function lineOf({ text }: Evaluation): number | undefined {
  const line = Number(text)
  return text === undefined || !Number.isInteger(line) || line < 1 ? undefined : line
}
