// What a reward of your own is given and gives back. In a .ts file: import type { RewardFunction } from 'satchel'
// Everything runs without files, network and timers; one call may take as long as reward.callMilliseconds says.

/** One completion to judge. */
export interface RewardInput {
  /** The text the model wrote. */
  readonly completion: string
  /** The prompt it answers. */
  readonly prompt: string
  /** The row of the prompt file; fields of your own go under `data`. */
  readonly row: {
    readonly id: string
    readonly system?: string
    readonly answer?: string
    readonly reference?: string
    readonly data?: Readonly<Record<string, unknown>>
  }
}

/** A stretch of the completion that is worse (negative) or better (positive) than the rest. */
export interface Span {
  /** Positions as String.prototype.slice takes them, the end not included. */
  readonly start: number
  readonly end: number
  readonly value: number
  readonly message?: string
}

/** A score for the whole completion, spans, or both. */
export interface Verdict {
  /** Finite, and between reward.minimum and reward.maximum; 0 where left out. */
  readonly global?: number
  readonly spans?: readonly Span[]
  /** Whether the completion does what was asked; where left out it does from reward.passAt on. */
  readonly passed?: boolean
  /** Names of checks it fails although the score is good. They never enter the reward and are counted as the hack rate. */
  readonly audit?: readonly string[]
}

/** The default export of a reward file: a number, or a verdict; a promise of either will do. */
export type RewardFunction = (input: RewardInput) => number | Verdict | Promise<number | Verdict>
