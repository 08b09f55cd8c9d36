// The server of a judge as the settings keep it: tried with one question, and taken over by new rewards that want a judge.
import { z } from 'zod'
import { judgeServerSchema } from '../judge-config.ts'
import { taskSchema } from './shared.ts'

export const judgeTrialSchema = z.object({
  /** The model that answered. */
  model: z.string(),
  /** Seconds from the first request to the answer; a server may load its model meanwhile. */
  seconds: z.number(),
})
export type JudgeTrial = z.infer<typeof judgeTrialSchema>

/** Done by the tools process. Prompts and completions are no part of it: one word is asked for one word. */
export const judgeCalls = {
  'judge.try': { request: z.object({ server: judgeServerSchema, task: taskSchema }).strict(), response: judgeTrialSchema },
} as const
