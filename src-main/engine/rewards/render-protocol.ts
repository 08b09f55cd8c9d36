// The messages between a reward worker and its render process. Pages travel as the JSON text the sandbox made.

export interface RenderLimits {
  readonly scriptMilliseconds: number
  readonly maximumElements: number
  readonly maximumRounds: number
}

export type RenderRequest =
  /** First message: the script that furnishes a sandbox (React, a document, the evaluator). */
  | { readonly kind: 'start'; readonly kit: string; readonly limits: RenderLimits }
  /** Opens a program in a new context; the one before is dropped. */
  | { readonly kind: 'open'; readonly id: number; readonly script: string }
  /** Mounts the open program afresh. */
  | { readonly kind: 'reopen'; readonly id: number }
  /** Clicks an element of the open page. */
  | { readonly kind: 'click'; readonly id: number; readonly element: number }

export type RenderAnswer =
  | { readonly kind: 'ready' }
  /** JSON of a RenderedPage. */
  | { readonly kind: 'page'; readonly id: number; readonly page: string }
  /** `starved`: it ran out of time while the machine was busy with other things, and may do better when asked again. */
  | { readonly kind: 'failed'; readonly id: number; readonly reason: string; readonly starved: boolean }
