// Asking a judge without ever waiting long for it: so many questions at a time, each with a deadline that covers its repetitions. A judge
// that fails again and again is left alone for a while: the questions that come meanwhile count as unanswered at once.
import { setTimeout as sleep } from 'node:timers/promises'
import type { AnswerForm, JudgeBackend, JudgeMessage } from './judge-backend.ts'
import { JudgeFailure } from './judge-failure.ts'

export interface PatienceOptions {
  /** For one question in all, its repetitions included. */
  readonly timeoutSeconds: number
  readonly retries: number
  readonly concurrency: number
  /** How long a judge that failed `failuresBeforeRest` times in a row is left alone. */
  readonly restSeconds?: number
}

export interface PatientJudge {
  readonly model: string
  readonly identity: string
  /** @throws JudgeFailure when there is no answer in time */
  ask(messages: readonly JudgeMessage[], form?: AnswerForm): Promise<string>
  /** Ends what is in progress. */
  dispose(): void
}

const failuresBeforeRest = 3
const firstPauseMilliseconds = 250

export function createPatientJudge(backend: JudgeBackend, { timeoutSeconds, retries, concurrency, restSeconds = 30 }: PatienceOptions): PatientJudge {
  const ended = new AbortController()
  const gate = createGate(concurrency)
  let failures = 0
  let restUntil = 0

  const attempt = async (messages: readonly JudgeMessage[], form: AnswerForm | undefined, signal: AbortSignal): Promise<string> => {
    for (let repetition = 0; ; repetition++) {
      try {
        return await untilAborted(backend.ask(messages, signal, form), signal)
      } catch (error) {
        if (signal.aborted || !(error instanceof JudgeFailure) || !error.again || repetition >= retries) throw error
        await sleep(error.waitMilliseconds ?? firstPauseMilliseconds * 2 ** repetition, undefined, { signal })
      }
    }
  }
  return {
    model: backend.model,
    identity: backend.identity,
    ask: (messages, form) =>
      gate(async () => {
        if (ended.signal.aborted) throw new JudgeFailure('the run has ended', false)
        if (performance.now() < restUntil) throw new JudgeFailure('the judge failed several times in a row and is left alone for a moment', false)
        const deadline = AbortSignal.timeout(Math.ceil(timeoutSeconds * 1_000))
        const signal = AbortSignal.any([ended.signal, deadline])
        try {
          const answer = await attempt(messages, form, signal)
          failures = 0
          return answer
        } catch (error) {
          failures += 1
          if (failures >= failuresBeforeRest) restUntil = performance.now() + restSeconds * 1_000
          if (deadline.aborted) throw new JudgeFailure(`no answer within ${timeoutSeconds} s`, false)
          if (ended.signal.aborted) throw new JudgeFailure('the run has ended', false)
          throw error
        }
      }),
    dispose() {
      ended.abort()
      backend.dispose()
    },
  }
}

/** A backend that does not listen to its signal is left behind. */
function untilAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(new JudgeFailure('given up', false))
    signal.addEventListener('abort', leave, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave))
  })
}

/** Lets `size` pieces of work run at a time; the others wait in order. */
function createGate(size: number): <Value>(work: () => Promise<Value>) => Promise<Value> {
  let free = size
  const waiting: (() => void)[] = []
  return async (work) => {
    if (free > 0) free -= 1
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) free += 1
      else next()
    }
  }
}
