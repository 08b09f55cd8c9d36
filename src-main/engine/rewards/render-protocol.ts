// The messages between a reward worker and its locked-down process. What a context says travels as the JSON text it made.

export interface RenderLimits {
  readonly scriptMilliseconds: number
  readonly maximumElements: number
  readonly maximumRounds: number
}

/** What a page can be asked. */
export type PageRequest =
  /** Opens a program in a new context; the one before is dropped. */
  | { readonly kind: 'open'; readonly id: number; readonly script: string }
  /** Mounts the open program afresh. */
  | { readonly kind: 'reopen'; readonly id: number }
  /** Clicks an element of the open page. */
  | { readonly kind: 'click'; readonly id: number; readonly element: number }

/** What a script can be asked. */
export type ScriptRequest =
  /** Loads a program into a new context; the one before is dropped. */
  | { readonly kind: 'load'; readonly id: number; readonly script: string; readonly milliseconds: number }
  /** Calls the loaded program, or the kit itself where it needs none. */
  | { readonly kind: 'call'; readonly id: number; readonly input: string; readonly milliseconds: number }

export type RenderRequest =
  /** First message to a process that shows pages: the script that furnishes a sandbox (React, a document, the evaluator). */
  | { readonly kind: 'start'; readonly kit: string; readonly limits: RenderLimits }
  /** First message to a process that runs scripts. */
  | { readonly kind: 'start-scripts'; readonly kit: string }
  | PageRequest
  | ScriptRequest

export type RenderAnswer =
  | { readonly kind: 'ready' }
  /** JSON of a RenderedPage. */
  | { readonly kind: 'page'; readonly id: number; readonly page: string }
  /** What a load or a call gave. */
  | { readonly kind: 'value'; readonly id: number; readonly text: string }
  /**
   * `starved`: it ran out of time while the machine was busy with other things, and may do better when asked again.
   * `line`: where a script that ran out of time last was.
   */
  | { readonly kind: 'failed'; readonly id: number; readonly reason: string; readonly starved: boolean; readonly timedOut?: boolean; readonly line?: number }
