// What the app and its tools process say to each other. The tools process works on models, data and plans, so that the app computes nothing
// and a model or a file that brings it down costs one answer.
import { z } from 'zod'
import { datasetCalls, datasetConversion } from './calls/datasets.ts'
import { placeSchema } from './calls/files.ts'
import { judgeCalls } from './calls/judge.ts'
import { machineCalls } from './calls/machine.ts'
import { modelCalls } from './calls/models.ts'
import { pageToolCalls } from './calls/pages.ts'
import { rewardToolCalls } from './calls/rewards.ts'
import { pathSchema } from './calls/shared.ts'
import { progressSchema } from './calls/tasks.ts'
import { errorEnvelopeSchema } from './events.ts'

/** Calls of the page that the app hands on as they are, once it has looked at their paths. */
export const forwardedCalls = { ...judgeCalls, ...machineCalls, ...modelCalls, ...datasetCalls } as const
export type ForwardedName = keyof typeof forwardedCalls

/** Everything the tools process can be asked. */
export const toolMethods = {
  ...forwardedCalls,
  'files.identify': { request: z.object({ path: pathSchema }).strict(), response: placeSchema },
  'datasets.convert': datasetConversion,
  // Their paths stand inside what is sent: app/reward-services.ts looks at them.
  ...rewardToolCalls,
  // Of a page that app/page-services.ts has found.
  ...pageToolCalls,
} as const
export type ToolName = keyof typeof toolMethods
export type ToolRequest<Name extends ToolName> = z.infer<(typeof toolMethods)[Name]['request']>
export type ToolResponse<Name extends ToolName> = z.infer<(typeof toolMethods)[Name]['response']>

/** App to tools process. `id` is chosen by the app and never used twice in one process. */
export const toolMessageSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('request'), id: z.int(), method: z.string(), parameters: z.unknown() }),
  z.strictObject({ type: z.literal('cancel'), id: z.int() }),
])
export type ToolMessage = z.infer<typeof toolMessageSchema>

/** Tools process to app. Each request is answered exactly once. */
export const toolReplySchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('progress'), id: z.int(), progress: progressSchema }),
  z.object({ type: z.literal('answer'), id: z.int(), outcome: z.discriminatedUnion('ok', [z.object({ ok: z.literal(true), value: z.unknown() }), z.object({ ok: z.literal(false), error: errorEnvelopeSchema })]) }),
])
export type ToolReply = z.infer<typeof toolReplySchema>
