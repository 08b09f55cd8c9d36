// The one object the page gets from the preload, and the envelope answers travel in.
import type { CallName, CallRequest, CallResponse, PageEvent, PageEventName } from './calls.ts'
import type { Place } from './calls/files.ts'
import type { ErrorEnvelope } from './errors.ts'

/** The answer to a call. Errors are values here: an exception crossing the border would lose everything but its message. */
export type CallOutcome<Value> = { readonly ok: true; readonly value: Value } | { readonly ok: false; readonly error: ErrorEnvelope }

export interface SatchelBridge {
  /** Asks the app; never rejects for an expected failure. */
  call<Name extends CallName>(name: Name, request: CallRequest<Name>): Promise<CallOutcome<CallResponse<Name>>>
  /** Hands dropped files to the app, which says what they are. Their paths are read where the page cannot reach, so it can name no others. */
  offer(files: readonly object[]): Promise<CallOutcome<Place[]>>
  /** Listens until the returned function is called. */
  subscribe<Name extends PageEventName>(name: Name, listener: (payload: PageEvent<Name>) => void): () => void
}

/** The only channels between page and app. `offerChannel` carries paths, and only the preload can speak on it. */
export const callChannel = 'satchel.call'
export const offerChannel = 'satchel.offer'
export const eventChannel = 'satchel.event'
