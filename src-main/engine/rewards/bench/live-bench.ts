// The bench while somebody composes: what was scored before is not scored again. New weights are new sums over the same verdicts, a new
// sample is scored alone, and workers stay warm between two questions.
import { UserError } from '../../../contract/errors.ts'
import type { RewardConfig } from '../../../contract/reward-config.ts'
import type { ScoredCompletion } from '../../../contract/rewards.ts'
import { combineGlobal, outcomeOf } from '../bus.ts'
import { openRewards } from '../judge/open-rewards.ts'
import type { RewardPool } from '../reward-pool.ts'
import type { ScoreRow } from '../score.ts'
import type { ScoreItem } from '../scorer.ts'
import { measuringPart } from './replay.ts'
import { benchTrials, reportBench, type BenchReport } from './reward-bench.ts'

export interface LiveBenchOptions {
  readonly config: RewardConfig
  /** How often everything is asked, from scratch each time; 1 leaves repeatability open. */
  readonly scorings: number
  readonly signal: AbortSignal
  /** Completions scored of those that had to be. */
  readonly onProgress?: (done: number, total: number) => void
}

export interface LiveBenchAnswer {
  readonly scored: readonly ScoredCompletion[]
  readonly report: BenchReport
  /** How often every row has been scored by now: what was repeated once stays known. */
  readonly scorings: number
}

export interface LiveBench {
  /**
   * Scores rows and the bench's own trials.
   * @throws UserError `stopped` when the signal ended it, or when no reward worker can start
   */
  score(rows: readonly ScoreRow[], options: LiveBenchOptions): Promise<LiveBenchAnswer>
  dispose(): void
}

interface Keyed {
  readonly item: ScoreItem
  /** What is measured, and on what: two that are equal get one verdict. */
  readonly key: string
}

/** Completions given to the worker at a time: between two of these the work can be ended. */
const rowsAtATime = 8
/** Verdicts that are kept; beyond these everything is scored afresh. */
const keptVerdicts = 4_000

/** Makes a bench with one worker; it starts when there is something to score. */
export function createLiveBench(): LiveBench {
  let warm: { readonly pool: RewardPool; readonly measure: string } | undefined
  /** One verdict a scoring. */
  const verdicts = new Map<string, ScoredCompletion[]>()
  const timesScored = (key: string): number => verdicts.get(key)?.length ?? 0

  async function scoreAll(open: readonly Keyed[], pool: RewardPool, signal: AbortSignal, onDone: (count: number) => void): Promise<void> {
    for (let from = 0; from < open.length; from += rowsAtATime) {
      if (signal.aborted) throw new UserError({ code: 'stopped', what: 'stopped before everything was scored' })
      const part = open.slice(from, from + rowsAtATime)
      const scored = await pool.score(part.map(({ item }) => item))
      for (const [index, { key }] of part.entries()) verdicts.set(key, [...(verdicts.get(key) ?? []), scored[index]!])
      onDone(part.length)
    }
  }

  /** The worker that stays: the first scoring is its. */
  async function warmPool(config: RewardConfig, measure: string): Promise<RewardPool> {
    if (warm?.measure !== measure) {
      warm?.pool.dispose()
      warm = undefined
      warm = { pool: await openRewards({ workers: 1, config }), measure }
    }
    return warm.pool
  }

  return {
    async score(rows, { config, scorings, signal, onProgress }) {
      if (verdicts.size > keptVerdicts) verdicts.clear()
      const measured = measuringPart(config)
      const measure = JSON.stringify(measured)
      const keyed = (id: string, row: ScoreItem['row'], text: string): Keyed => ({ item: { id, row, text }, key: JSON.stringify([measure, row, text]) })
      const own = rows.map(({ completion, offsets: _offsets, ...row }) => keyed(row.id, row, completion))
      const trials = benchTrials(config, rows).map(({ name, row, text }) => keyed(name, row, text))
      const rounds = Array.from({ length: scorings }, (_, done) => unique(done === 0 ? [...own, ...trials] : own).filter(({ key }) => timesScored(key) <= done))
      const total = rounds.reduce((sum, open) => sum + open.length, 0)
      let done = 0
      const onDone = (count: number): void => onProgress?.((done += count), total)
      for (const [round, open] of rounds.entries()) {
        if (open.length === 0) continue
        // A worker that has judged a completion remembers what it said: repetitions are asked of another.
        const pool = round === 0 ? await warmPool(measured, measure) : await openRewards({ workers: 1, config: measured })
        try {
          await scoreAll(open, pool, signal, onDone)
        } finally {
          if (round > 0) pool.dispose()
        }
      }
      const weighed = ({ key }: Keyed, scoring: number): ScoredCompletion => weigh(verdicts.get(key)![scoring]!, config)
      const common = Math.min(...own.map(({ key }) => timesScored(key)))
      const runs = Array.from({ length: common }, (_, scoring) => own.map((one) => weighed(one, scoring)))
      return { scored: runs[0]!, report: reportBench(rows, config, { runs, trials: trials.map((one) => weighed(one, 0)) }), scorings: common }
    },
    dispose() {
      warm?.pool.dispose()
      warm = undefined
      verdicts.clear()
    },
  }
}

/** A verdict under the weights of a configuration. */
function weigh(scored: ScoredCompletion, config: RewardConfig): ScoredCompletion {
  return { ...scored, global: combineGlobal(scored.sources, config), outcome: outcomeOf(scored, config) }
}

function unique(all: readonly Keyed[]): Keyed[] {
  return [...new Map(all.map((one) => [one.key, one])).values()]
}
