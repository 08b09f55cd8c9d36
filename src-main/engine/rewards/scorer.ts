// What every recipe's scorer is given and gives back.
import type { PromptRow, ScoredCompletion } from '../../contract/rewards.ts'

/** What is scored: a completion's text and the prompt row it answers. */
export interface ScoreItem {
  readonly id: string
  readonly row: PromptRow
  readonly text: string
}

/** Told before each piece of work, so that whoever watches can name the completion that never returns. */
export type Announce = (index: number, stage: ScoringStage) => void

export type ScoringStage = 'parse' | 'types' | 'lint' | 'render' | 'run'

/** One recipe at work: what a reward worker calls. */
export interface RecipeScorer {
  /** Scores a batch in order; `result` is called as soon as a completion is done. */
  score(items: readonly ScoreItem[], announce: Announce, result: (index: number, scored: ScoredCompletion) => void): Promise<void>
  dispose(): void
}
