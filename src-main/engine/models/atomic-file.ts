// Files that are either the old one or the complete new one, whatever happens in between.
import { randomBytes } from 'node:crypto'
import { mkdir, open, readdir, rename, rm, rmdir } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { UserError } from '../../contract/errors.ts'
import { fileErrorCode } from './json-file.ts'

const STORAGE_REASONS: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'the file would be larger than this disk allows',
  EACCES: 'the folder is not writable',
  EPERM: 'the folder is not writable',
  EROFS: 'the disk is read-only',
  EEXIST: 'a file stands where a folder is needed',
  ENOTDIR: 'a file stands where a folder is needed',
  EIO: 'the disk reports an error',
}

/**
 * Refuses a place for a new folder that is taken; an empty folder is not.
 * @throws UserError `bad-input`
 */
export async function refuseOccupied(folder: string, remedy: string): Promise<void> {
  let entries: string[]
  try {
    entries = await readdir(folder)
  } catch (error) {
    if (fileErrorCode(error) === 'ENOENT') return
    throw new UserError({ code: 'bad-input', what: `the place is not a folder that can be written (${String(error)})`, place: { file: folder }, expected: 'a new or empty folder', remedy }, { cause: error })
  }
  if (entries.length > 0) throw new UserError({ code: 'bad-input', what: 'the folder already holds files', place: { file: folder }, expected: 'a new or empty folder', remedy })
}

/** Removes a folder that is empty; does nothing where there is none. */
export async function removeEmptyFolder(folder: string): Promise<void> {
  await rmdir(folder).catch((error: unknown) => {
    if (fileErrorCode(error) !== 'ENOENT') throw error
  })
}

/** Turns a failed file call into a UserError `storage` where a person can act on it; anything else is returned as it is. */
export function asStorageError(error: unknown, file: string): unknown {
  const reason = STORAGE_REASONS[fileErrorCode(error) ?? '']
  if (reason === undefined) return error
  return new UserError(
    {
      code: 'storage',
      what: `${reason}; nothing that was there before has been changed`,
      place: { file },
      remedy: 'Free some space or choose another folder, then try again.',
    },
    { cause: error },
  )
}

/**
 * Writes a file through a temporary neighbour: `write` fills it, then it is synced and renamed into place. When anything
 * fails the temporary file is removed and the old file, if any, stays untouched.
 * @throws UserError `storage` when the disk is full or not writable; whatever `write` throws otherwise.
 */
export async function writeFileAtomically(path: string, write: (handle: FileHandle) => Promise<void>): Promise<void> {
  const temporary = temporaryNeighbour(path)
  try {
    await mkdir(dirname(path), { recursive: true })
    const handle = await open(temporary, 'wx')
    try {
      await write(handle)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await renamePatiently(temporary, path)
    await syncFolder(dirname(path))
  } catch (error) {
    await removeQuietly(temporary)
    throw asStorageError(error, path)
  }
}

const renameAttempts = 20

/** A rename. On Windows a file that a watcher or a virus scanner reads just now cannot be replaced: it is tried again for about two seconds. */
export async function renamePatiently(from: string, to: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await rename(from, to)
      return
    } catch (error) {
      const busy = process.platform === 'win32' && ['EPERM', 'EACCES', 'EBUSY'].includes(fileErrorCode(error) ?? '')
      if (!busy || attempt === renameAttempts) throw error
      await sleep(10 * attempt)
    }
  }
}

/** Removes what a failed write left. Its own failure must not hide the first one. */
export async function removeQuietly(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true })
  } catch {
    // The disk or the folder is what failed; there is nothing more to try.
  }
}

/** A name beside `path` that nothing else uses, recognisable as left over from a killed process. */
export function temporaryNeighbour(path: string): string {
  return join(dirname(path), `.${basename(path)}.${randomBytes(6).toString('hex')}.tmp`)
}

/** Writes all of `bytes` at the handle's position: a single write may stop early. */
export async function writeFully(handle: FileHandle, bytes: Uint8Array): Promise<void> {
  let done = 0
  while (done < bytes.length) {
    const { bytesWritten } = await handle.write(bytes, done, Math.min(bytes.length - done, 1 << 30))
    done += bytesWritten
  }
}

/** Writes a value as indented JSON, atomically. */
export async function writeJsonAtomically(path: string, value: unknown): Promise<void> {
  await writeFileAtomically(path, async (handle) => writeFully(handle, Buffer.from(`${JSON.stringify(value, null, 2)}\n`, 'utf8')))
}

/** Makes a rename durable. Windows cannot open a folder; its rename needs no such step. */
export async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
