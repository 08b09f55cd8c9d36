// Runs as they lie on disk: everything the page shows can be rebuilt from a run folder alone.
// Reading is forgiving (a killed engine leaves half a line behind) but never silent: what could not be read is counted and told.
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { hostname } from 'node:os'
import { constants, gunzipSync } from 'node:zlib'
import { z } from 'zod'
import type { RunSnapshot, RunSummary } from '../contract/calls.ts'
import { UserError } from '../contract/errors.ts'
import { evaluationResultSchema, metricsRowSchema, rolloutRecordSchema, runStateSchema } from '../contract/events.ts'
import type { EvaluationResult, MetricsRow, RolloutRecord, RunState } from '../contract/events.ts'

/** The part of run.json the list needs; unknown fields belong to others. */
const storedRunSchema = z.object({ version: z.number().int(), training: z.object({ steps: z.number().int() }) })
const knownVersion = 1

/** status.json: the last sign of life of the engine that works, or worked, on the folder. */
const statusSchema = z.object({ state: runStateSchema, step: z.number().int(), totalSteps: z.number().int(), pid: z.number().int(), host: z.string(), time: z.string(), message: z.string() })
/** An engine renews its sign of life every few seconds; one that is this old was left by an engine that is gone. */
const signOfLifeMilliseconds = 30_000
const finalStates: readonly RunState[] = ['stopped', 'done', 'failed']

interface Reading<Value> {
  readonly values: Value[]
  /** Lines that could not be read, not counting a half-written last one. */
  readonly unreadable: number
}

/** Whether an engine is at work on a run in this state. */
export function isWorking(state: RunState): boolean {
  return !finalStates.includes(state)
}

/** Reads JSONL. A last line without its line end was being written when the writer was stopped: it is left out unless it is whole. */
export function readJsonLines<Value>(text: string, schema: z.ZodType<Value>): Reading<Value> {
  const lines = text.split('\n')
  const values: Value[] = []
  let unreadable = 0
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '') continue
    const parsed = schema.safeParse(parseJson(line))
    if (parsed.success) values.push(parsed.data)
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

/** Text of a file, '' when it is not there. A gzip file that was cut off gives what it holds up to there. */
async function readText(path: string): Promise<string> {
  let bytes: Buffer
  try {
    bytes = await readFile(path)
  } catch {
    return ''
  }
  if (!path.endsWith('.gz')) return bytes.toString('utf8')
  try {
    return gunzipSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH }).toString('utf8')
  } catch {
    return ''
  }
}

/** Names in a folder, sorted; none when the folder is not there. */
async function namesIn(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).sort()
  } catch {
    return []
  }
}

async function readStoredRun(directory: string): Promise<z.infer<typeof storedRunSchema>> {
  const file = join(directory, 'run.json')
  const text = await readText(file)
  if (text === '') throw new UserError({ code: 'not-found', what: 'This is not a run folder: it has no run.json.', place: { file }, remedy: 'Choose a folder that Satchel made.' })
  const json = parseJson(text)
  const version = z.object({ version: z.number() }).safeParse(json)
  if (version.success && version.data.version > knownVersion) {
    throw new UserError({ code: 'newer-version', what: `This run was written by a newer Satchel (run format ${version.data.version}).`, place: { file, field: 'version' }, expected: `format ${knownVersion}`, remedy: 'Open it with that version.' })
  }
  const stored = storedRunSchema.safeParse(json)
  if (stored.success) return stored.data
  const issue = stored.error.issues[0]
  const place = issue === undefined || issue.path.length === 0 ? { file } : { file, field: issue.path.join('.') }
  throw new UserError({ code: 'bad-input', what: 'The description of this run cannot be read.', place, expected: issue?.message ?? 'JSON', remedy: 'Copy run.json from a backup, or remove the folder.' })
}

/** One row a step: a run that went back to a checkpoint wrote some steps twice, and the later row is what happened. */
export function newestRowPerStep(rows: readonly MetricsRow[]): MetricsRow[] {
  const kept: MetricsRow[] = []
  for (const row of rows) {
    while ((kept.at(-1)?.step ?? -Infinity) >= row.step) kept.pop()
    kept.push(row)
  }
  return kept
}

