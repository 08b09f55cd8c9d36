// Runs as they lie on disk: everything the page shows can be rebuilt from a run folder alone. A run is indexed, not loaded: its metrics are
// kept as columns, its rollouts stay in their files.
import { existsSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { exportNoteSchema } from '../contract/calls/run-data.ts'
import type { ExportNote, LogEntry, MetricSeries, RolloutHeader, RolloutQuery, RunSnapshot, RunSummary, SearchAnswer } from '../contract/calls/run-data.ts'
import { UserError } from '../contract/errors.ts'
import { evaluationResultSchema } from '../contract/events.ts'
import { describeChange, runChangeSchema } from '../contract/run-changes.ts'
import type { RunChange } from '../contract/run-changes.ts'
import type { EvaluationResult, RolloutRecord } from '../contract/events.ts'
import { createMetricsIndex } from './metrics-index.ts'
import type { MetricsIndex } from './metrics-index.ts'
import { createRolloutReader, headerOf, rangesOf, rolloutFiles, searchRollouts } from './rollout-files.ts'
import { namesIn, parseJson, readJsonLines, readStoredRun, readText } from './run-files.ts'
import type { Reading, StoredRun } from './run-files.ts'
import { readSpark } from './run-spark.ts'
import type { Spark } from './run-spark.ts'
import { readState } from './run-state.ts'

export interface MetricsRequest {
  readonly names?: readonly string[] | undefined
  readonly from: number
  readonly to: number
  readonly columns: number
}

export interface RunLibrary {
  /** The runs of the runs folder and those added from elsewhere, newest first. One that cannot be read is listed as failed; opening it tells why. */
  list(): Promise<RunSummary[]>
  /** A run from its folder. @throws UserError when it is no run folder, or one of a newer version */
  open(directory: string): Promise<RunSnapshot>
  metrics(directory: string, request: MetricsRequest): Promise<MetricSeries[]>
  rollouts(directory: string, step: number): Promise<RolloutHeader[]>
  rollout(directory: string, step: number, order: number): Promise<RolloutRecord>
  search(directory: string, query: RolloutQuery, from: number | null): Promise<SearchAnswer>
  /** A held-out result with its samples. */
  evaluation(directory: string, step: number): Promise<EvaluationResult>
  /** The index of a run's metrics, shared by all who look at it. */
  index(directory: string): MetricsIndex
  /** Lets a folder outside the runs folder be opened. @throws UserError when it is no run folder */
  add(directory: string): Promise<RunSummary>
  /** The full path of a run the page may name. @throws UserError for any other path */
  allowed(directory: string): string
  /** The same path where the run lies in the runs folder. @throws UserError for one that was added from outside, which is only looked at */
  own(directory: string): string
}

/** Parts a curve is thinned to when a run is opened. */
const snapshotColumns = 500
const keptIndexes = 12
const keptLogEntries = 300
const everyStep = Number.MAX_SAFE_INTEGER

/** The library of a runs folder. */
export function createRunLibrary(runsFolder: string): RunLibrary {
  const indexes = new Map<string, MetricsIndex>()
  const sparks = new Map<string, { readonly key: string; readonly spark: Spark }>()
  const added = new Set<string>()
  const reader = createRolloutReader()

  const isOutside = (directory: string): boolean => dirname(resolve(directory)) !== resolve(runsFolder)
  const placed = (found: RunSummary): RunSummary => (isOutside(found.directory) ? { ...found, outside: true } : found)

  function index(directory: string): MetricsIndex {
    const known = indexes.get(directory) ?? createMetricsIndex(join(directory, 'metrics.jsonl'))
    // The one used last stands at the end; the first goes when there are too many.
    indexes.delete(directory)
    indexes.set(directory, known)
    const [oldest] = indexes.keys()
    if (indexes.size > keptIndexes && oldest !== undefined) indexes.delete(oldest)
    return known
  }

  async function sparkOf(directory: string): Promise<Spark> {
    const file = join(directory, 'metrics.jsonl')
    const key = await stat(file).then(({ size, mtimeMs }) => `${size} ${mtimeMs}`, () => '')
    const known = sparks.get(directory)
    if (known?.key === key) return known.spark
    const spark = await readSpark(file)
    sparks.set(directory, { key, spark })
    return spark
  }

  async function summary(directory: string): Promise<RunSummary> {
    try {
      const stored = await readStoredRun(directory)
      const { rewards, lastStep } = await sparkOf(directory)
      return placed({ ...(await summarise(directory, stored, lastStep)).summary, spark: [...rewards] })
    } catch (error) {
      if (!(error instanceof UserError)) throw error
      return { name: basename(directory), directory, state: 'failed', step: 0, totalSteps: 0 }
    }
  }

  async function metrics(directory: string, request: MetricsRequest): Promise<MetricSeries[]> {
    const own = index(directory)
    await own.refresh()
    return own.series(request)
  }

  return {
    index,
    metrics,
    async list() {
      const names = (await namesIn(runsFolder)).map((name) => join(resolve(runsFolder), name))
      const folders = [...names, ...added].filter((directory) => existsSync(join(directory, 'run.json')))
      const summaries = await Promise.all(folders.map(summary))
      return summaries.sort((a, b) => (b.created ?? '').localeCompare(a.created ?? '') || b.name.localeCompare(a.name))
    },
    async open(directory) {
      const stored = await readStoredRun(directory)
      const own = index(directory)
      const [, evaluations, files, folderLog] = await Promise.all([own.refresh(), readEvaluations(directory), rolloutFiles(directory), readFolderLog(directory)])
      const { summary: found, message } = await summarise(directory, stored, own.lastStep)
      const unreadable = own.unreadable + evaluations.unreadable
      return {
        summary: placed(found),
        description: stored,
        series: own.series({ from: 0, to: everyStep, columns: snapshotColumns }),
        newestRow: own.length === 0 ? null : own.row(own.length - 1),
        evaluations: evaluations.values.map((result) => ({ ...result, samplesShown: [] })),
        rolloutSteps: rangesOf(files.map(({ step }) => step)),
        ...folderLog,
        message: unreadable === 0 ? message : `${message} ${unreadable} damaged ${unreadable === 1 ? 'entry was' : 'entries were'} left out.`,
      }
    },
    rollouts: async (directory, step) => (await reader.step(directory, step)).map(({ order, record }) => headerOf(record, order)),
    async rollout(directory, step, order) {
      const found = (await reader.step(directory, step)).find((stored) => stored.order === order)
      if (found !== undefined) return found.record
      throw new UserError({ code: 'not-found', what: `Step ${step} has no rollout number ${order + 1}.`, place: { file: join(directory, 'rollouts') }, remedy: 'Choose another; a resumed run does its steps again.' })
    },
    search: searchRollouts,
    async evaluation(directory, step) {
      const file = join(directory, 'eval', `${String(step).padStart(6, '0')}.json`)
      const parsed = evaluationResultSchema.safeParse(parseJson(await readText(file)))
      if (parsed.success) return parsed.data
      throw new UserError({ code: 'not-found', what: `There is no evaluation of step ${step} that can be read.`, place: { file } })
    },
    async add(directory) {
      const full = resolve(directory)
      await readStoredRun(full)
      if (isOutside(full)) added.add(full)
      return summary(full)
    },
    own(directory) {
      if (!isOutside(directory)) return directory
      throw new UserError({ code: 'usage', what: 'This run lies outside the runs folder: it can be looked at, and nothing in it is changed.', place: { file: directory }, expected: `a run in ${resolve(runsFolder)}`, remedy: 'Copy its folder there to go on with it.' })
    },
    allowed(directory) {
      const full = resolve(directory)
      return added.has(full) ? full : runInside(runsFolder, directory)
    },
  }
}

async function summarise(directory: string, stored: StoredRun, lastRow: number): Promise<{ summary: RunSummary; message: string }> {
  const totalSteps = stored.training.steps
  const { state, step, message } = await readState(directory, lastRow >= totalSteps)
  const known = { created: stored.created, estimator: stored.estimator?.name, seed: stored.seed, model: stored.model }
  const told = Object.fromEntries(Object.entries(known).filter(([, value]) => value !== undefined))
  return { summary: { name: basename(directory), directory: resolve(directory), state, step: Math.max(step, lastRow), totalSteps, ...told }, message }
}

async function readEvaluations(directory: string): Promise<Reading<EvaluationResult>> {
  const folder = join(directory, 'eval')
  const names = (await namesIn(folder)).filter((name) => /^\d+\.json$/.test(name))
  const parsed = await Promise.all(names.map(async (name) => evaluationResultSchema.safeParse(parseJson(await readText(join(folder, name))))))
  const values = parsed.flatMap((result) => (result.success ? [result.data] : []))
  return { values: values.sort((a, b) => a.step - b.step), unreadable: parsed.length - values.length }
}

/** What the folder knows of the past: checkpoints, evaluations and exports, with the time of their files. */
async function readFolderLog(directory: string): Promise<{ checkpoints: number[]; exports: ExportNote[]; changes: RunChange[]; log: LogEntry[] }> {
  const checkpoints = (await namesIn(join(directory, 'checkpoints'))).filter((name) => /^\d+$/.test(name))
  const evaluations = (await namesIn(join(directory, 'eval'))).filter((name) => /^\d+\.json$/.test(name)).slice(-keptLogEntries)
  const exports = readJsonLines(await readText(join(directory, 'exports.jsonl')), exportNoteSchema).values
  const changes = await readChanges(directory)
  const entries = await Promise.all([
    ...checkpoints.map((name) => fileEntry(join(directory, 'checkpoints', name), 'checkpoint', Number(name), `Checkpoint of step ${Number(name)} written.`)),
    ...evaluations.map((name) => fileEntry(join(directory, 'eval', name), 'evaluation', Number.parseInt(name, 10), `Held-out evaluation after step ${Number.parseInt(name, 10)}.`)),
  ])
  const told: LogEntry[] = exports.map(({ time, step, format, storedType, folder }) => ({ time, step, kind: 'export', text: `Exported as ${format}, ${storedType}, to ${folder}.` }))
  const changed = changes.map((change): LogEntry => ({ time: change.time, step: change.step, kind: 'change', text: describeChange(change) }))
  const log = [...entries.flat(), ...told, ...changed].sort((a, b) => a.time.localeCompare(b.time)).slice(-keptLogEntries)
  return { checkpoints: checkpoints.map(Number), exports, changes, log }
}

/** What was changed while a run was in progress, in the order it was. */
export async function readChanges(directory: string): Promise<RunChange[]> {
  return readJsonLines(await readText(join(directory, 'changes.jsonl')), runChangeSchema).values
}

async function fileEntry(path: string, kind: LogEntry['kind'], step: number, text: string): Promise<LogEntry[]> {
  try {
    return [{ time: (await stat(path)).mtime.toISOString(), step, kind, text }]
  } catch {
    // Removed while we looked: older checkpoints go when new ones come.
    return []
  }
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
