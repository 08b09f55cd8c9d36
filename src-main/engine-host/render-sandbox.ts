// The locked-down process: runs generated programs, each in a context of its own that holds no object of this process.
//
//   worker ──open(script)──> new context ── kit (React, document) ── program ──JSON text──> worker
//   worker ──load(script), call(input)──> context ── kit (caller, or algebra) ── program ──JSON text──> worker
//
// Layers, from the inside out: a context without host objects, without code from strings and with unchangeable intrinsics; a time
// limit on every entry; this process without files, children, workers or network, with a small heap and an empty environment; and
// the worker's own clock, which kills this process and starts another.
import vm from 'node:vm'
import net from 'node:net'
import dgram from 'node:dgram'
import type { RenderAnswer, RenderRequest } from '../engine/rewards/render-protocol.ts'
import { createPageService } from './sandbox-page.ts'
import { createScriptService } from './sandbox-scripts.ts'

const send = process.send?.bind(process)
if (send === undefined) throw new Error('the render process is started by a reward worker, not by hand')
stripProcess()

let pages: ReturnType<typeof createPageService> | undefined
let scripts: ReturnType<typeof createScriptService> | undefined
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
  send?.(await answerTo(message))
}

async function answerTo(message: RenderRequest): Promise<RenderAnswer> {
  switch (message.kind) {
    case 'start':
      pages = createPageService(new vm.Script(message.kit, { filename: 'sandbox.js' }), message.limits, takeRejections)
      return { kind: 'ready' }
    case 'start-scripts':
      scripts = createScriptService(new vm.Script(message.kit, { filename: 'sandbox.js' }))
      return { kind: 'ready' }
    case 'load':
    case 'call':
      if (scripts === undefined) throw new Error('the sandbox kit has not arrived')
      return scripts(message)
    case 'open':
    case 'reopen':
    case 'click':
      if (pages === undefined) throw new Error('the sandbox kit has not arrived')
      return pages(message)
  }
}

function takeRejections(): number {
  const counted = rejections
  rejections = 0
  return counted
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
