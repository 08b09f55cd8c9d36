// Every call of the page passes here: known name, well-formed request, well-formed answer, errors in an envelope.
import { calls } from '../contract/calls.ts'
import type { CallHandlers, CallName } from '../contract/calls.ts'
import type { CallOutcome } from '../contract/bridge.ts'
import { toEnvelope, UserError } from '../contract/errors.ts'

function isCallName(name: unknown): name is CallName {
  return typeof name === 'string' && Object.hasOwn(calls, name)
}

/** Answers one call; never rejects. `name` and `request` come from the page and are not trusted. */
export async function answerCall(handlers: CallHandlers, name: unknown, request: unknown): Promise<CallOutcome<unknown>> {
  try {
    if (!isCallName(name)) throw new UserError({ code: 'usage', what: `There is no call named ${JSON.stringify(name)}.` })
    const parsed = calls[name].request.safeParse(request)
    if (!parsed.success) {
      const issue = parsed.error.issues[0]
      throw new UserError({ code: 'usage', what: `The request of ${name} is malformed.`, place: { field: issue?.path.join('.') ?? '' }, expected: issue?.message ?? '' })
    }
    // The request was parsed by the schema of this very name; the table of handlers is typed by the same names.
    const handler = handlers[name] as (request: unknown) => Promise<unknown>
    return { ok: true, value: calls[name].response.parse(await handler(parsed.data)) }
  } catch (error) {
    return { ok: false, error: toEnvelope(error) }
  }
}
