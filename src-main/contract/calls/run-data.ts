// What the page is told of a run's past: thinned metrics, headers of rollouts, samples, exports, the log.
import { z } from 'zod'
import { evaluationResultSchema, metricsRowSchema, rolloutRecordSchema, runStateSchema } from '../events.ts'
import { runChangeSchema } from '../run-changes.ts'

export const runSummarySchema = z.object({
  name: z.string(),
  directory: z.string(),
  state: runStateSchema,
  step: z.number().int(),
  totalSteps: z.number().int(),
  /** Mean rewards at up to 40 places of the run, first to last; absent where they are not at hand. */
  spark: z.array(z.number()).optional(),
  /** When it began (ISO 8601), the name of its estimator, its seed and its base model, where run.json says so. */
  created: z.string().optional(),
  estimator: z.string().optional(),
  seed: z.number().optional(),
  model: z.string().optional(),
  /** It lies outside the runs folder: it can be looked at, and nothing in it is changed. */
  outside: z.boolean().optional(),
})
export type RunSummary = z.infer<typeof runSummarySchema>

/** One metric over the steps: two arrays of the same length, steps ascending; steps where it is not known are left out. */
export const metricSeriesSchema = z.object({ name: z.string(), steps: z.array(z.number()), values: z.array(z.number()) })
export type MetricSeries = z.infer<typeof metricSeriesSchema>

/** What a list shows of a rollout; `order` names it within its step. */
export const rolloutHeaderSchema = rolloutRecordSchema
  .pick({ step: true, promptId: true, prompt: true, index: true, reward: true, outcome: true, finish: true, stages: true, requirementScore: true, auditPassed: true, sources: true })
  .extend({ order: z.number().int().nonnegative(), tokens: z.number().int(), flags: z.number().int(), excerpt: z.string(), advantage: z.number(), entropy: z.number() })
export type RolloutHeader = z.infer<typeof rolloutHeaderSchema>

export const rolloutFilters = ['all', 'passed', 'failed', 'hacks', 'cut-off'] as const
/** Which rollouts are looked for: a text in completion, prompt or diagnostics ('' for any), one prompt (null for any), and a kind. */
export const rolloutQuerySchema = z.strictObject({ text: z.string().max(500), promptId: z.string().nullable(), only: z.enum(rolloutFilters) })
export type RolloutQuery = z.infer<typeof rolloutQuerySchema>

/** `looked`: files read for this answer. `next`: the step to go on from, null at the end. */
export const searchAnswerSchema = z.object({ hits: z.array(rolloutHeaderSchema), looked: z.number().int(), next: z.number().int().nullable() })
export type SearchAnswer = z.infer<typeof searchAnswerSchema>

/** A row of exports.jsonl. */
export const exportNoteSchema = z.object({
  time: z.string(),
  step: z.number().int(),
  format: z.string(),
  folder: z.string(),
  storedType: z.string(),
  comparison: z.object({
    sequences: z.number(),
    tokens: z.number(),
    largestDifference: z.number(),
    meanDifference: z.number(),
    greedy: z.object({ prompts: z.number(), tokens: z.number(), equal: z.number() }),
  }),
})
export type ExportNote = z.infer<typeof exportNoteSchema>

/** Something that happened to a run, when (ISO 8601), and after which step; the step is null where it belongs to none. */
export const logEntrySchema = z.object({ time: z.string(), step: z.number().int().nullable(), kind: z.enum(['state', 'checkpoint', 'evaluation', 'export', 'change', 'warning', 'error']), text: z.string() })
export type LogEntry = z.infer<typeof logEntrySchema>

/** What the page needs to draw a run it has not watched from the start; rebuilt from the run folder alone, the log completed by what the app heard. */
export const runSnapshotSchema = z.object({
  summary: runSummarySchema,
  /** run.json as it lies on disk: a configuration and what it says of its own making. */
  description: z.record(z.string(), z.unknown()),
  /** Every metric over the whole run, thinned. */
  series: z.array(metricSeriesSchema),
  /** The newest row; null before the first step. */
  newestRow: metricsRowSchema.nullable(),
  /** Held-out results; their samples are asked for one by one. */
  evaluations: z.array(evaluationResultSchema),
  /** Steps that have rollouts, as ranges. */
  rolloutSteps: z.array(z.tuple([z.number().int(), z.number().int()])),
  checkpoints: z.array(z.number().int()),
  /** What was changed while it was in progress, in the order it was. */
  changes: z.array(runChangeSchema),
  exports: z.array(exportNoteSchema),
  log: z.array(logEntrySchema),
  message: z.string(),
})
export type RunSnapshot = z.infer<typeof runSnapshotSchema>

/** A run that waits for its turn. */
export const queuedRunSchema = z.object({ id: z.string(), name: z.string(), what: z.enum(['start', 'resume']), detail: z.string() })
export type QueuedRun = z.infer<typeof queuedRunSchema>
