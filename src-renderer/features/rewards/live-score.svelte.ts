// Scores that follow what is being composed: a moment after the last change, the newest question alone, each ended when a newer one comes.
import type { SatchelBridge } from '../../../src-main/contract/bridge.ts'
import type { RewardCode, RewardReport, RewardSample, ScoredSample } from '../../../src-main/contract/calls/rewards.ts'
import type { ErrorEnvelope } from '../../../src-main/contract/errors.ts'
import { createTask } from '../../state/task.svelte.ts'
import type { Task } from '../../state/task.svelte.ts'

export interface ScoreQuestion {
  readonly reward: Record<string, unknown>
  readonly code: RewardCode | null
  readonly samples: RewardSample[]
}

export interface ScoreAnswer {
  /** The samples the verdicts belong to. */
  readonly samples: readonly RewardSample[]
  readonly scored: readonly ScoredSample[]
  readonly report: RewardReport
}

export interface LiveScore {
  /** The newest answer; it stays while a newer one is on its way. */
  readonly answer: ScoreAnswer | null
  /** Whether the answer is that of the newest question. */
  readonly current: boolean
  /** Why the newest question has no answer. */
  readonly problem: ErrorEnvelope | null
  readonly task: Task
  /** Scores this, a moment after the last call; null waits for something to score. The same question again is not asked. */
  follow(question: ScoreQuestion | null): void
  /** Scores the newest question several times, for what it says of repeatability. */
  repeat(scorings: number): void
  /** Ends what is on its way; the question counts as answered until it changes. */
  stop(): void
  dispose(): void
}

interface Asked {
  readonly question: ScoreQuestion
  readonly key: string
  readonly scorings: number
}

export function createLiveScore(bridge: SatchelBridge, restMilliseconds = 350): LiveScore {
  let answer = $state.raw<ScoreAnswer | null>(null)
  let answered = $state('')
  let newest = $state.raw<Asked | null>(null)
  let problem = $state.raw<ErrorEnvelope | null>(null)
  let timer: ReturnType<typeof setTimeout> | undefined
  let waiting: Asked | null = null
  let disposed = false
  const task = createTask(bridge)

  async function ask(asked: Asked): Promise<void> {
    if (task.running) {
      waiting = asked
      task.cancel()
      return
    }
    const { question, key, scorings } = asked
    const outcome = await task.run((name) => bridge.call('rewards.score', { ...question, scorings, task: name }))
    const next = waiting
    waiting = null
    if (outcome !== undefined && newest?.key === key) take(outcome, asked)
    if (next !== null && !disposed) void ask(next)
  }

  function take(outcome: Awaited<ReturnType<typeof bridge.call<'rewards.score'>>>, { question, key }: Asked): void {
    if (outcome.ok) {
      answer = { samples: question.samples, ...outcome.value }
      answered = key
      problem = null
    } else if (outcome.error.code !== 'stopped') problem = outcome.error
  }

  return {
    get answer() {
      return answer
    },
    get current() {
      return newest === null || answered === newest.key
    },
    get problem() {
      return problem
    },
    task,
    follow(question) {
      const key = JSON.stringify(question)
      if (key === newest?.key) return
      clearTimeout(timer)
      problem = null
      newest = question === null ? null : { question, key, scorings: 1 }
      if (newest === null) return
      const asked = newest
      timer = setTimeout(() => void ask(asked), restMilliseconds)
    },
    repeat(scorings) {
      if (newest !== null) void ask({ ...newest, scorings })
    },
    stop() {
      clearTimeout(timer)
      waiting = null
      task.cancel()
    },
    dispose() {
      disposed = true
      clearTimeout(timer)
      task.cancel()
    },
  }
}
