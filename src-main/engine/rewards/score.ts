// Scoring without training: rows of prompts and completions in, verdicts and token rewards out (`satchel score`).
import type { RewardConfig } from '../../contract/reward-config.ts'
import type { PromptRow, ScoredCompletion, TokenOffsets } from '../../contract/rewards.ts'
import { tokenRewards, type TokenRewards } from './bus.ts'
import { openRewards } from './judge/open-rewards.ts'

/** A completion to score. With offsets the answer holds token rewards. */
export interface ScoreRow extends PromptRow {
  readonly completion: string
  readonly offsets?: TokenOffsets
}

export interface ScoredRow {
  readonly id: string
  readonly scored: ScoredCompletion
  readonly tokens?: TokenRewards
}

export interface ScoreOptions {
  readonly config: RewardConfig
  readonly workers?: number
  /** Hears what is left out because this machine lacks it. */
  readonly onNotice?: (message: string) => void
  /** Called after each part of the rows. */
  readonly onProgress?: (done: number, total: number) => void
}

/** Rows scored at a time: enough to fill every worker, little enough to show progress. */
const rowsAtATime = 128

/**
 * Scores every row, in order.
 * @throws UserError when no reward worker can start or a judge cannot be asked; Error when a row's offsets belong to another text
 */
export async function scoreRows(rows: readonly ScoreRow[], options: ScoreOptions): Promise<ScoredRow[]> {
  for (const { id, completion, offsets } of rows) {
    if (offsets !== undefined && offsets.text !== completion) throw new Error(`row ${id}: the token offsets belong to another text`)
  }
  const pool = await openRewards({ workers: options.workers ?? 1, config: options.config, ...(options.onNotice === undefined ? {} : { onNotice: options.onNotice }) })
  try {
    const scored: ScoredRow[] = []
    for (let from = 0; from < rows.length; from += rowsAtATime) {
      const part = rows.slice(from, from + rowsAtATime)
      const verdicts = await pool.score(part.map((row) => ({ id: row.id, row, text: row.completion })))
      for (const [index, verdict] of verdicts.entries()) scored.push(scoredRow(part[index]!, verdict, options.config))
      options.onProgress?.(scored.length, rows.length)
    }
    return scored
  } finally {
    pool.dispose()
  }
}

function scoredRow(row: ScoreRow, scored: ScoredCompletion, config: RewardConfig): ScoredRow {
  if (row.offsets === undefined) return { id: row.id, scored }
  return { id: row.id, scored, tokens: tokenRewards(scored, row.offsets, config) }
}
