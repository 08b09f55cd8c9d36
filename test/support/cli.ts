// Runs the built command line as a person would: a process of its own, its output and exit code.
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { projectRoot } from '../../src-main/engine/runtime/paths.ts'

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
  /** stdout as JSON; throws when it is not exactly one value. */
  json<Value>(): Value
}

export interface Running {
  readonly child: ChildProcess
  readonly ended: Promise<Ended>
  /** What Ctrl-C in a terminal does: the signal reaches the process and every child of it. */
  interrupt(): void
  /** Resolves when stderr has held a match. */
  said(pattern: RegExp): Promise<void>
}

/** Starts a built entry. @param script from `buildEntry` */
export function start(script: string, options: readonly string[], settings: { cwd?: string; stdin?: string; env?: Record<string, string> } = {}): Running {
  const child = spawn(process.execPath, [script, ...options], { cwd: settings.cwd ?? projectRoot(), env: { ...process.env, ...settings.env }, stdio: ['pipe', 'pipe', 'pipe'], detached: process.platform !== 'win32' })
  let stdout = ''
  let stderr = ''
  const listeners = new Set<() => void>()
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
    for (const listen of listeners) listen()
  })
  child.stdin.on('error', () => undefined)
  child.stdin.end(settings.stdin ?? '')
  const ended = new Promise<Ended>((resolve) => {
    child.on('close', (code) => resolve({ code, stdout, stderr, json: <Value>() => JSON.parse(stdout) as Value }))
  })
  const said = (pattern: RegExp): Promise<void> =>
    new Promise((resolve, reject) => {
      const listen = (): void => {
        if (!pattern.test(stderr)) return
        listeners.delete(listen)
        resolve()
      }
      listeners.add(listen)
      listen()
      void ended.then(() => reject(new Error(`it ended without saying ${String(pattern)}:\n${stderr}`)))
    })
  const interrupt = (): void => {
    try {
      process.kill(-(child.pid as number), 'SIGINT')
    } catch {
      // It has ended by itself meanwhile.
    }
  }
  return { child, ended, interrupt, said }
}

/** Runs a built entry to its end. */
export function run(script: string, options: readonly string[], settings: Parameters<typeof start>[2] = {}): Promise<Ended> {
  return start(script, options, settings).ended
}
