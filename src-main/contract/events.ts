// What an engine process says and hears. The same messages cross the child-process channel and, through the app, reach the page.
import { z } from 'zod'
import { liveSettingsSchema, runChangeSchema } from './run-changes.ts'

export const runStateSchema = z.enum(['starting', 'running', 'paused', 'stopping', 'stopped', 'done', 'failed'])
export type RunState = z.infer<typeof runStateSchema>

export const phaseSchema = z.enum(['load', 'evaluate', 'generate', 'score', 'update', 'checkpoint'])
export type Phase = z.infer<typeof phaseSchema>

export const errorEnvelopeSchema = z.object({
  code: z.enum(['usage', 'bad-input', 'not-found', 'newer-version', 'storage', 'network', 'device', 'stopped', 'engine']),
  what: z.string(),
  place: z.object({ file: z.string().optional(), row: z.number().optional(), field: z.string().optional() }),
  expected: z.string(),
  remedy: z.string(),
})

/** One row of metrics.jsonl: `step` (1-based) and numbers under the field's usual names; null where undefined (never NaN). */
export const metricsRowSchema = z.object({ step: z.number().int(), values: z.record(z.string(), z.number().nullable()) })
export type MetricsRow = z.infer<typeof metricsRowSchema>

/** A rollout as stored and shown. Token arrays have one entry for each sampled id. */
export const rolloutRecordSchema = z.object({
  step: z.number().int(),
  promptId: z.string(),
  prompt: z.string(),
  index: z.number().int(),
  text: z.string(),
  ids: z.array(z.number().int()),
  /** UTF-16 start of each token in `text`; tokens of special ids are empty. */
  starts: z.array(z.number().int()),
  ends: z.array(z.number().int()),
  logprobs: z.array(z.number()),
  entropies: z.array(z.number()),
  tokenRewards: z.array(z.number()),
  advantages: z.array(z.number()),
  /** Probability of each token under the policy the last update of the step began from, over that it was drawn with. Where a step makes one update it is 1, and not kept. */
  ratios: z.array(z.number()).optional(),
  reward: z.number(),
  outcome: z.number(),
  finish: z.enum(['stop', 'length']),
  stages: z.object({ parse: z.boolean(), types: z.boolean(), bundle: z.boolean(), render: z.boolean() }),
  requirementScore: z.number(),
  auditPassed: z.boolean(),
  sources: z.array(z.object({ source: z.string(), global: z.number(), failure: z.string().optional() })),
  spans: z.array(z.object({ start: z.number(), end: z.number(), value: z.number(), source: z.string(), message: z.string() })),
})
export type RolloutRecord = z.infer<typeof rolloutRecordSchema>

const rateSchema = z.object({ rate: z.number(), low: z.number(), high: z.number(), n: z.number().int() })
/** Held-out result. Rates carry their 95 % Wilson interval. */
export const evaluationResultSchema = z.object({
  step: z.number().int(),
  prompts: z.number().int(),
  samples: z.number().int(),
  temperature: z.number(),
  stages: z.object({ parse: rateSchema, types: rateSchema, bundle: rateSchema, render: rateSchema }),
  /** Compiles = all four stages. */
  compile: rateSchema,
  requirementScore: z.number(),
  /** Share of completions that pass the reward (compile, all requirements) but fail the sealed audit. */
  hackRate: rateSchema,
  passAtK: z.record(z.string(), z.number()),
  reward: z.number(),
  meanLength: z.number(),
  samplesShown: z.array(z.object({ promptId: z.string(), prompt: z.string(), text: z.string(), compiles: z.boolean(), requirementScore: z.number() })),
})
export type EvaluationResult = z.infer<typeof evaluationResultSchema>

/** What an engine says and the app hands on to the page as it is. */
export const announcedEvents = [
  z.object({ type: z.literal('state'), state: runStateSchema, step: z.number().int(), totalSteps: z.number().int(), secondsLeft: z.number().nullable(), runDirectory: z.string(), message: z.string() }),
  z.object({ type: z.literal('progress'), phase: phaseSchema, step: z.number().int(), done: z.number(), total: z.number() }),
  z.object({ type: z.literal('metrics'), row: metricsRowSchema }),
  z.object({ type: z.literal('evaluation'), result: evaluationResultSchema }),
  z.object({ type: z.literal('checkpoint'), step: z.number().int(), path: z.string() }),
  /** Fields of the configuration that were changed while the run was in progress. */
  z.object({ type: z.literal('changed'), changes: z.array(runChangeSchema) }),
  z.object({ type: z.literal('warning'), message: z.string() }),
  z.object({ type: z.literal('error'), error: errorEnvelopeSchema }),
] as const

export const engineEventSchema = z.discriminatedUnion('type', [
  ...announcedEvents,
  z.object({ type: z.literal('rollouts'), rollouts: z.array(rolloutRecordSchema) }),
])
export type EngineEvent = z.infer<typeof engineEventSchema>

/** What a watcher may ask of a running engine; it is obeyed between two calls into the runtime. */
export const engineCommandSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('pause') }),
  z.object({ type: z.literal('resume') }),
  /** Finish the step, write a checkpoint, stop. */
  z.object({ type: z.literal('stop') }),
  /** Stop at the next call boundary; the step in progress is lost. */
  z.object({ type: z.literal('stop-now') }),
  z.object({ type: z.literal('checkpoint') }),
  /** Change rates or weights from the next step on; what is refused is told as a warning. */
  z.object({ type: z.literal('set'), settings: liveSettingsSchema }),
])
export type EngineCommand = z.infer<typeof engineCommandSchema>

/**
 * The first message an engine process hears: what to run. Everything after it is an EngineCommand.
 * The first `state` event answers it and names the run folder. The process exits with code 0 once it has reported `stopped` or `done`,
 * and with another code after `failed`. Before the start message a closed channel ends it; afterwards it outlives its watcher and is
 * watched and steered through the run folder (status.json, control).
 */
export const engineStartSchema = z.union([
  z.strictObject({ type: z.literal('start'), demo: z.strictObject({ seed: z.number().int().nonnegative(), runsDirectory: z.string().min(1) }) }),
  z.strictObject({ type: z.literal('start'), runDirectory: z.string().min(1), resume: z.literal(true) }),
  /** A new run in a new folder of `runsDirectory`, named after the configuration; the engine checks the configuration. */
  z.strictObject({ type: z.literal('start'), config: z.record(z.string(), z.unknown()), runsDirectory: z.string().min(1) }),
])
export type EngineStart = z.infer<typeof engineStartSchema>
