// What lies in a run folder and how anyone reads it: a watcher, a report, an export. Reading takes no lock and changes nothing.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { constants, gunzip } from 'node:zlib'
import { z } from 'zod'
import { UserError } from '../../contract/errors.ts'
import { evaluationResultSchema, metricsRowSchema, rolloutRecordSchema, runStateSchema } from '../../contract/events.ts'
import type { EvaluationResult, MetricsRow, RolloutRecord } from '../../contract/events.ts'
import { configAtStep, runChangeSchema } from '../../contract/run-changes.ts'
import type { RunChange } from '../../contract/run-changes.ts'
import { runConfigSchema } from '../../contract/run-config.ts'
import type { RunConfig } from '../../contract/run-config.ts'
import { checkFile, fileErrorCode, readJsonFile } from '../models/json-file.ts'

/** Format of run.json this version writes; a higher number is refused. */
export const runFormat = 1

const environmentSchema = z.object({ satchel: z.string(), node: z.string(), onnxruntime: z.string(), platform: z.string() })
const lengthsSchema = z.object({
  /** Tokens of the longest prompt plus completion. */
  longest: z.number().int().positive(),
  /** Which factors of LongRoPE the policy was trained with; whoever uses it must take the same. 'short' without LongRoPE. */
  rotaryRegime: z.enum(['short', 'long']),
})
const originSchema = z.object({
  environment: environmentSchema,
  /** sha256 (hex) of the base model, of the prompt file and, where there is one, of the file with a custom reward. */
  hashes: z.object({ model: z.string(), data: z.string(), reward: z.string().exactOptional() }),
  /** ISO 8601, UTC. */
  created: z.string(),
  lengths: lengthsSchema.optional(),
})

/** Versions a run was made with. */
export type RunEnvironment = z.infer<typeof environmentSchema>

/** The lengths a run was made for, found when its prompts were encoded. Runs of older versions do not say. */
export type RunLengths = z.infer<typeof lengthsSchema>

/** What run.json holds. On disk the configuration's fields stand at the top, so that run.json is itself a configuration. */
export interface RunDescription extends z.infer<typeof originSchema> {
  readonly config: RunConfig
}

/** What status.json holds: the last sign of life of the engine at work on the folder. */
export const runStatusSchema = z.object({
  state: runStateSchema,
  step: z.number().int(),
  totalSteps: z.number().int(),
  pid: z.number().int(),
  host: z.string(),
  /** ISO 8601, UTC; renewed every few seconds while the engine lives. */
  time: z.string(),
  message: z.string(),
})
export type RunStatus = z.infer<typeof runStatusSchema>

/** Paths inside a run folder. Steps are written with at least six digits so that names sort. */
export function runFiles(directory: string) {
  return {
    description: join(directory, 'run.json'),
    metrics: join(directory, 'metrics.jsonl'),
    changes: join(directory, 'changes.jsonl'),
    rollouts: join(directory, 'rollouts'),
    rolloutsOf: (step: number) => join(directory, 'rollouts', `${stepName(step)}.jsonl.gz`),
    evaluations: join(directory, 'eval'),
    evaluationOf: (step: number) => join(directory, 'eval', `${stepName(step)}.json`),
    checkpoints: join(directory, 'checkpoints'),
    checkpointOf: (step: number) => join(directory, 'checkpoints', stepName(step)),
    status: join(directory, 'status.json'),
    lock: join(directory, 'engine.lock'),
    report: join(directory, 'report.html'),
  } as const
}

/** A step as it appears in file names. */
export function stepName(step: number): string {
  return String(step).padStart(6, '0')
}

/**
 * Checks a configuration and fills in every default.
 * @param file named in errors
 * @throws UserError `newer-version` or `bad-input` naming the field
 */
export function parseRunConfig(value: unknown, file: string): RunConfig {
  refuseNewer(value, file)
  return checkFile(runConfigSchema, value, file, 'Correct the field; every field is explained by `satchel train --fields`.')
}

/**
 * Reads run.json.
 * @throws UserError `not-found` when there is none, `newer-version`, or `bad-input` naming the field
 */
export async function readRunDescription(directory: string): Promise<RunDescription> {
  const file = runFiles(directory).description
  const value = await readJsonFile(file, 'Choose a run folder: the folder that holds run.json.')
  refuseNewer(value, file)
  const remedy = 'Copy run.json from a backup; a run cannot be continued without it.'
  const { environment, hashes, created, lengths, ...fields } = checkFile(z.looseObject({ ...originSchema.shape }), value, file, remedy)
  return { config: checkFile(runConfigSchema, fields, file, remedy), environment, hashes, created, lengths }
}

/** run.json's text for a description. */
export function describeAsJson({ config, ...origin }: RunDescription): string {
  return `${JSON.stringify({ ...config, ...origin }, null, 2)}\n`
}

function refuseNewer(value: unknown, file: string): void {
  const found = z.object({ version: z.number() }).safeParse(value)
  if (!found.success || found.data.version <= runFormat) return
  throw new UserError({
    code: 'newer-version',
    what: `this was written by a newer Satchel (run format ${found.data.version})`,
    place: { file, field: 'version' },
    expected: `format ${runFormat}`,
    remedy: 'Open it with that version, or update Satchel.',
  })
}

