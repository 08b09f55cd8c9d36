// A run is a folder: this is the engine's side of it. Everything written is either appended whole or put in place by a rename, so a
// process killed at any moment and a disk that fills up harm nothing that was there before.
import { createHash } from 'node:crypto'
import { createReadStream, existsSync, readFileSync } from 'node:fs'
import { mkdir, open, readFile, rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { z } from 'zod'
import { UserError } from '../../contract/errors.ts'
import type { EvaluationResult, MetricsRow, RolloutRecord, RunState } from '../../contract/events.ts'
import type { RunChange } from '../../contract/run-changes.ts'
import type { RunConfig } from '../../contract/run-config.ts'
import { asStorageError, removeQuietly, writeFileAtomically, writeFully } from '../models/atomic-file.ts'
import { fileErrorCode } from '../models/json-file.ts'
import { projectRoot } from '../runtime/paths.ts'
import { dropCommands } from './run-commands.ts'
import { lockRunFolder } from './run-folder-lock.ts'
import type { RunLock } from './run-folder-lock.ts'
import { describeAsJson, namesIn, readRunDescription, runFiles } from './run-folder-reading.ts'
import type { RunDescription, RunLengths, RunStatus } from './run-folder-reading.ts'

/** The state of a run as its engine tells it. */
export interface StatusUpdate {
  readonly state: RunState
  readonly step: number
  readonly totalSteps: number
  readonly message: string
}

/** A run folder held by this process. Every method throws UserError `storage` when the disk is full or the folder not writable. */
export interface RunFolder {
  readonly directory: string
  readRunJson(): Promise<RunDescription>
  /** Adds a row to metrics.jsonl: whole and on disk when the promise settles, or not at all. */
  appendMetrics(row: MetricsRow): Promise<void>
  /** Adds rows to changes.jsonl: all of them, or none. */
  appendChanges(changes: readonly RunChange[]): Promise<void>
  /** Writes rollouts/000123.jsonl.gz. */
  writeRollouts(step: number, records: readonly RolloutRecord[]): Promise<void>
  /** Writes eval/000020.json. */
  writeEvaluation(result: EvaluationResult): Promise<void>
  /** Removes metrics rows, rollouts and evaluations of steps after `step`: what a resumed run will do again. */
  cutAfter(step: number): Promise<void>
  /** Writes status.json now, and its time again every few seconds until `close`. */
  setStatus(update: StatusUpdate): Promise<void>
  /** Ends the heartbeat and gives the folder free. The last status stays. */
  close(): Promise<void>
}

const heartbeatMilliseconds = 5_000

/** What run.json says beside the configuration. @param onnxruntime version of the runtime in use */
export function describeRun(config: RunConfig, hashes: RunDescription['hashes'], onnxruntime: string, lengths?: RunLengths): RunDescription {
  const environment = { satchel: satchelVersion(), node: process.versions.node, onnxruntime, platform: `${process.platform}-${process.arch}` }
  return { config, hashes, environment, created: new Date().toISOString(), ...(lengths === undefined ? {} : { lengths }) }
}

/** This program's version, as in package.json. */
export function satchelVersion(): string {
  return z.object({ version: z.string() }).parse(JSON.parse(readFileSync(join(projectRoot(), 'package.json'), 'utf8'))).version
}

/** sha256 (hex) of a file's bytes, streamed. */
export async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const piece of createReadStream(path, { highWaterMark: 1 << 20 })) hash.update(piece as Buffer)
  return hash.digest('hex')
}

/**
 * Makes a run folder and takes it.
 * @throws UserError `bad-input` when the folder already holds something, `storage` when it cannot be written
 */
export async function createRunFolder(directory: string, runJson: RunDescription): Promise<RunFolder> {
  const occupied = existsSync(directory) ? await namesOf(directory) : []
  if (occupied.length > 0) {
    const remedy = occupied.includes('run.json') ? `Choose another folder, or continue this run: satchel resume ${directory}` : 'Choose another folder.'
    throw new UserError({ code: 'bad-input', what: 'the folder already holds files', place: { file: directory }, expected: 'a new or empty folder', remedy })
  }
  try {
    for (const folder of ['rollouts', 'eval', 'checkpoints']) await mkdir(join(directory, folder), { recursive: true })
  } catch (error) {
    throw cannotMake(error, directory)
  }
  const lock = await lockRunFolder(directory)
  try {
    await writeText(runFiles(directory).description, describeAsJson(runJson))
    return openLocked(directory, lock)
  } catch (error) {
    await lock.release()
    throw error
  }
}

/**
 * Opens a run folder to work on it and takes it. What a killed engine left half-written is put right.
 * @throws UserError `not-found`, `bad-input`, `newer-version`, or `usage` when a living engine holds it
 */
export async function openRunFolder(directory: string): Promise<RunFolder> {
  await readRunDescription(directory)
  const lock = await lockRunFolder(directory)
  try {
    await dropCommands(directory)
    await dropHalfLine(runFiles(directory).metrics)
    await dropHalfLine(runFiles(directory).changes)
    return openLocked(directory, lock)
  } catch (error) {
    await lock.release()
    throw asStorageError(error, directory)
  }
}

