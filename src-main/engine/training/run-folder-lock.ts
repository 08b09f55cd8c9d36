// One engine a run folder. The lock is a file made with "must not exist", which every file system does atomically; it names the
// process that holds it, so that a lock left by a killed engine is recognised and taken over.
import { randomUUID } from 'node:crypto'
import { open, readFile, rename, rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { z } from 'zod'
import { UserError } from '../../contract/errors.ts'
import { asStorageError, removeQuietly } from '../models/atomic-file.ts'
import { fileErrorCode } from '../models/json-file.ts'
import { readStatus, runFiles } from './run-folder-reading.ts'

const lockSchema = z.object({ pid: z.number().int(), host: z.string(), directory: z.string(), token: z.string(), time: z.string() })
type Lock = z.infer<typeof lockSchema>

/** An engine silent for this long is gone, or its number belongs to another process by now. Its longest silence is one micro-batch. */
const silenceMilliseconds = 10 * 60_000

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
  // Each round either makes the lock, meets a living engine, or removes one dead lock; a second dead one means others try as well.
  for (let round = 0; round < 10; round += 1) {
    if (await makeLock(path, mine)) return { release: () => releaseLock(path, mine.token) }
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

async function makeLock(path: string, lock: Lock): Promise<boolean> {
  try {
    const handle = await open(path, 'wx')
    try {
      await handle.writeFile(JSON.stringify(lock))
      await handle.sync()
    } finally {
      await handle.close()
    }
    return true
  } catch (error) {
    if (fileErrorCode(error) === 'EEXIST') return false
    if (fileErrorCode(error) === 'ENOSPC') await removeQuietly(path)
    throw asStorageError(error, path)
  }
}

/** Several engines may find the same dead lock: it is moved aside under a name of one's own and looked at again before it goes. */
async function removeDeadLock(path: string, deadText: string): Promise<void> {
  const aside = `${path}.${randomUUID()}`
  try {
    await rename(path, aside)
  } catch (error) {
    if (fileErrorCode(error) === 'ENOENT') return
    throw asStorageError(error, path)
  }
  const moved = await readText(aside)
  if (moved !== undefined && moved !== deadText) {
    // Somebody was faster and this is a fresh lock: put it back.
    await rename(aside, path)
    return
  }
  await rm(aside, { force: true })
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

function processExists(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return fileErrorCode(error) === 'EPERM'
  }
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