/** Everything of one kind a folder holds, and how many entries could not be read. */
export interface Reading<Value> {
  readonly values: readonly Value[]
  readonly unreadable: number
}

/** Rows of metrics.jsonl, one a step: where a step was written twice the later row counts. */
export async function readMetrics(directory: string): Promise<Reading<MetricsRow>> {
  const { values, unreadable } = parseJsonLines(await readTextOrNothing(runFiles(directory).metrics), metricsRowSchema)
  const kept: MetricsRow[] = []
  for (const row of values) {
    while ((kept.at(-1)?.step ?? -Infinity) >= row.step) kept.pop()
    kept.push(row)
  }
  return { values: kept, unreadable }
}

/** What was changed while the run was in progress, in the order it was changed; nothing where nothing was. */
export async function readChanges(directory: string): Promise<Reading<RunChange>> {
  return parseJsonLines(await readTextOrNothing(runFiles(directory).changes), runChangeSchema)
}

/**
 * The rows of a changes.jsonl that somebody names.
 * @throws UserError `not-found`, or `bad-input` where a row is damaged
 */
export async function readChangesFile(file: string): Promise<RunChange[]> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new UserError({ code: 'not-found', what: 'there is no such file of changes', place: { file }, expected: 'changes.jsonl of a run' }, { cause: error })
  })
  const { values, unreadable } = parseJsonLines(text.endsWith('\n') ? text : `${text}\n`, runChangeSchema)
  if (unreadable > 0) throw new UserError({ code: 'bad-input', what: unreadable === 1 ? '1 row cannot be read' : `${unreadable} rows cannot be read`, place: { file }, expected: 'rows with step, field, from, to and time, as changes.jsonl of a run has them' })
  return values
}

/**
 * The configuration a step of a run is done with.
 * @param config what the run began with
 * @throws UserError `bad-input` naming the field of changes.jsonl whose value is out of range
 */
export function stepConfig(directory: string, config: RunConfig, changes: readonly RunChange[], step: number): RunConfig {
  const changed = configAtStep(config, changes, step)
  return changes.length === 0 ? config : checkFile(runConfigSchema, changed, runFiles(directory).changes, 'Remove the row from changes.jsonl, or correct its value.')
}

/** Held-out results in the order of their steps. */
export async function readEvaluations(directory: string): Promise<Reading<EvaluationResult>> {
  const folder = runFiles(directory).evaluations
  const values: EvaluationResult[] = []
  let unreadable = 0
  for (const name of await namesIn(folder)) {
    if (!/^\d+\.json$/.test(name)) continue
    const parsed = evaluationResultSchema.safeParse(parseJson(await readTextOrNothing(join(folder, name))))
    if (parsed.success) values.push(parsed.data)
    else unreadable += 1
  }
  return { values: values.toSorted((a, b) => a.step - b.step), unreadable }
}

/** Rollouts of one step, or of the newest step that has any. */
export async function readRollouts(directory: string, step?: number): Promise<Reading<RolloutRecord>> {
  const folder = runFiles(directory).rollouts
  const names = step === undefined ? (await namesIn(folder)).filter((name) => /^\d+\.jsonl(\.gz)?$/.test(name)).toReversed() : [`${stepName(step)}.jsonl.gz`]
  for (const name of names) {
    const reading = parseJsonLines(await readTextOrNothing(join(folder, name)), rolloutRecordSchema)
    if (reading.values.length > 0) return reading
  }
  return { values: [], unreadable: 0 }
}

/** The last sign of life, or undefined when no engine has written one. */
export async function readStatus(directory: string): Promise<RunStatus | undefined> {
  const parsed = runStatusSchema.safeParse(parseJson(await readTextOrNothing(runFiles(directory).status)))
  return parsed.success ? parsed.data : undefined
}

/** Names in a folder, sorted; none when the folder is not there. */
export async function namesIn(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).toSorted()
  } catch (error) {
    if (fileErrorCode(error) === 'ENOENT') return []
    throw error
  }
}

function parseJsonLines<Value>(text: string, schema: z.ZodType<Value>): { values: Value[]; unreadable: number } {
  const lines = text.split('\n')
  const values: Value[] = []
  let unreadable = 0
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '') continue
    const parsed = schema.safeParse(parseJson(line))
    if (parsed.success) values.push(parsed.data)
    // A last line without its line end was being written when the writer was killed.
    else if (index < lines.length - 1) unreadable += 1
  }
  return { values, unreadable }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Text of a file, unpacked when it is gzip; '' when it is not there. */
async function readTextOrNothing(path: string): Promise<string> {
  let bytes: Buffer
  try {
    bytes = await readFile(path)
  } catch (error) {
    if (fileErrorCode(error) === 'ENOENT') return ''
    throw error
  }
  if (!path.endsWith('.gz')) return bytes.toString('utf8')
  try {
    return (await promisify(gunzip)(bytes, { finishFlush: constants.Z_SYNC_FLUSH })).toString('utf8')
  } catch {
    return ''
  }
}
