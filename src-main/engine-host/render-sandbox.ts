// The render process: runs generated programs, each in a context of its own that holds no object of this process.
//
//   worker ──open(script)──> new context ── kit (React, document) ── program ──JSON text──> worker
//
// Layers, from the inside out: a context without host objects, without code from strings and with unchangeable intrinsics; a time
// limit on every entry; this process without files, children, workers or network, with a small heap and an empty environment; and
// the worker's own clock, which kills this process and starts another.
import vm from 'node:vm'
import { randomBytes } from 'node:crypto'
import net from 'node:net'
import dgram from 'node:dgram'
import type { RenderAnswer, RenderLimits, RenderRequest } from '../engine/rewards/render-protocol.ts'

/** Virtual milliseconds a page gets to come to rest after it is opened or clicked. */
const settlingTime = 1_000
/** How often a program is opened while it is starved of the processor. */
const maximumAttempts = 6

type PageRequest = Exclude<RenderRequest, { kind: 'start' }>

interface Page {
  readonly context: vm.Context
  readonly secret: string
}

const send = process.send?.bind(process)
if (send === undefined) throw new Error('the render process is started by a reward worker, not by hand')
stripProcess()

let kit: vm.Script | undefined
let limits: RenderLimits = { scriptMilliseconds: 1_000, maximumElements: 2_000, maximumRounds: 200 }
let page: Page | undefined
let program = ''
/** Processor milliseconds that were used until the last time-out of the request being served. */
let timedOutAfter: number | undefined
let rejections = 0

