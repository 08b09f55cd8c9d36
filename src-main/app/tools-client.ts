// Asks the tools process. It is started when it is first needed and again after it has died, which costs the answers that were on their way
// and nothing else. Quick questions, long work, rewards and downloads have a process each, so that none waits for another, and long work gives its
// memory back when it is done.
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { isDeepStrictEqual } from 'node:util'
import type { Progress } from '../contract/calls/tasks.ts'
import { UserError } from '../contract/errors.ts'
import { toolMethods, toolReplySchema } from '../contract/tools.ts'
import type { ToolMessage, ToolName, ToolRequest, ToolResponse } from '../contract/tools.ts'
import type { EngineProgram } from './engine-process.ts'
import { lastErrorLine } from './engine-words.ts'

export interface ToolsClient {
  /** @throws UserError of the tool, or `engine` when the process died */
  ask<Name extends ToolName>(name: Name, request: ToolRequest<Name>, options?: AskOptions): Promise<ToolResponse<Name>>
  /** Replaces the processes whose program is another now. One at work ends its work first; the next question starts a new one. */
  refresh(): void
  dispose(): void
}

export interface AskOptions {
  readonly onProgress?: (progress: Progress) => void
  readonly signal?: AbortSignal
}

/** What a process is for. */
export type Lane = 'quick' | 'work' | 'download' | 'pages' | 'rewards'

const longWork: readonly ToolName[] = ['datasets.check', 'datasets.convert', 'datasets.count', 'machine.try', 'models.import', 'models.verify']

function laneOf(name: ToolName): Lane {
  if (name === 'models.download') return 'download'
  if (name === 'pages.show') return 'pages'
  // Reading types takes a second of a processor, and reward workers are kept between two questions.
  if (name.startsWith('rewards.')) return 'rewards'
  return longWork.includes(name) ? 'work' : 'quick'
}

interface Waiting {
  readonly name: ToolName
  readonly onProgress: ((progress: Progress) => void) | undefined
  readonly resolve: (value: unknown) => void
  readonly reject: (error: UserError) => void
}

interface Running {
  readonly program: EngineProgram
  readonly child: ChildProcess
  readonly waiting: Map<number, Waiting>
  idle: NodeJS.Timeout | undefined
  /** Another has taken its place. */
  replaced: boolean
}

const keptErrorCharacters = 4096

/** @param idleMilliseconds how long a process for long work stays after its last answer */
export function createToolsClient(program: (lane: Lane) => EngineProgram, idleMilliseconds = 60_000): ToolsClient {
  const lanes = new Map<Lane, Running>()
  /** These, and those replaced that are still at work. */
  const all = new Set<Running>()
  let nextId = 1
  let disposed = false

  function start(lane: Lane): Running {
    const chosen = program(lane)
    const { nodeBinary, script, environment } = chosen
    const child = spawn(nodeBinary, [script], { env: { ...environment }, stdio: ['ignore', 'ignore', 'pipe', 'ipc'], windowsHide: true })
    const running: Running = { program: chosen, child, waiting: new Map(), idle: undefined, replaced: false }
    lanes.set(lane, running)
    all.add(running)
    let lastWords = ''
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (lastWords = (lastWords + text).slice(-keptErrorCharacters)))
    child.on('message', (message) => hear(lane, running, message))
    const end = (how: string): void => {
      if (lanes.get(lane) === running) lanes.delete(lane)
      all.delete(running)
      clearTimeout(running.idle)
      const line = lastErrorLine(lastWords)
      const words = line === '' ? '' : ` Its last words: “${line.slice(0, 300)}”.`
      const error = new UserError({ code: 'engine', what: `The process that works on models and data ended before it had answered (${how}).${words}`, remedy: 'Try again. If it ends every time, the file or the model it works on is most likely damaged, or memory runs out.' })
      for (const { reject } of running.waiting.values()) reject(error)
      running.waiting.clear()
    }
    child.once('error', (error) => end(error.message))
    child.once('close', (code, signal) => end(signal ?? `code ${code ?? 'unknown'}`))
    return running
  }

  function hear(lane: Lane, running: Running, message: unknown): void {
    const reply = toolReplySchema.safeParse(message)
    if (!reply.success) return
    const waiting = running.waiting.get(reply.data.id)
    if (waiting === undefined) return
    if (reply.data.type === 'progress') {
      waiting.onProgress?.(reply.data.progress)
      return
    }
    running.waiting.delete(reply.data.id)
    const { outcome } = reply.data
    if (!outcome.ok) waiting.reject(new UserError(outcome.error))
    else {
      const value = toolMethods[waiting.name].response.safeParse(outcome.value)
      if (value.success) waiting.resolve(value.data)
      else waiting.reject(new UserError({ code: 'engine', what: `The answer to ${waiting.name} is not understood.`, remedy: 'Build Satchel again, so that app and tools are of one version.' }))
    }
    restLater(lane, running)
  }

  function restLater(lane: Lane, running: Running): void {
    clearTimeout(running.idle)
    if (running.waiting.size > 0) return
    if (running.replaced && running.child.connected) running.child.disconnect()
    if (running.replaced || lane === 'quick') return
    running.idle = setTimeout(() => {
      if (running.waiting.size === 0) running.child.disconnect()
    }, idleMilliseconds)
    running.idle.unref()
  }

  function send(running: Running, message: ToolMessage): void {
    // The channel may break between the check and the write; the end of the process is told by its own event.
    if (running.child.connected) running.child.send(message, () => undefined)
  }

  return {
    async ask<Name extends ToolName>(name: Name, request: ToolRequest<Name>, { onProgress, signal }: AskOptions = {}) {
      if (disposed) throw new UserError({ code: 'stopped', what: 'Satchel is closing.' })
      const lane = laneOf(name)
      const known = lanes.get(lane)
      const running = known?.child.connected === true ? known : start(lane)
      clearTimeout(running.idle)
      const id = nextId
      nextId += 1
      const answer = new Promise<unknown>((resolve, reject) => running.waiting.set(id, { name, onProgress, resolve, reject }))
      send(running, { type: 'request', id, method: name, parameters: request })
      const cancel = (): void => send(running, { type: 'cancel', id })
      if (signal?.aborted === true) cancel()
      signal?.addEventListener('abort', cancel, { once: true })
      try {
        return (await answer) as ToolResponse<Name>
      } finally {
        signal?.removeEventListener('abort', cancel)
      }
    },
    refresh() {
      for (const [lane, running] of lanes) {
        if (!running.child.connected || isDeepStrictEqual(running.program, program(lane))) continue
        lanes.delete(lane)
        running.replaced = true
        restLater(lane, running)
      }
    },
    dispose() {
      disposed = true
      for (const { child, idle } of all) {
        clearTimeout(idle)
        child.kill('SIGKILL')
      }
      lanes.clear()
    },
  }
}
