// Runs: listed, opened, started, steered, watched.
import { z } from 'zod'
import { engineEventSchema, evaluationResultSchema, metricsRowSchema, rolloutRecordSchema, runStateSchema } from '../events.ts'
import { nothing } from './shared.ts'

export const runSummarySchema = z.object({
  name: z.string(),
  directory: z.string(),
  state: runStateSchema,
  step: z.number().int(),
  totalSteps: z.number().int(),
})
export type RunSummary = z.infer<typeof runSummarySchema>

/** What the page needs to draw a run it has not watched from the start; rebuilt from the run folder alone. */
export const runSnapshotSchema = z.object({
  summary: runSummarySchema,
  metrics: z.array(metricsRowSchema),
  evaluations: z.array(evaluationResultSchema),
  newestRollouts: z.array(rolloutRecordSchema),
  message: z.string(),
})
export type RunSnapshot = z.infer<typeof runSnapshotSchema>

const runReference = z.object({ directory: z.string().min(1) }).strict()

export const runCalls = {
  'runs.list': { request: nothing, response: z.array(runSummarySchema) },
  'runs.open': { request: runReference, response: runSnapshotSchema },
  'runs.startDemo': { request: z.object({ seed: z.number().int().nonnegative() }).strict(), response: runSummarySchema },
  'runs.pause': { request: runReference, response: nothing },
  'runs.continue': { request: runReference, response: nothing },
  'runs.stop': { request: runReference, response: nothing },
  /** Starts a new engine process from the newest checkpoint of a stopped, failed or killed run. */
  'runs.resume': { request: runReference, response: runSummarySchema },
} as const

export const runPageEvents = {
  'run.event': z.object({ directory: z.string(), event: engineEventSchema }),
} as const
