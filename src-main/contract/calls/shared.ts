// Forms that calls of several features share.
import { z } from 'zod'

/** The request, or the answer, of a call that has nothing to say. */
export const nothing = z.object({}).strict()

/** One feature's calls: request and response by name. */
export type CallTable = Readonly<Record<string, { readonly request: z.ZodType; readonly response: z.ZodType }>>

/** The functions that answer a feature's calls; the compiler demands one for each. */
export type HandlersOf<Table extends CallTable> = {
  readonly [Name in keyof Table]: (request: z.infer<Table[Name]['request']>) => Promise<z.infer<Table[Name]['response']>>
}

/** Path of a file or folder. The app takes only paths that came from its own dialogs, from drops, or from its own answers. */
export const pathSchema = z.string().min(1).max(4096)

/** Name the page gives to long work: progress is announced under it, and `tasks.cancel` ends it. */
export const taskSchema = z.string().regex(/^[a-z0-9-]{1,64}$/)
