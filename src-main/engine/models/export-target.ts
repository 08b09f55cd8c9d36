// The folder an export is written to: checked before any work, made under another name, and put in place only when it is whole.
import { existsSync, realpathSync, rmSync } from 'node:fs'
import { access, constants, mkdir, readdir, rmdir, stat, statfs } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path'
import { UserError } from '../../contract/errors.ts'
import { asStorageError, removeQuietly, renamePatiently, syncFolder, temporaryNeighbour } from './atomic-file.ts'
import { fileErrorCode } from './json-file.ts'

/** The only place in a run folder that exports may go to. */
export const EXPORT_FOLDER = 'export'

/**
 * Checks that a folder may be made.
 * @param sources folders that must stay as they are: the run (its `export` folder excepted) and the base model
 * @param bytes about what will be written
 * @throws UserError `bad-input` when it holds files, is a file, or lies inside one of `sources`; `storage` when it cannot be written or the
 * disk has no room for it
 */
export async function checkTarget(folder: string, sources: { readonly run?: string; readonly base: string }, bytes: number): Promise<void> {
  const target = realPath(folder)
  if (sources.run !== undefined && !isInside(target, realPath(join(sources.run, EXPORT_FOLDER)), false)) {
    refuseInside(target, sources.run, 'this is inside the run folder, which belongs to the run', `Choose another folder, or one in ${join(sources.run, EXPORT_FOLDER)}.`)
  }
  refuseInside(target, sources.base, 'this is inside the folder of the base model, which is left as it is', 'Choose another folder.')
  const entries = await entriesOf(folder)
  if (entries !== undefined && entries.length > 0) {
    throw new UserError({ code: 'bad-input', what: 'the folder already holds files', place: { file: folder }, expected: 'a new or empty folder', remedy: 'Choose another folder.' })
  }
  await checkDisk(folder, bytes)
}

/**
 * Lets `write` fill a folder that is not seen under its name before all of it is there. When anything fails what was written is removed.
 * @throws UserError `storage` when the disk is full or not writable, otherwise whatever `write` throws
 */
export async function fillFolder<Result>(folder: string, write: (temporary: string) => Promise<Result>): Promise<Result> {
  const target = resolve(folder)
  const temporary = temporaryNeighbour(target)
  // A second Ctrl-C ends the process in the middle of anything.
  const removeAtExit = (): void => rmSync(temporary, { recursive: true, force: true })
  process.once('exit', removeAtExit)
  try {
    await mkdir(temporary, { recursive: true })
    const result = await write(temporary)
    await syncFolder(temporary)
    // A rename onto an empty folder fails on some systems.
    if (existsSync(target)) await rmdir(target)
    await renamePatiently(temporary, target)
    await syncFolder(dirname(target))
    return result
  } catch (error) {
    await removeQuietly(temporary)
    throw asStorageError(error, folder)
  } finally {
    process.off('exit', removeAtExit)
  }
}

async function entriesOf(folder: string): Promise<string[] | undefined> {
  try {
    return await readdir(folder)
  } catch (error) {
    // Below a file there is nothing either; that it cannot be made is told by the next check.
    if (!existsSync(folder)) return undefined
    if (fileErrorCode(error) === 'ENOTDIR') throw new UserError({ code: 'bad-input', what: 'this is a file', place: { file: folder }, expected: 'a new or empty folder', remedy: 'Choose another folder.' })
    throw asStorageError(error, folder)
  }
}

/** Whether the nearest folder that is there may be written and has room: better told now than after minutes of work. */
async function checkDisk(folder: string, bytes: number): Promise<void> {
  let nearest = dirname(resolve(folder))
  while (!existsSync(nearest) && dirname(nearest) !== nearest) nearest = dirname(nearest)
  try {
    if (!(await stat(nearest)).isDirectory()) throw Object.assign(new Error(`${nearest} is a file`), { code: 'ENOTDIR' })
    await access(nearest, constants.W_OK)
  } catch (error) {
    throw asStorageError(error, folder)
  }
  const { bavail, bsize } = await statfs(nearest)
  if (bytes <= bavail * bsize) return
  const gigabytes = (count: number): string => `${(count / 1e9).toFixed(2)} GB`
  throw new UserError({ code: 'storage', what: `the disk is too full: the export needs about ${gigabytes(bytes)}, ${gigabytes(bavail * bsize)} are free`, place: { file: folder }, remedy: 'Free some space, or choose a folder on another disk with --to.' })
}

function refuseInside(target: string, source: string, what: string, remedy: string): void {
  if (!isInside(target, realPath(source), true)) return
  throw new UserError({ code: 'bad-input', what, place: { file: target }, expected: 'a folder elsewhere', remedy })
}

function isInside(path: string, folder: string, orEqual: boolean): boolean {
  const way = relative(folder, path)
  if (way === '') return orEqual
  return way !== '..' && !/^\.\.[/\\]/.test(way) && !isAbsolute(way)
}

/** The path with links followed, as far as it is there. */
function realPath(path: string): string {
  const whole = resolve(path)
  if (existsSync(whole)) return realpathSync(whole)
  const parent = dirname(whole)
  return parent === whole ? whole : join(realPath(parent), basename(whole))
}
