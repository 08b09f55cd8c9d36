// Runs a command of the command line for the page: exports, reports, plans. One process a job, its progress in lines, its answer one object.
import { spawn } from 'node:child_process'
import { z } from 'zod'
import { errorEnvelopeSchema } from '../contract/events.ts'
import { UserError } from '../contract/errors.ts'
import type { EngineProgram } from './engine-process.ts'
import { lastErrorLine } from './engine-words.ts'

export interface CommandLine {
  /**
   * Runs `satchel ARGUMENTS --json`. `job` names it for `cancel`; `onLine` hears what it says while it works.
   * @throws UserError as the command says it; code `stopped` when it was cancelled
   */
  run(job: string, parameters: readonly string[], onLine: (line: string) => void): Promise<unknown>
  /** Asks a job to stop and tidy up after itself; ends it when it does not. Does nothing for a job that is over. */
  cancel(job: string): void
  /** Ends every job. */
  dispose(): void
}

const keptCharacters = 16_384
/** An answer larger than this is no answer of ours. */
const largestAnswer = 64 * 1024 * 1024
const patienceMilliseconds = 8_000

const failureSchema = z.object({ error: errorEnvelopeSchema })

/** @param program asked for at every start: the Node binary, the built command line, and the environment */
export function createCommandLine(program: () => EngineProgram): CommandLine {
  const running = new Map<string, () => void>()

  function run(job: string, parameters: readonly string[], onLine: (line: string) => void): Promise<unknown> {
    if (running.has(job)) return Promise.reject(new UserError({ code: 'usage', what: 'This is already being done.' }))
    const { nodeBinary, script, environment } = program()
    const child = spawn(nodeBinary, [script, ...parameters, '--json'], { env: { ...environment }, stdio: ['ignore', 'pipe', 'pipe'], windowsHide: true })
    let answer = ''
    let words = ''
    let cancelled = false
    let timer: NodeJS.Timeout | undefined
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      if (answer.length < largestAnswer) answer += text
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      words = (words + text).slice(-keptCharacters)
      const line = words.split(/[\r\n]+/).findLast((part) => part.trim() !== '')
      if (line !== undefined) onLine(line.trim().slice(0, 300))
    })
    running.set(job, () => {
      cancelled = true
      child.kill('SIGINT')
      timer = setTimeout(() => child.kill('SIGKILL'), patienceMilliseconds)
    })
    return new Promise((resolve, reject) => {
      const over = (): void => {
        clearTimeout(timer)
        running.delete(job)
      }
      child.once('error', (error) => {
        over()
        reject(new UserError({ code: 'engine', what: `The command could not be started (${error.message}).`, remedy: 'Build Satchel again: npm run build.' }, { cause: error }))
      })
      child.once('close', (code, signal) => {
        over()
        if (cancelled) reject(new UserError({ code: 'stopped', what: 'Stopped.' }))
        else answered(answer, words, code, signal).then(resolve, reject)
      })
    })
  }

  return {
    run,
    cancel: (job) => running.get(job)?.(),
    dispose() {
      for (const stop of running.values()) stop()
    },
  }
}

async function answered(answer: string, words: string, code: number | null, signal: string | null): Promise<unknown> {
  let value: unknown
  try {
    value = JSON.parse(answer)
  } catch {
    throw new UserError({ code: 'engine', what: `The command ended ${signal === null ? `with code ${code ?? 'unknown'}` : `by signal ${signal}`} and gave no answer.`, expected: lastErrorLine(words), remedy: 'Free some memory, and try again.' })
  }
  const failure = failureSchema.safeParse(value)
  if (failure.success) throw new UserError(failure.data.error)
  return value
}