// Never look at the reason: it is an object of the sandbox, and looking can run its code outside every time limit.
process.on('unhandledRejection', () => {
  rejections += 1
})
// Ctrl-C in a terminal reaches every process of its group; when to end is the worker's decision.
process.on('SIGINT', () => undefined)
process.on('disconnect', () => process.exit(0))
process.on('message', (message: RenderRequest) => {
  // Only our own mistakes arrive here; dying loudly is better than leaving the worker to wait.
  handle(message).catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : 'unknown error'}\n`, () => process.exit(1))
  })
})

async function handle(message: RenderRequest): Promise<void> {
  if (message.kind === 'start') {
    limits = message.limits
    kit = new vm.Script(message.kit, { filename: 'sandbox.js' })
    openContext()
    return answer({ kind: 'ready' })
  }
  answer(await serve(message))
}

/** Carries a request out; a program that was only starved of the processor is opened again, so that a busy machine changes no verdict. */
async function serve(message: PageRequest): Promise<RenderAnswer> {
  const { id } = message
  if (message.kind === 'open') program = message.script
  let used = 0
  for (let attempt = 1; ; attempt++) {
    rejections = 0
    // After a time-out the context is left in the middle of something: begin with a new one.
    const failure = perform(attempt === 1 ? message : { kind: 'open', id, script: program })
    const read = failure === undefined ? command('read', 0, limits.maximumElements) : { text: undefined, reason: failure }
    // A rejection that nobody handled is announced only after this turn.
    await new Promise((resolve) => setImmediate(resolve))
    const timedOut = takeTimeOut()
    used += timedOut ?? 0
    const starved = timedOut !== undefined && used < limits.scriptMilliseconds / 2
    if (starved && message.kind !== 'click' && attempt < maximumAttempts) continue
    if (read.text === undefined) return { kind: 'failed', id, reason: read.reason, starved }
    if (rejections > 0) return { kind: 'failed', id, reason: 'a promise was rejected and nobody handled it', starved: false }
    const { failed } = JSON.parse(read.text) as { failed?: string }
    return failed === undefined ? { kind: 'page', id, page: read.text } : { kind: 'failed', id, reason: failed, starved: false }
  }
}

/** Processor milliseconds used until the last time-out, once; undefined when nothing timed out. */
function takeTimeOut(): number | undefined {
  const taken = timedOutAfter
  timedOutAfter = undefined
  return taken
}

function answer(message: RenderAnswer): void {
  send?.(message)
}

/** Carries a request out; a text says why it failed. */
function perform(message: PageRequest): string | undefined {
  if (message.kind === 'open') {
    page = openContext()
    const failure = register(message.script)
    if (failure !== undefined) return failure
  }
  if (page === undefined) return 'no program is open'
  const done = message.kind === 'click' ? command('click', message.element, 0) : command('open', 0, 0)
  if (done.text === undefined) return done.reason
  const outcome = JSON.parse(done.text) as { problem?: string; clicked?: boolean }
  if (outcome.problem !== undefined) return outcome.problem
  if (outcome.clicked === false) return 'the element to click is no longer there'
  return settle()
}

function openContext(): Page {
  if (kit === undefined) throw new Error('the sandbox kit has not arrived')
  const context = vm.createContext(vm.constants.DONT_CONTEXTIFY, { codeGeneration: { strings: false, wasm: false }, microtaskMode: 'afterEvaluate', name: 'completion' })
  const secret = randomBytes(16).toString('hex')
  new vm.Script(`globalThis.satchelSecret = '${secret}'`).runInContext(context)
  kit.runInContext(context, { displayErrors: false })
  return { context, secret }
}

/** Hands the program over without running it. */
function register(script: string): string | undefined {
  let compiled: vm.Script
  try {
    compiled = new vm.Script(`satchelRegister(function (exports, require, module) { 'use strict';\n${script}\n})`, { filename: 'completion.js' })
  } catch {
    return 'the bundled program is not a script'
  }
  return evaluate(compiled).reason
}

/** Runs timers until nothing is due within the settling time; a text says that it never comes to rest. */
function settle(): string | undefined {
  let horizon: number | undefined
  let last = -1
  let repeats = 0
  for (;;) {
    const stepped = command('step', horizon ?? settlingTime, 0)
    if (stepped.text === undefined) return stepped.reason
    const { at, failed } = JSON.parse(stepped.text) as { at?: number; failed?: string }
    if (at === undefined || failed !== undefined) return undefined
    horizon ??= at + settlingTime
    repeats = at === last ? repeats + 1 : 0
    last = at
    if (repeats > limits.maximumRounds) return 'the application never comes to rest'
  }
}

interface Evaluation {
  readonly text: string | undefined
  readonly reason: string
}

function command(name: string, argument: number, limit: number): Evaluation {
  if (page === undefined) return { text: undefined, reason: 'no program is open' }
  const evaluation = evaluate(new vm.Script(`satchelCommand('${page.secret}','${name}',${argument},${limit})`))
  if (evaluation.reason !== undefined) return { text: undefined, reason: evaluation.reason }
  return evaluation.text === undefined ? { text: undefined, reason: 'the sandbox gave no answer' } : { text: evaluation.text, reason: '' }
}

/** Runs a script under the time limit. Only a primitive text is ever taken out of the context. */
function evaluate(script: vm.Script): { text?: string; reason?: string } {
  if (page === undefined) return { reason: 'no program is open' }
  const before = process.cpuUsage()
  const started = performance.now()
  try {
    const value: unknown = script.runInContext(page.context, { timeout: limits.scriptMilliseconds, displayErrors: false })
    return typeof value === 'string' ? { text: value } : {}
  } catch {
    // Whatever was thrown belongs to the sandbox, the time-out error too: it is not looked at, only the clock is.
    if (performance.now() - started < limits.scriptMilliseconds) return { reason: 'the program threw an error' }
    const { user, system } = process.cpuUsage(before)
    timedOutAfter = (user + system) / 1_000
    return { reason: `the program ran longer than ${limits.scriptMilliseconds} ms` }
  }
}

/** Takes away what this process does not need, so that even an escape from a context would find little. */
function stripProcess(): void {
  const refuse = (): never => {
    throw new Error('the render process opens no sockets')
  }
  net.Socket.prototype.connect = refuse
  net.Server.prototype.listen = refuse
  dgram.createSocket = refuse
  const scope = globalThis as unknown as Record<string, unknown>
  for (const name of ['fetch', 'WebSocket', 'EventSource', 'BroadcastChannel', 'MessageChannel', 'Worker', 'WebAssembly', 'SharedArrayBuffer', 'Atomics']) delete scope[name]
  const own = process as unknown as Record<string, unknown>
  for (const name of ['binding', '_linkedBinding', 'dlopen', 'kill', '_kill', 'abort', 'chdir', 'getBuiltinModule', 'send', 'setuid', 'setgid', 'report', 'mainModule', '_debugProcess', '_startProfilerIdleNotifier']) {
    try {
      delete own[name]
      if (name in own) own[name] = undefined
    } catch {
      // A property this Node version keeps read-only; nothing in a context can reach it.
    }
  }
}
