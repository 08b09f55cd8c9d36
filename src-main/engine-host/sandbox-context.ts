// Contexts of the locked-down process: made without any object of the process, entered only under a time limit, left only by a text.
import { randomBytes } from 'node:crypto'
import vm from 'node:vm'

/** What came out of a context. */
export interface Evaluation {
  /** The text a script ended with; undefined when it ended with anything else, or failed. */
  readonly text?: string
  /** Why it failed. */
  readonly reason?: string
  /** Processor milliseconds that were used until it ran out of time; undefined when it did not. */
  readonly timedOutAfter?: number
}

/** A context with its kit. */
export interface Sandbox {
  /** Runs a script. */
  evaluate(script: vm.Script, milliseconds: number): Evaluation
  /** Calls the kit, which knows the process by its secret. Arguments are numbers and texts. */
  command(name: string, parameters: readonly (number | string)[], milliseconds: number): Evaluation
  /** Hands a program over to the kit, which may run it. */
  register(program: string, milliseconds: number): Evaluation
}

/** Opens a context and furnishes it. */
export function openSandbox(kit: vm.Script): Sandbox {
  const context = vm.createContext(vm.constants.DONT_CONTEXTIFY, { codeGeneration: { strings: false, wasm: false }, microtaskMode: 'afterEvaluate', name: 'completion' })
  const secret = randomBytes(16).toString('hex')
  new vm.Script(`globalThis.satchelSecret = '${secret}'`).runInContext(context)
  kit.runInContext(context, { displayErrors: false })
  const evaluate = (script: vm.Script, milliseconds: number): Evaluation => evaluateIn(context, script, milliseconds)
  return {
    evaluate,
    command(name, parameters, milliseconds) {
      const answered = evaluate(new vm.Script(`satchelCommand('${secret}',${[name, ...parameters].map((value) => JSON.stringify(value)).join(',')})`), milliseconds)
      return answered.text === undefined && answered.reason === undefined ? { reason: 'the sandbox gave no answer' } : answered
    },
    register(program, milliseconds) {
      let script: vm.Script
      try {
        script = new vm.Script(`satchelRegister(function (exports, require, module) { 'use strict';\n${program}\n})`, { filename: 'completion.js' })
      } catch {
        return { reason: 'the bundled program is not a script' }
      }
      return evaluate(script, milliseconds)
    },
  }
}

/** Milliseconds by which two clocks of the process may differ. */
const clockTolerance = 3

/** Only a primitive text is ever taken out of the context. */
function evaluateIn(context: vm.Context, script: vm.Script, milliseconds: number): Evaluation {
  const before = process.cpuUsage()
  const started = performance.now()
  try {
    const value: unknown = script.runInContext(context, { timeout: milliseconds, displayErrors: false })
    return typeof value === 'string' ? { text: value } : {}
  } catch {
    // Whatever was thrown belongs to the sandbox, the time-out error too: it is not looked at, only the clock is. The clock that ends a
    // program counts whole milliseconds of its own thread and may be a little early by this one.
    if (performance.now() - started < milliseconds - clockTolerance) return { reason: 'the program threw an error' }
    const { user, system } = process.cpuUsage(before)
    return { reason: `the program ran longer than ${milliseconds} ms`, timedOutAfter: (user + system) / 1_000 }
  }
}
