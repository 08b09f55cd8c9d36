// Runs: listed, opened, started, steered, watched, compared, exported, tried.
import { z } from 'zod'
import { announcedEvents, errorEnvelopeSchema, evaluationResultSchema, rolloutRecordSchema } from '../events.ts'
import { liveSettingsSchema } from '../run-changes.ts'
import { metricSeriesSchema, queuedRunSchema, rolloutHeaderSchema, rolloutQuerySchema, runSnapshotSchema, runSummarySchema, searchAnswerSchema } from './run-data.ts'
import { nothing, pathSchema } from './shared.ts'

export type { RunSnapshot, RunSummary } from './run-data.ts'

const directory = z.string().min(1)
const runReference = z.object({ directory }).strict()
const step = z.number().int().nonnegative()
/** Names a piece of work for its progress and for `runs.cancel`; the page makes it up. */
const job = z.string().regex(/^[a-z0-9-]{1,64}$/)
/** A configuration as a form or file has it: checked by the engine before anything starts. */
const config = z.record(z.string(), z.unknown())

export const exportFormats = ['adapter', 'merged', 'gguf', 'onnx'] as const
export type ExportFormatName = (typeof exportFormats)[number]

/** What an export found when it opened its own files again. */
export const exportReportSchema = z.looseObject({
  format: z.string(),
  folder: z.string(),
  storedType: z.string(),
  comparison: z.object({ sequences: z.number(), tokens: z.number(), largestDifference: z.number(), meanDifference: z.number(), greedy: z.object({ prompts: z.number(), tokens: z.number(), equal: z.number() }) }),
  expectedMeanDifference: z.number(),
  notes: z.array(z.string()),
})
export type ExportReportData = z.infer<typeof exportReportSchema>

/** What one step of the longest case took; bytes and seconds. `plannedBytes` is null where there is no plan for the device. */
export const dryRunSchema = z.looseObject({
  rollouts: z.number(),
  promptTokens: z.number(),
  newTokens: z.number(),
  seconds: z.object({ load: z.number(), generate: z.number(), update: z.number(), step: z.number() }),
  updates: z.number(),
  peakBytes: z.number(),
  plannedBytes: z.number().nullable(),
  memoryBytes: z.number(),
})
export type DryRunData = z.infer<typeof dryRunSchema>

/** One completion of a prompt somebody typed. */
export const trialSchema = z.object({ text: z.string(), ids: z.array(z.number()), logprobs: z.array(z.number()), finish: z.string() })
export type Trial = z.infer<typeof trialSchema>

/** The start of a run, or its place in the queue. */
const startAnswer = z.union([z.object({ started: runSummarySchema }), z.object({ waiting: queuedRunSchema })])

