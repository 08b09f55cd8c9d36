// One engine a run folder. The lock is a file that appears whole or not at all and only where none is; it names the process that
// holds it, so that a lock left by a killed engine is recognised and taken over.
import { randomUUID } from 'node:crypto'
import { link, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { UserError } from '../../contract/errors.ts'
import { asStorageError, removeQuietly, temporaryNeighbour } from '../models/atomic-file.ts'
import { fileErrorCode } from '../models/json-file.ts'
import { processExists } from '../runtime/process-exists.ts'
import { readStatus, runFiles } from './run-folder-reading.ts'

const lockSchema = z.object({ pid: z.number().int(), host: z.string(), directory: z.string(), token: z.string(), time: z.string() })
type Lock = z.infer<typeof lockSchema>

/** An engine silent for this long is gone, or its number belongs to another process by now. Its longest silence is one micro-batch. */
const silenceMilliseconds = 10 * 60_000

/** How often, and after which pause, a dead lock that others are removing as well is looked at again. */
const rounds = 400
const pauseMilliseconds = 25
const noHardLinks: ReadonlySet<string> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'])

export interface RunLock {
  /** Gives the folder free. Does nothing when somebody else holds it by now. */
  release(): Promise<void>
}

/**
 * Takes the folder for this process.
 * @throws UserError `usage` when a living engine works on it, `storage` when the folder is not writable
 */
export async function lockRunFolder(directory: string): Promise<RunLock> {
  const path = runFiles(directory).lock
  const mine: Lock = { pid: process.pid, host: hostname(), directory: resolve(directory), token: randomUUID(), time: new Date().toISOString() }
  for (let round = 0; round < rounds; round += 1) {
    if (await makeWhole(path, JSON.stringify(mine))) return { release: () => releaseLock(path, mine.token) }
    const text = await readText(path)
    if (text === undefined) continue
    const held = parseLock(text)
    if (held !== undefined && (await isAlive(held, directory))) throw inUse(directory, held)
    await removeDeadLock(path, text)
  }
  throw inUse(directory, undefined)
}

/** Whether a living engine works on the folder just now. */
export async function isRunLocked(directory: string): Promise<boolean> {
  const text = await readText(runFiles(directory).lock)
  const held = text === undefined ? undefined : parseLock(text)
  return held !== undefined && (await isAlive(held, directory))
}

/** Makes a file that must not exist yet; it appears with its whole content. @returns false when it exists */
async function makeWhole(path: string, text: string): Promise<boolean> {
  const temporary = temporaryNeighbour(path)
  try {
    await writeFile(temporary, text, { flag: 'wx', flush: true })
    await link(temporary, path)
    return true
  } catch (error) {
    if (fileErrorCode(error) === 'EEXIST') return false
    if (noHardLinks.has(fileErrorCode(error) ?? '')) return makeInPlace(path, text)
    throw asStorageError(error, path)
  } finally {
    await removeQuietly(temporary)
  }
}

/** For disks without hard links: another engine may see the file empty for a moment, and then looks again. */
async function makeInPlace(path: string, text: string): Promise<boolean> {
  try {
    await writeFile(path, text, { flag: 'wx', flush: true })
    return true
  } catch (error) {
    if (fileErrorCode(error) === 'EEXIST') return false
    throw asStorageError(error, path)
  }
}

/** Several engines may find the same dead lock: one at a time looks at it again and removes it, so that no fresh one is. */
async function removeDeadLock(path: string, deadText: string): Promise<void> {
  if (deadText === '' && !(await isOlder(path, 2_000))) return sleep(pauseMilliseconds)
  const guard = `${path}.takeover`
  if (!(await makeWhole(guard, String(process.pid)))) {
    // Whoever removes a lock needs no time for it: an old guard was left by a killed process.
    if (await isOlder(guard, 10_000)) await removeQuietly(guard)
    return sleep(pauseMilliseconds)
  }
  try {
    if ((await readText(path)) === deadText) await rm(path, { force: true })
  } catch (error) {
    throw asStorageError(error, path)
  } finally {
    await removeQuietly(guard)
  }
}

async function isOlder(path: string, milliseconds: number): Promise<boolean> {
  try {
    return Date.now() - (await stat(path)).mtimeMs > milliseconds
  } catch {
    return false
  }
}

async function releaseLock(path: string, token: string): Promise<void> {
  const text = await readText(path)
  if (text === undefined || parseLock(text)?.token !== token) return
  await removeQuietly(path)
}

/** A lock that cannot be read was being written when its maker was killed, or the disk was full. */
function parseLock(text: string): Lock | undefined {
  try {
    const parsed = lockSchema.safeParse(JSON.parse(text))
    return parsed.success ? parsed.data : undefined
  } catch {
    return undefined
  }
}

async function isAlive(lock: Lock, directory: string): Promise<boolean> {
  const status = await readStatus(directory)
  const lastSign = Math.max(Date.parse(lock.time), status === undefined || status.pid !== lock.pid ? 0 : Date.parse(status.time))
  const silent = !(Date.now() - lastSign < silenceMilliseconds)
  // Another machine's processes cannot be asked; a copied folder carries its lock along.
  if (lock.host !== hostname()) return !silent
  if (lock.directory !== resolve(directory)) return false
  return processExists(lock.pid) && !silent
}

async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (fileErrorCode(error) === 'ENOENT') return undefined
    throw error
  }
}

function inUse(directory: string, lock: Lock | undefined): UserError {
  const who = lock === undefined ? 'another engine' : `process ${lock.pid}${lock.host === hostname() ? '' : ` on ${lock.host}`}`
  return new UserError({
    code: 'usage',
    what: `this run is in progress: ${who} works on it`,
    place: { file: directory },
    remedy: `Stop it first (satchel stop), or wait until it is done. If that process is gone, remove ${runFiles(directory).lock}.`,
  })
}
