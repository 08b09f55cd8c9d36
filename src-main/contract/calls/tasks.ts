// Long work: how far it is, and ending it early.
import { z } from 'zod'
import { nothing, taskSchema } from './shared.ts'

export const progressSchema = z.object({
  /** What is being done, in words: a file, a phase. */
  what: z.string(),
  done: z.number(),
  /** 0 where it is not known. */
  total: z.number(),
  unit: z.enum(['bytes', 'rows', 'steps']),
})
export type Progress = z.infer<typeof progressSchema>

export const taskCalls = {
  /** The call the task belongs to then fails with the code `stopped`. Unknown and finished tasks are left alone. */
  'tasks.cancel': { request: z.object({ task: taskSchema }).strict(), response: nothing },
} as const

export const taskPageEvents = {
  'task.progress': progressSchema.extend({ task: taskSchema, secondsLeft: z.number().nullable() }),
} as const