/** A folder name in `runsDirectory` that sorts by time and is not taken: `demo-2026-11-30-032059`. */
export function newRunDirectory(runsDirectory: string, name: string, now = new Date()): string {
  const two = (value: number): string => String(value).padStart(2, '0')
  const stamp = `${now.getFullYear()}-${two(now.getMonth() + 1)}-${two(now.getDate())}-${two(now.getHours())}${two(now.getMinutes())}${two(now.getSeconds())}`
  const base = join(runsDirectory, `${name}-${stamp}`)
  for (let copy = 1; ; copy += 1) {
    const directory = copy === 1 ? base : `${base}-${copy}`
    if (!existsSync(directory)) return directory
  }
}

function openLocked(directory: string, lock: RunLock): RunFolder {
  const files = runFiles(directory)
  const heartbeat = createHeartbeat(files.status)
  return {
    directory,
    readRunJson: () => readRunDescription(directory),
    appendMetrics: (row) => appendWhole(files.metrics, `${JSON.stringify(row)}\n`),
    appendChanges: (changes) => appendWhole(files.changes, changes.map((change) => `${JSON.stringify(change)}\n`).join('')),
    async writeRollouts(step, records) {
      const text = records.map((record) => `${JSON.stringify(record)}\n`).join('')
      const packed = await promisify(gzip)(Buffer.from(text, 'utf8'))
      await writeFileAtomically(files.rolloutsOf(step), async (handle) => writeFully(handle, packed))
    },
    writeEvaluation: (result) => writeText(files.evaluationOf(result.step), `${JSON.stringify(result, null, 2)}\n`),
    cutAfter: (step) => cutAfter(directory, step),
    setStatus: heartbeat.set,
    async close() {
      await heartbeat.stop()
      await lock.release()
    },
  }
}

/** A recursive mkdir on a read-only disk, or on a drive that is not there, says ENOENT. */
function cannotMake(error: unknown, directory: string): unknown {
  if (fileErrorCode(error) !== 'ENOENT') return asStorageError(error, directory)
  return new UserError({ code: 'storage', what: 'the folder cannot be made: its disk is read-only or missing', place: { file: directory }, remedy: 'Choose another folder.' }, { cause: error })
}

/** status.json: written when the state changes, and renewed on a timer that keeps no process alive. */
function createHeartbeat(path: string): { set(update: StatusUpdate): Promise<void>; stop(): Promise<void> } {
  let last: StatusUpdate | undefined
  let writing: Promise<void> = Promise.resolve()
  const write = async (): Promise<void> => {
    if (last === undefined) return
    const status: RunStatus = { ...last, pid: process.pid, host: hostname(), time: new Date().toISOString() }
    await writeText(path, `${JSON.stringify(status)}\n`)
  }
  const queue = (): Promise<void> => {
    const mine = writing.then(write)
    // A failed write is told to whoever asked for it and must not poison the ones after it.
    writing = mine.catch(() => undefined)
    return mine
  }
  const timer = setInterval(() => void queue().catch(() => undefined), heartbeatMilliseconds)
  timer.unref()
  return {
    set(update) {
      last = update
      return queue()
    },
    async stop() {
      clearInterval(timer)
      await writing
    },
  }
}

async function writeText(path: string, text: string): Promise<void> {
  await writeFileAtomically(path, async (handle) => writeFully(handle, Buffer.from(text, 'utf8')))
}

/** Appends a line; a line that could not be written whole is taken back. */
async function appendWhole(path: string, line: string): Promise<void> {
  try {
    const handle = await open(path, 'a')
    try {
      const before = (await handle.stat()).size
      try {
        await writeFully(handle, Buffer.from(line, 'utf8'))
        await handle.datasync()
      } catch (error) {
        // Its own failure must not hide the first one; a half line is dropped again when the folder is opened.
        await handle.truncate(before).catch(() => undefined)
        throw error
      }
    } finally {
      await handle.close()
    }
  } catch (error) {
    throw asStorageError(error, path)
  }
}

/** Removes what stands after the last line end. */
async function dropHalfLine(path: string): Promise<void> {
  const text = await readOrNothing(path)
  const end = text.lastIndexOf('\n') + 1
  if (end < text.length) await writeText(path, text.slice(0, end))
}

async function cutAfter(directory: string, step: number): Promise<void> {
  const files = runFiles(directory)
  const text = await readOrNothing(files.metrics)
  const kept = text.split('\n').filter((line) => line !== '' && stepOf(line) <= step).map((line) => `${line}\n`).join('')
  if (kept !== text) await writeText(files.metrics, kept)
  try {
    for (const folder of [files.rollouts, files.evaluations]) {
      for (const name of await namesIn(folder)) {
        const found = /^(\d+)\./.exec(name)
        if (found !== null && Number(found[1]) > step) await rm(join(folder, name), { force: true })
        // Left over from a killed process; nobody else writes here while the folder is held.
        else if (/^\..*\.tmp$/.test(name)) await removeQuietly(join(folder, name))
      }
    }
  } catch (error) {
    throw asStorageError(error, directory)
  }
}

/** Step of a metrics line; a damaged line stays where it is and is counted by whoever reads the file. */
function stepOf(line: string): number {
  try {
    const parsed = z.object({ step: z.number() }).safeParse(JSON.parse(line))
    return parsed.success ? parsed.data.step : -Infinity
  } catch {
    return -Infinity
  }
}

async function namesOf(directory: string): Promise<string[]> {
  try {
    return await namesIn(directory)
  } catch (error) {
    throw asStorageError(error, directory)
  }
}

async function readOrNothing(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (fileErrorCode(error) === 'ENOENT') return ''
    throw error
  }
}
