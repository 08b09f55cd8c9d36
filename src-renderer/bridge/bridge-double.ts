// A bridge without an app behind it, made from the same contract: what it is given and what it answers is checked by the contract's schemas.
import { calls, pageEvents } from '../../src-main/contract/calls.ts'
import type { CallName, CallRequest, CallResponse, PageEvent, PageEventName } from '../../src-main/contract/calls.ts'
import type { Place } from '../../src-main/contract/calls/files.ts'
import type { CallOutcome, SatchelBridge } from '../../src-main/contract/bridge.ts'
import { toEnvelope } from '../../src-main/contract/errors.ts'

/** What a test drops: the double says what it is by its name. */
export type Offer = (names: readonly string[]) => Place[]

export type Answers = { [Name in CallName]?: (request: CallRequest<Name>) => CallResponse<Name> | Promise<CallResponse<Name>> }

export interface BridgeDouble extends SatchelBridge {
  /** Every call made so far. */
  readonly made: readonly { readonly name: CallName; readonly request: unknown }[]
  /** Announces an event to the subscribers. */
  announce<Name extends PageEventName>(name: Name, payload: PageEvent<Name>): void
  /** How many subscriptions are open. */
  subscriptions(): number
}

/** Answers each call by the given function; a thrown UserError becomes the failed outcome it would be in the app. */
export function createBridgeDouble(answers: Answers, offer: Offer = () => []): BridgeDouble {
  const made: { name: CallName; request: unknown }[] = []
  const listeners = new Set<{ name: PageEventName; hear: (payload: never) => void }>()
  return {
    made,
    async call<Name extends CallName>(name: Name, request: CallRequest<Name>): Promise<CallOutcome<CallResponse<Name>>> {
      made.push({ name, request: calls[name].request.parse(request) })
      try {
        const answer = answers[name]
        if (answer === undefined) throw new Error(`The double has no answer for ${name}.`)
        return { ok: true, value: calls[name].response.parse(await answer(request)) as CallResponse<Name> }
      } catch (error) {
        return { ok: false, error: toEnvelope(error) }
      }
    },
    offer: async (files) => ({ ok: true, value: offer(files.map((file) => ('name' in file ? String(file.name) : ''))) }),
    subscribe(name, listener) {
      const entry = { name, hear: listener as (payload: never) => void }
      listeners.add(entry)
      return () => {
        listeners.delete(entry)
      }
    },
    announce(name, payload) {
      const checked = pageEvents[name].parse(payload)
      for (const entry of listeners) if (entry.name === name) entry.hear(checked as never)
    },
    subscriptions: () => listeners.size,
  }
}
