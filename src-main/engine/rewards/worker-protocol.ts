// The messages between the pool and a reward worker.
import type { RewardConfig } from '../../contract/reward-config.ts'
import type { ScoredCompletion } from '../../contract/rewards.ts'
import type { ScoreItem, ScoringStage } from './scorer.ts'

export type WorkerRequest =
  /** First message; answered by `ready` or `fatal`. */
  | { readonly kind: 'configure'; readonly config: RewardConfig }
  | { readonly kind: 'score'; readonly items: readonly ScoreItem[] }

export type WorkerAnswer =
  | { readonly kind: 'ready' }
  /** The worker cannot work on this machine; the text says why. */
  | { readonly kind: 'fatal'; readonly reason: string }
  /** Sent before each piece of work: if nothing more comes, this completion is the one to blame (-1: the batch). */
  | { readonly kind: 'working'; readonly index: number; readonly stage: ScoringStage }
  | { readonly kind: 'scored'; readonly index: number; readonly scored: ScoredCompletion }
  /** Every completion of the batch has been answered. */
  | { readonly kind: 'done' }
