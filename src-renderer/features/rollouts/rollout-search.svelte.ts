// A search through the rollouts of all steps: one answer after another, newest first, until the end or until it is stopped.
import type { SatchelBridge } from '../../../src-main/contract/bridge.ts'
import type { RolloutHeader, RolloutQuery } from '../../../src-main/contract/calls/run-data.ts'
import type { ErrorEnvelope } from '../../../src-main/contract/errors.ts'

export interface RolloutSearch {
  readonly hits: readonly RolloutHeader[]
  /** Files looked through so far. */
  readonly looked: number
  readonly running: boolean
  /** Set when it ended early because enough was found. */
  readonly more: boolean
  readonly problem: ErrorEnvelope | null
  /** Starts anew. */
  start(directory: string, query: RolloutQuery): void
  /** Goes on behind what was found. */
  proceed(): void
  stop(): void
}

/** Hits after which it pauses and lets the person decide. */
const enough = 400

export function createRolloutSearch(bridge: SatchelBridge): RolloutSearch {
  let hits = $state.raw<readonly RolloutHeader[]>([])
  let looked = $state(0)
  let running = $state(false)
  let next = $state<number | null>(null)
  let problem = $state.raw<ErrorEnvelope | null>(null)
  let asked: { readonly directory: string; readonly query: RolloutQuery } | undefined
  let turn = 0

  async function go(from: number | null): Promise<void> {
    const mine = turn
    const limit = hits.length + enough
    running = true
    for (let at: number | null = from; asked !== undefined; ) {
      const outcome = await bridge.call('runs.search', { ...asked, from: at })
      if (mine !== turn) return
      if (!outcome.ok) {
        problem = outcome.error
        break
      }
      hits = [...hits, ...outcome.value.hits]
      looked += outcome.value.looked
      next = at = outcome.value.next
      if (at === null || hits.length >= limit) break
    }
    running = false
  }

  return {
    get hits() {
      return hits
    },
    get looked() {
      return looked
    },
    get running() {
      return running
    },
    get more() {
      return !running && next !== null
    },
    get problem() {
      return problem
    },
    start(directory, query) {
      turn += 1
      asked = { directory, query }
      hits = []
      looked = 0
      next = null
      problem = null
      void go(null)
    },
    proceed() {
      if (!running && next !== null) void go(next)
    },
    stop() {
      turn += 1
      running = false
    },
  }
}
