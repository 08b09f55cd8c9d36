// One engine process: started, heard, told, ended. Knows nothing of runs.
import { spawn } from 'node:child_process'
import { engineEventSchema } from '../contract/events.ts'
import type { EngineCommand, EngineEvent, EngineStart } from '../contract/events.ts'

/** What runs an engine: a Node binary, the built entry, and the environment it gets. */
export interface EngineProgram {
  readonly nodeBinary: string
  readonly script: string
  readonly environment: Readonly<Record<string, string>>
}

/** How an engine process went away. */
export interface EngineEnd {
  readonly code: number | null
  readonly signal: string | null
  /** Set when the process could not be started at all. */
  readonly spawnError: string | undefined
  /** The end of what it wrote to stderr; empty when it wrote nothing. */
  readonly lastWords: string
}

export interface EngineProcess {
  readonly processId: number | undefined
  /** Sends a command; does nothing when the process is gone. */
  send(command: EngineCommand): void
  /** Ends the process at once. */
  kill(): void
  /** Settles when the process is gone and everything it said has been heard. */
  readonly gone: Promise<EngineEnd>
}

export interface EngineListener {
  onEvent(event: EngineEvent): void
  /** A message that is no EngineEvent: `problem` says why. */
  onUnreadable(problem: string): void
}

const keptErrorCharacters = 8_192
/** A worker of the engine may still hold its pipes open; after the exit we wait this long for the last words. */
const drainMilliseconds = 1_000

/**
 * Starts an engine and sends it its start message.
 * The process inherits the given environment only, no flags of this process, and no open files but its pipes.
 */
export function startEngineProcess(program: EngineProgram, start: EngineStart, listener: EngineListener): EngineProcess {
  // Not fork(): Electron's own version of it prepares the environment for an Electron, and this is a plain Node.
  const child = spawn(program.nodeBinary, [program.script], {
    env: { ...program.environment },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    windowsHide: true,
  })
  let lastWords = ''
  child.stderr?.setEncoding('utf8')
  child.stderr?.on('data', (text: string) => {
    lastWords = (lastWords + text).slice(-keptErrorCharacters)
  })
  child.on('message', (message) => {
    const event = engineEventSchema.safeParse(message)
    if (event.success) listener.onEvent(event.data)
    else listener.onUnreadable(event.error.issues[0]?.message ?? 'unknown form')
  })

  const gone = new Promise<EngineEnd>((resolve) => {
    let spawnError: string | undefined
    child.once('error', (error) => {
      spawnError = error.message
      // A process that never started has no id and sends no exit.
      if (child.pid === undefined) resolve({ code: null, signal: null, spawnError, lastWords })
    })
    child.once('exit', (code, signal) => {
      const finish = (): void => {
        clearTimeout(timer)
        resolve({ code, signal, spawnError: undefined, lastWords: lastWords.trim() })
      }
      const timer = setTimeout(finish, drainMilliseconds)
      child.once('close', finish)
    })
  })

  const send = (message: EngineStart | EngineCommand): void => {
    // The channel may break between the check and the write; `gone` reports what happened to the process.
    if (child.connected) child.send(message, () => undefined)
  }
  send(start)
  return {
    processId: child.pid,
    send,
    kill: () => {
      child.kill('SIGKILL')
    },
    gone,
  }
}