export const runCalls = {
  'runs.list': { request: nothing, response: z.array(runSummarySchema) },
  'runs.open': { request: runReference, response: runSnapshotSchema },
  /** Metrics over a part of the run, thinned to the extremes of `columns` equal parts; all metrics where `names` is left out. */
  'runs.metrics': {
    request: z.object({ directory, names: z.array(z.string()).max(200).optional(), from: step, to: step, columns: z.number().int().min(10).max(4_000) }).strict(),
    response: z.array(metricSeriesSchema),
  },
  'runs.rollouts': { request: z.object({ directory, step }).strict(), response: z.array(rolloutHeaderSchema) },
  'runs.rollout': { request: z.object({ directory, step, order: step }).strict(), response: rolloutRecordSchema },
  /** Looks for rollouts from step `from` downwards (null: from the newest) for a moment; ask again from `next`. */
  'runs.search': { request: z.object({ directory, query: rolloutQuerySchema, from: step.nullable() }).strict(), response: searchAnswerSchema },
  /** A held-out result with its samples. */
  'runs.evaluation': { request: z.object({ directory, step }).strict(), response: evaluationResultSchema },

  'runs.startDemo': { request: z.object({ seed: z.number().int().nonnegative() }).strict(), response: runSummarySchema },
  /** Starts a run as configured, or lets it wait for the one that is in progress. */
  'runs.start': { request: z.object({ config }).strict(), response: startAnswer },
  'runs.queue': { request: nothing, response: z.array(queuedRunSchema) },
  /** Starts the run that waits longest, where the machine is free: after a start of the app nothing does so by itself. */
  'runs.startNext': { request: nothing, response: nothing },
  /** Runs that were at work when the app was closed and can be resumed; told once. */
  'runs.interrupted': { request: nothing, response: z.array(runSummarySchema) },
  'runs.unqueue': { request: z.object({ id: z.string() }).strict(), response: nothing },
  'runs.pause': { request: runReference, response: nothing },
  'runs.continue': { request: runReference, response: nothing },
  /** Finish the step, write a checkpoint, stop. */
  'runs.stop': { request: runReference, response: nothing },
  /** Stop at once; the step in progress is lost. */
  'runs.stopNow': { request: runReference, response: nothing },
  'runs.checkpoint': { request: runReference, response: nothing },
  /** Changes rates or weights of a run from its next step on, or from where it is resumed. What was changed is announced. */
  'runs.set': { request: z.object({ directory, settings: liveSettingsSchema }).strict(), response: nothing },
  /** Starts a new engine process from the newest checkpoint of a stopped, failed or killed run. */
  'runs.resume': { request: runReference, response: runSummarySchema },

  /** The configuration of the built-in demo, its paths absolute. */
  'runs.demoConfig': { request: nothing, response: z.object({ config }) },
  /** Asks for a file and reads a configuration from it; null when the person chose none. */
  'runs.importConfig': { request: nothing, response: z.object({ file: z.string(), config }).nullable() },
  /** A configuration that was dropped on the window, or chosen. */
  'runs.readConfig': { request: z.object({ path: pathSchema }).strict(), response: z.object({ file: z.string(), config }) },
  /** Asks for a place and writes the configuration there; null when the person chose none. */
  'runs.exportConfig': { request: z.object({ config }).strict(), response: z.object({ file: z.string() }).nullable() },
  /** Asks for a place and writes numbers there; null when the person chose none. */
  'runs.saveCsv': { request: z.object({ name: z.string().min(1).max(200), csv: z.string().max(50_000_000) }).strict(), response: z.object({ file: z.string() }).nullable() },
  /** Asks for a model folder, a prompt file or a reward file; null when the person chose none. */
  'runs.choosePath': { request: z.object({ what: z.enum(['model', 'prompts', 'reward']) }).strict(), response: z.object({ path: z.string() }).nullable() },
  /** Asks for a run folder from elsewhere and adds it to the list; null when the person chose none. */
  'runs.add': { request: nothing, response: runSummarySchema.nullable() },
  /** Adds a run folder that was dropped on the window to the list; one from outside the runs folder can be looked at only. */
  'runs.openFolder': { request: z.object({ path: pathSchema }).strict(), response: runSummarySchema },
  /** Tries one step of the longest case - longest prompt, completions of full length - and measures it; nothing is kept. `runs.cancel` ends it. */
  'runs.dryRun': { request: z.object({ config, job }).strict(), response: dryRunSchema },

  'runs.export': { request: z.object({ directory, format: z.enum(exportFormats), type: z.string().max(40).nullable(), job }).strict(), response: exportReportSchema },
  /** Writes one report about these runs: the run's own when there is one, a new file in the app's folder for several. */
  'runs.report': { request: z.object({ directories: z.array(directory).min(1).max(12), job }).strict(), response: z.object({ file: z.string() }) },
  /** Opens a report that `runs.report` wrote in the browser of the system. */
  'runs.openReport': { request: z.object({ file: z.string().min(1) }).strict(), response: nothing },
  /** Asks for a place and writes a report there as PDF; null when the person chose none. */
  'runs.savePdf': { request: z.object({ file: z.string().min(1) }).strict(), response: z.object({ file: z.string() }).nullable() },
  /** Shows a run's folder, or what was exported from it, in the file manager of the system. */
  'runs.showFolder': { request: z.object({ directory, folder: z.string().nullable() }).strict(), response: nothing },
  /** Lets the base model or the run's newest checkpoint answer a prompt. */
  'runs.try': {
    request: z.object({ directory, who: z.enum(['base', 'trained']), prompt: z.string().min(1).max(100_000), seed: z.number().int().nonnegative(), temperature: z.number().min(0).max(10), maxTokens: z.number().int().min(1).max(32_768), job }).strict(),
    response: trialSchema,
  },
  /** Stops a piece of work; its call then fails with code `stopped`. */
  'runs.cancel': { request: z.object({ job }).strict(), response: nothing },
} as const

/** What the page hears of a run: everything the engine says but the rollouts themselves, which it asks for when it shows them. */
export const pageRunEventSchema = z.discriminatedUnion('type', [...announcedEvents, z.object({ type: z.literal('rollouts-written'), step: z.number().int() })])
export type PageRunEvent = z.infer<typeof pageRunEventSchema>

export const runPageEvents = {
  'run.event': z.object({ directory: z.string(), event: pageRunEventSchema }),
  /** The runs folder holds other runs than before, or one of them has changed its state elsewhere. */
  'runs.changed': z.object({}),
  /** The waiting runs; `started` is one whose turn has come, `problem` why one could not start. */
  'runs.queued': z.object({ queue: z.array(queuedRunSchema), started: runSummarySchema.nullable(), problem: errorEnvelopeSchema.nullable() }),
  /** What a piece of work says it is doing. */
  'runs.progress': z.object({ job: z.string(), line: z.string() }),
} as const
