// What every tool is given beside its parameters: a way to tell how far it is, and a signal that ends it.
import { setImmediate as breathe } from 'node:timers/promises'
import type { Progress } from '../../contract/calls/tasks.ts'
import { UserError } from '../../contract/errors.ts'
import type { ToolName, ToolRequest, ToolResponse } from '../../contract/tools.ts'

export interface ToolWork {
  readonly signal: AbortSignal
  /** Tells the progress, at most ten times a second. */
  tell(progress: Progress): void
}

export type Tool<Name extends ToolName> = (parameters: ToolRequest<Name>, work: ToolWork) => Promise<ToolResponse<Name>>

/** Tools of a part of the methods. */
export type Tools<Names extends ToolName> = { readonly [Name in Names]: Tool<Name> }

/** @throws UserError `stopped` once the work was cancelled */
export function refuseCancelled({ signal }: ToolWork): void {
  if (signal.aborted) throw new UserError({ code: 'stopped', what: 'stopped before it was done' })
}

/** A beat for work over the bytes of a file: tells, lets messages in (a cancel among them), and ends the work when it was cancelled. */
export function byteBeat(work: ToolWork, what: string): (done: number, total: number) => Promise<void> {
  return async (done, total) => {
    work.tell({ what, done, total, unit: 'bytes' })
    await breathe()
    refuseCancelled(work)
  }
}
