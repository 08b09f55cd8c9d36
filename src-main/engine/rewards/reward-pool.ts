// Scores completions in worker processes, beside generation. A completion that crashes or stalls its worker is found, scored as
// failed, and costs its neighbours nothing but the time to start another worker:
//
//   worker says "working on 7" ... silence ... killed:  7 failed;  what was not answered yet goes to another worker
//   silence during work on the whole batch:             the batch is halved until one completion is left to blame
import { fork, type ChildProcess } from 'node:child_process'
import { UserError } from '../../contract/errors.ts'
import type { RewardConfig } from '../../contract/reward-config.ts'
import type { ScoredCompletion } from '../../contract/rewards.ts'
import { builtPath } from '../runtime/paths.ts'
import { failedCompletion } from './failed-completion.ts'
import type { ScoreItem } from './scorer.ts'
import type { WorkerAnswer, WorkerRequest } from './worker-protocol.ts'

export interface RewardPool {
  /** Verdicts in the order of the items; never rejects because of what a completion does. Rejects with a UserError when no worker can start. */
  score(items: readonly ScoreItem[]): Promise<ScoredCompletion[]>
  /** Starts the workers now, so that the first batch does not wait for them. */
  warmUp(): Promise<void>
  /** Ends every worker; scores that are still open are rejected. */
  dispose(): void
}

export interface RewardPoolOptions {
  readonly workers: number
  readonly config: RewardConfig
}

interface Job {
  readonly item: ScoreItem
  readonly resolve: (scored: ScoredCompletion) => void
  readonly reject: (error: Error) => void
  settled: boolean
}

interface Waiting {
  readonly jobs: Job[]
  /** What is left of a batch that was lost: never put together with others again. */
  readonly suspect: boolean
}

interface Worker {
  readonly child: ChildProcess
  state: 'starting' | 'idle' | 'busy'
  jobs: readonly Job[]
  /** Index of the completion the worker last said it works on; -1 for the batch as a whole. */
  current: number
  clock: NodeJS.Timeout | undefined
  complaint: string
}

/** Largest batch given to one worker: bounds its memory, and what is lost with it. */
const largestBatch = 64
const startAttempts = 2

