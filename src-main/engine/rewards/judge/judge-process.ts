// A judge's model in a process of its own: a run goes on while it thinks, and a crash of it costs the questions it was asked, not the run.
//
//   idle -- ask --> busy -- answer --> idle
//   aborted while busy, or gone: killed; another process is started, and questions wait for it
import { fork, type ChildProcess } from 'node:child_process'
import { UserError, type ErrorEnvelope } from '../../../contract/errors.ts'
import { builtPath } from '../../runtime/paths.ts'
import { workerEnvironment } from '../reward-pool.ts'
import { JudgeFailure } from './judge-failure.ts'
import type { JudgeProcessAnswer, JudgeProcessRequest, JudgeWork } from './judge-protocol.ts'

export interface JudgeProcess {
  readonly identity: string
  /**
   * One piece of work; others wait for it.
   * @throws JudgeFailure when there is no result
   */
  work(work: JudgeWork, signal: AbortSignal): Promise<JudgeProcessAnswer>
  dispose(): void
}

/** Reading some gigabytes of weights from a slow disk. */
const startSeconds = 900

/** Starts the process and waits until its model is there. @throws UserError when it cannot be opened */
export async function startJudgeProcess(first: JudgeProcessRequest): Promise<JudgeProcess> {
  const ended = new AbortController()
  let child: Opened | undefined = await open(first, ended.signal)
  const { identity } = child
  let opening: Promise<Opened> | undefined
  let turn: Promise<unknown> = Promise.resolve()

  const current = async (): Promise<Opened> => {
    if (child?.alive() === true) return child
    opening ??= open(first, ended.signal).finally(() => (opening = undefined))
    try {
      return (child = await opening)
    } catch (error) {
      throw new JudgeFailure(`the judge's process cannot be started again: ${error instanceof Error ? error.message : String(error)}`, false)
    }
  }
  return {
    identity,
    work(work, within) {
      const result = turn.then(async () => {
        if (within.aborted || ended.signal.aborted) throw new JudgeFailure('given up', false)
        return (await current()).work(work, within)
      })
      turn = result.catch(() => undefined)
      return result
    },
    dispose() {
      ended.abort()
      child?.kill()
    },
  }
}

interface Opened {
  readonly identity: string
  alive(): boolean
  work(work: JudgeWork, signal: AbortSignal): Promise<JudgeProcessAnswer>
  kill(): void
}

async function open(first: JudgeProcessRequest, signal: AbortSignal): Promise<Opened> {
  const child = fork(builtPath('judge-worker.js'), [], { execArgv: ['--no-warnings'], env: workerEnvironment(), stdio: ['ignore', 'ignore', 'pipe', 'ipc'], serialization: 'json' })
  let complaint = ''
  child.stderr?.on('data', (chunk: Buffer) => (complaint = (complaint + chunk.toString('utf8')).slice(-2_000)))
  const patience = AbortSignal.any([signal, AbortSignal.timeout(startSeconds * 1_000)])
  const answer = await exchange(child, first, patience)
  let nextId = 1
  if (answer?.kind !== 'ready') {
    child.kill('SIGKILL')
    throw new UserError(answer?.kind === 'fatal' ? answer.error : startFailure(complaint))
  }
  return {
    identity: answer.identity,
    // A process that was killed is gone, whether or not the system has said so yet.
    alive: () => !child.killed && child.exitCode === null && child.signalCode === null && child.connected,
    async work(work, within) {
      const result = await exchange(child, { kind: 'work', id: nextId++, work }, within)
      if (result?.kind === 'failed') throw new JudgeFailure(result.reason, false)
      if (result !== undefined) return result
      // It did not answer in time, or is gone; what it is doing cannot be interrupted otherwise.
      child.kill('SIGKILL')
      throw new JudgeFailure(within.aborted ? 'no answer in time' : `the judge's process ended: ${complaint.trim().slice(-200) || 'out of memory, or a crash'}`, true)
    },
    kill: () => child.kill('SIGKILL'),
  }
}

const startFailure = (complaint: string): ErrorEnvelope => ({ code: 'engine', what: `The judge's process cannot start: ${complaint.trim() || 'it ended, or did not answer in time'}`, place: {}, expected: '', remedy: 'Run `npm run build`, then `satchel doctor`.' })

/** One message, one answer; undefined when the process is gone or the signal comes first. */
function exchange(child: ChildProcess, request: JudgeProcessRequest, signal: AbortSignal): Promise<JudgeProcessAnswer | undefined> {
  return new Promise((resolve) => {
    const settle = (answer: JudgeProcessAnswer | undefined): void => {
      child.off('message', settle).off('exit', gone).off('error', gone)
      signal.removeEventListener('abort', gone)
      resolve(answer)
    }
    const gone = (): void => settle(undefined)
    if (signal.aborted || !child.connected) return resolve(undefined)
    child.on('message', settle).on('exit', gone).on('error', gone)
    signal.addEventListener('abort', gone, { once: true })
    child.send(request, (error) => {
      if (error !== null) gone()
    })
  })
}
