// Every call and event between the page and the app: the table of contents of the desktop program.
// The preload, the app's router, the page's client and its test double are derived from this file.
import { z } from 'zod'
import { engineEventSchema, evaluationResultSchema, metricsRowSchema, rolloutRecordSchema, runStateSchema } from './events.ts'

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

const nothing = z.object({}).strict()
const runReference = z.object({ directory: z.string().min(1) }).strict()

/** Requests of the page, answered once. Results travel in an envelope: { ok: true, value } or { ok: false, error }. */
export const calls = {
  'runs.list': { request: nothing, response: z.array(runSummarySchema) },
  'runs.open': { request: runReference, response: runSnapshotSchema },
  'runs.startDemo': { request: z.object({ seed: z.number().int().nonnegative() }).strict(), response: runSummarySchema },
  'runs.pause': { request: runReference, response: nothing },
  'runs.continue': { request: runReference, response: nothing },
  'runs.stop': { request: runReference, response: nothing },
  /** Starts a new engine process from the newest checkpoint of a stopped, failed or killed run. */
  'runs.resume': { request: runReference, response: runSummarySchema },
} as const
export type CallName = keyof typeof calls
export type CallRequest<Name extends CallName> = z.infer<(typeof calls)[Name]['request']>
export type CallResponse<Name extends CallName> = z.infer<(typeof calls)[Name]['response']>

/** Events pushed to the page. They announce state; they never steer it. */
export const pageEvents = {
  'run.event': z.object({ directory: z.string(), event: engineEventSchema }),
} as const
export type PageEventName = keyof typeof pageEvents
export type PageEvent<Name extends PageEventName> = z.infer<(typeof pageEvents)[Name]>
