// Pages in the locked-down process: opens an application in a context of its own, lets it come to rest, clicks in it, reads it.
import type vm from 'node:vm'
import type { PageRequest, RenderAnswer, RenderLimits } from '../engine/rewards/render-protocol.ts'
import { openSandbox, type Evaluation, type Sandbox } from './sandbox-context.ts'

/** Virtual milliseconds a page gets to come to rest after it is opened or clicked. */
const settlingTime = 1_000
/** How often a program is opened while it is starved of the processor. */
const maximumAttempts = 6

const quietMilliseconds = 5

/** Serves one page at a time. `rejections` counts promises nobody handled since it was last asked. */
export function createPageService(kit: vm.Script, limits: RenderLimits, rejections: () => number): (message: PageRequest) => Promise<RenderAnswer> {
  let page: Sandbox | undefined
  // Furnishing a context takes a third of the time of a page: one is made ready when nothing is asked for a while.
  let spare: Sandbox | undefined = openSandbox(kit)
  let idle: NodeJS.Timeout | undefined
  let program = ''
  let timedOutAfter: number | undefined

  const noted = (evaluation: Evaluation): Evaluation => {
    timedOutAfter = evaluation.timedOutAfter ?? timedOutAfter
    return evaluation
  }

  const command = (name: string, argument: number, limit: number): Evaluation => (page === undefined ? { reason: 'no program is open' } : noted(page.command(name, [argument, limit], limits.scriptMilliseconds)))

  /** Carries a request out and reads the page once it has come to rest. */
  const perform = (message: PageRequest): Evaluation => {
    let done: Evaluation
    if (message.kind === 'open') {
      page = spare ?? openSandbox(kit)
      spare = undefined
      done = noted(page.register(message.script, limits.scriptMilliseconds))
    } else done = message.kind === 'click' ? command('click', message.element, 0) : command('open', 0, 0)
    if (done.text === undefined || done.text === '') return { reason: done.reason ?? 'the sandbox gave no answer' }
    const outcome = JSON.parse(done.text) as { problem?: string; clicked?: boolean }
    if (outcome.problem !== undefined) return { reason: outcome.problem }
    if (outcome.clicked === false) return { reason: 'the element to click is no longer there' }
    return settle()
  }

  /** Runs timers until nothing is due within the settling time, and reads the page; a reason says that it never comes to rest. */
  const settle = (): Evaluation => {
    let horizon: number | undefined
    let last = -1
    let repeats = 0
    for (;;) {
      const rested = command('rest', horizon ?? settlingTime, limits.maximumElements)
      if (rested.text === undefined) return rested
      const { at, body } = JSON.parse(rested.text) as { at?: number; body?: unknown }
      if (body !== undefined) return rested
      // A timer that failed on the way has been recorded among the page's errors.
      if (at === undefined) return command('read', 0, limits.maximumElements)
      horizon ??= at + settlingTime
      repeats = at === last ? repeats + 1 : 0
      last = at
      if (repeats > limits.maximumRounds) return { reason: 'the application never comes to rest' }
    }
  }

  // A program that was only starved of the processor is opened again, so that a busy machine changes no verdict.
  const serve = async (message: PageRequest): Promise<RenderAnswer> => {
    const { id } = message
    if (message.kind === 'open') program = message.script
    let used = 0
    for (let attempt = 1; ; attempt++) {
      rejections()
      timedOutAfter = undefined
      // After a time-out the context is left in the middle of something: begin with a new one.
      const read = perform(attempt === 1 ? message : { kind: 'open', id, script: program })
      // A rejection that nobody handled is announced only after this turn.
      await new Promise((resolve) => setImmediate(resolve))
      used += timedOutAfter ?? 0
      const starved = timedOutAfter !== undefined && used < limits.scriptMilliseconds / 2
      if (starved && message.kind !== 'click' && attempt < maximumAttempts) continue
      if (read.text === undefined) return { kind: 'failed', id, reason: read.reason ?? 'the sandbox gave no answer', starved }
      if (rejections() > 0) return { kind: 'failed', id, reason: 'a promise was rejected and nobody handled it', starved: false }
      const { failed } = JSON.parse(read.text) as { failed?: string }
      return failed === undefined ? { kind: 'page', id, page: read.text } : { kind: 'failed', id, reason: failed, starved: false }
    }
  }
  return async (message) => {
    clearTimeout(idle)
    const answer = await serve(message)
    // Not while the worker may be about to click.
    idle = setTimeout(() => (spare ??= openSandbox(kit)), quietMilliseconds)
    return answer
  }
}