async function readEvaluations(directory: string): Promise<Reading<EvaluationResult>> {
  const folder = join(directory, 'eval')
  const values: EvaluationResult[] = []
  let unreadable = 0
  for (const name of await namesIn(folder)) {
    if (!name.endsWith('.json')) continue
    const parsed = evaluationResultSchema.safeParse(parseJson(await readText(join(folder, name))))
    if (parsed.success) values.push(parsed.data)
    else unreadable += 1
  }
  return { values: values.sort((a, b) => a.step - b.step), unreadable }
}

/** Rollouts of the newest step that holds any. */
async function readNewestRollouts(directory: string): Promise<RolloutRecord[]> {
  const folder = join(directory, 'rollouts')
  const files = (await namesIn(folder)).filter((name) => /^\d+\.jsonl(\.gz)?$/.test(name)).reverse()
  for (const name of files) {
    const { values } = readJsonLines(await readText(join(folder, name)), rolloutRecordSchema)
    if (values.length > 0) return values
  }
  return []
}

function processExists(processId: number): boolean {
  try {
    process.kill(processId, 0)
    return true
  } catch (error) {
    // A process of another user may not be asked, but it is there.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

/** What the folder tells about the run's state. A state of work is believed only while its engine gives signs of life. */
async function readState(directory: string, done: boolean): Promise<{ state: RunState; step: number; message: string }> {
  const status = statusSchema.safeParse(parseJson(await readText(join(directory, 'status.json'))))
  if (!status.success) return { state: done ? 'done' : 'stopped', step: 0, message: done ? 'Done.' : 'Not in progress. Resume continues from the newest checkpoint.' }
  const { state, step, message, pid, host, time } = status.data
  if (!isWorking(state)) return { state, step, message }
  const fresh = Math.abs(Date.now() - Date.parse(time)) < signOfLifeMilliseconds
  if (fresh && (host !== hostname() || processExists(pid))) return { state, step, message }
  return { state: 'failed', step, message: 'The engine of this run ended without a word: it was killed, or the machine was switched off. Nothing already written is lost; Resume continues from the newest checkpoint.' }
}

/**
 * A run from its folder alone.
 * @throws UserError when it is no run folder, or one of a newer version.
 */
export async function readRun(directory: string): Promise<RunSnapshot> {
  const stored = await readStoredRun(directory)
  const metrics = readJsonLines(await readText(join(directory, 'metrics.jsonl')), metricsRowSchema)
  const evaluations = await readEvaluations(directory)
  const rows = newestRowPerStep(metrics.values)
  const { summary, message: words } = await summarise(directory, stored.training.steps, rows.at(-1)?.step ?? 0)
  const unreadable = metrics.unreadable + evaluations.unreadable
  return {
    summary,
    metrics: rows,
    evaluations: evaluations.values,
    newestRollouts: await readNewestRollouts(directory),
    message: unreadable === 0 ? words : `${words} ${unreadable} damaged ${unreadable === 1 ? 'entry was' : 'entries were'} left out.`,
  }
}

async function summarise(directory: string, totalSteps: number, lastRow: number): Promise<{ summary: RunSummary; message: string }> {
  const { state, step, message } = await readState(directory, lastRow >= totalSteps)
  return { summary: { name: basename(directory), directory: resolve(directory), state, step: Math.max(step, lastRow), totalSteps }, message }
}

/** The runs in a folder, newest first by name. One whose run.json cannot be read is listed as failed; opening it tells why. */
export async function listRuns(runsFolder: string): Promise<RunSummary[]> {
  const summaries: RunSummary[] = []
  for (const name of (await namesIn(runsFolder)).reverse()) {
    const directory = join(runsFolder, name)
    if (!existsSync(join(directory, 'run.json'))) continue
    try {
      const stored = await readStoredRun(directory)
      const rows = readJsonLines(await readText(join(directory, 'metrics.jsonl')), z.object({ step: z.number().int() }))
      const { summary } = await summarise(directory, stored.training.steps, rows.values.at(-1)?.step ?? 0)
      summaries.push(summary)
    } catch (error) {
      if (!(error instanceof UserError)) throw error
      summaries.push({ name, directory: resolve(directory), state: 'failed', step: 0, totalSteps: 0 })
    }
  }
  return summaries
}

/**
 * The page may name only folders that lie directly in the runs folder.
 * @throws UserError for any other path.
 */
export function runInside(runsFolder: string, directory: string): string {
  const full = resolve(directory)
  if (dirname(full) === resolve(runsFolder) && basename(full) !== '') return full
  throw new UserError({ code: 'usage', what: 'This folder is not in the runs folder.', place: { file: directory }, expected: `a folder in ${resolve(runsFolder)}` })
}