/** Makes a pool; workers start when there is something to score (or with `warmUp`). */
export function createRewardPool({ workers: size, config }: RewardPoolOptions): RewardPool {
  if (!Number.isInteger(size) || size < 1) throw new Error(`a reward pool needs at least one worker, not ${size}`)
  const workers = new Set<Worker>()
  const queue: Waiting[] = []
  let idleWaiters: { resolve: () => void; reject: (error: Error) => void }[] = []
  let failedStarts = 0
  let disposed = false

  const pump = (): void => {
    for (const worker of workers) {
      if (worker.state !== 'idle') continue
      if (queue.length === 0) break
      give(worker, takeBatch(queue, size))
    }
    while (queue.length > 0 && workers.size < size && !disposed) start()
  }

  const start = (): void => {
    const child = fork(builtPath('reward-worker.js'), [], { execArgv: [`--max-old-space-size=${config.limits.workerMegabytes}`, '--no-warnings'], env: workerEnvironment(), stdio: ['ignore', 'ignore', 'pipe', 'ipc'], serialization: 'json' })
    const worker: Worker = { child, state: 'starting', jobs: [], current: -1, clock: undefined, complaint: '' }
    workers.add(worker)
    child.stderr?.on('data', (chunk: Buffer) => (worker.complaint = (worker.complaint + chunk.toString('utf8')).slice(-4_000)))
    child.on('message', (answer: WorkerAnswer) => hear(worker, answer))
    child.on('exit', () => lose(worker, 'the reward worker ended (out of memory, or a crash)'))
    child.on('error', (error) => lose(worker, error.message))
    watch(worker, config.limits.startSeconds)
    tell(worker, { kind: 'configure', config })
  }

  const tell = (worker: Worker, request: WorkerRequest): void => {
    worker.child.send(request, (error) => {
      if (error !== null) lose(worker, 'the reward worker does not listen')
    })
  }

  const watch = (worker: Worker, seconds: number): void => {
    clearTimeout(worker.clock)
    worker.clock = setTimeout(() => lose(worker, `no answer for ${seconds} s`), seconds * 1_000)
  }

  const give = (worker: Worker, jobs: readonly Job[]): void => {
    worker.state = 'busy'
    worker.jobs = jobs
    worker.current = -1
    watch(worker, config.limits.itemSeconds)
    tell(worker, { kind: 'score', items: jobs.map((job) => job.item) })
  }

  const hear = (worker: Worker, answer: WorkerAnswer): void => {
    if (!workers.has(worker)) return
    switch (answer.kind) {
      case 'fatal':
        worker.complaint = answer.reason
        return lose(worker, answer.reason)
      case 'working':
        worker.current = answer.index
        return watch(worker, config.limits.itemSeconds)
      case 'scored': {
        const job = worker.jobs[answer.index]
        if (job !== undefined) settle(job, answer.scored)
        return watch(worker, config.limits.itemSeconds)
      }
      case 'ready':
        failedStarts = 0
        return rest(worker)
      case 'done':
        return rest(worker)
    }
  }

  const rest = (worker: Worker): void => {
    clearTimeout(worker.clock)
    worker.state = 'idle'
    worker.jobs = []
    pump()
    for (const waiter of idleWaiters) waiter.resolve()
    idleWaiters = []
  }

  /** Buries a worker that died or is to die: blames one completion, and puts the others back into the queue. */
  const lose = (worker: Worker, reason: string): void => {
    if (!workers.delete(worker)) return
    clearTimeout(worker.clock)
    worker.child.kill('SIGKILL')
    if (disposed) return
    if (worker.state === 'starting' && ++failedStarts >= startAttempts) return giveUp(worker.complaint === '' ? reason : worker.complaint)
    const open = worker.jobs.filter((job) => !job.settled)
    const blamed = open.length === 1 ? open[0] : worker.jobs[worker.current]
    if (blamed !== undefined && !blamed.settled) {
      settle(blamed, failedCompletion(reason, config))
      requeue(open.filter((job) => job !== blamed))
    } else {
      const middle = Math.ceil(open.length / 2)
      requeue(open.slice(0, middle))
      requeue(open.slice(middle))
    }
    pump()
  }

  const requeue = (jobs: Job[]): void => {
    if (jobs.length > 0) queue.push({ jobs, suspect: true })
  }

  const giveUp = (reason: string): void => {
    failedStarts = 0
    const error = new UserError({ code: 'engine', what: `The reward workers cannot start: ${reason}`, remedy: 'Run `npm run build`, then `satchel doctor`.' })
    for (const job of queue.splice(0).flatMap(({ jobs }) => jobs)) if (!job.settled) job.reject(error)
    for (const waiter of idleWaiters) waiter.reject(error)
    idleWaiters = []
  }

  const settle = (job: Job, scored: ScoredCompletion): void => {
    if (job.settled) return
    job.settled = true
    job.resolve(scored)
  }

  return {
    score(items) {
      if (disposed) return Promise.reject(new Error('the reward pool was disposed'))
      const verdicts: Promise<ScoredCompletion>[] = []
      const jobs = items.map((item) => {
        let job: Job | undefined
        verdicts.push(new Promise((resolve, reject) => (job = { item, resolve, reject, settled: false })))
        return job as unknown as Job
      })
      const share = Math.min(largestBatch, Math.ceil(jobs.length / size))
      for (let from = 0; from < jobs.length; from += share) queue.push({ jobs: jobs.slice(from, from + share), suspect: false })
      pump()
      return Promise.all(verdicts)
    },
    warmUp() {
      if (disposed || workers.size >= size) return Promise.resolve()
      const ready = new Promise<void>((resolve, reject) => idleWaiters.push({ resolve, reject }))
      while (workers.size < size) start()
      return ready
    },
    dispose() {
      disposed = true
      const open = [...queue.splice(0).flatMap(({ jobs }) => jobs), ...[...workers].flatMap((worker) => worker.jobs)]
      for (const worker of workers) {
        clearTimeout(worker.clock)
        worker.child.kill('SIGKILL')
      }
      workers.clear()
      const error = new Error('the reward pool was disposed')
      for (const job of open) if (!job.settled) job.reject(error)
      for (const waiter of idleWaiters) waiter.reject(error)
      idleWaiters = []
    },
  }
}

/**
 * Takes the next batch. Small batches that have gathered meanwhile are put together, each worker its share: they are bundled at once.
 */
function takeBatch(queue: Waiting[], workers: number): Job[] {
  const first = queue.shift()
  if (first === undefined) return []
  const batch = [...first.jobs]
  if (first.suspect) return batch
  const waiting = queue.reduce((sum, { jobs }) => sum + jobs.length, batch.length)
  const share = Math.min(largestBatch, Math.ceil(waiting / workers))
  for (let next = queue[0]; next !== undefined && !next.suspect && batch.length + next.jobs.length <= share; next = queue[0]) {
    batch.push(...next.jobs)
    queue.shift()
  }
  return batch
}

/** What a worker needs of this process's environment: where things lie, and nothing a secret could hide in. */
export function workerEnvironment(): NodeJS.ProcessEnv {
  const environment: NodeJS.ProcessEnv = { TZ: 'UTC' }
  for (const name of ['PATH', 'Path', 'SATCHEL_ROOT', 'ESBUILD_BINARY_PATH', 'SystemRoot', 'TEMP', 'TMP', 'TMPDIR', 'HOME']) {
    const value = process.env[name]
    if (value !== undefined) environment[name] = value
  }
  return environment
}
