// Downloads a model from the Hugging Face hub or a mirror: only the files a model needs, each resumed where it broke off and checked by its
// hash. Everything lies beside the target under a hidden name until it is whole and opens as a model; then it is renamed.
import { mkdir, open, readdir, rm, stat, statfs } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { UserError } from '../../contract/errors.ts'
import { asStorageError, refuseOccupied, removeEmptyFolder, renamePatiently, syncFolder, writeFileAtomically, writeFully } from './atomic-file.ts'
import { readDecoderConfig } from './config.ts'
import { createHubClient, TransferError } from './hub-client.ts'
import type { HubClient, HubFile } from './hub-client.ts'
import { openModelFolder, TOKENIZER_FILES } from './model-folder.ts'
import { hashFile } from './verify.ts'
import { INDEX_FILE, SINGLE_FILE } from './weights.ts'

export interface DownloadOptions {
  /** `ORGANISATION/NAME`. */
  readonly repository: string
  /** Branch, tag or commit; the repository's own default where left out. */
  readonly revision?: string | undefined
  readonly mirror: string
  /** A .gguf file of the repository, instead of its configuration, tokenizer and safetensors. */
  readonly file?: string | undefined
  /** Folder the model gets; it must not exist. */
  readonly folder: string
  readonly signal: AbortSignal
  readonly onProgress?: (file: string, doneBytes: number, totalBytes: number) => void
  /** Told when something is tried again, as a sentence. */
  readonly onRetry?: (message: string) => void
  /** A server that sends nothing for so long is given up on; 30 s where left out. */
  readonly stallMilliseconds?: number
  /** First wait before another try, doubled each time; 1 s where left out. */
  readonly waitMilliseconds?: number
}

export interface DownloadedModel {
  readonly folder: string
  /** What opens as a model: the folder, or the .gguf file in it. */
  readonly path: string
  readonly commit: string
  readonly files: readonly HubFile[]
}

/** Tries in a row that bring nothing before it gives up. */
const triesWithoutProgress = 6
/** So much in one try, or a tenth of the file, counts as progress. */
const progressBytes = 1024 * 1024
/** Downloads of one file that do not have its hash before it gives up. */
const wrongContents = 2
const longestWaitMilliseconds = 60_000
/** Left free on the disk beside the model. */
const spareBytes = 64 * 1024 * 1024

/**
 * Downloads a model.
 * @throws UserError `usage`, `bad-input` (folder taken, gated, unsupported model, wrong hash), `not-found`, `network`, `storage`, or
 * `stopped` when `signal` is aborted; but for the first of these, what has come is kept and the next call goes on from there
 */
export async function downloadModel(options: DownloadOptions): Promise<DownloadedModel> {
  const { repository, revision, signal } = options
  const folder = resolve(options.folder)
  if (!/^[A-Za-z0-9][\w.-]*(\/[A-Za-z0-9][\w.-]*)?$/.test(repository)) throw new UserError({ code: 'usage', what: `"${repository}" is no name of a repository`, expected: 'such as Qwen/Qwen2.5-3B' })
  await refuseOccupied(folder, 'Choose another one with --to, or remove it.')
  const client = createHubClient({ mirror: options.mirror, signal, stallMilliseconds: options.stallMilliseconds ?? 30_000 })
  const { commit, files: listed } = await persistently(options, `${repository}`, () => client.describe(repository, revision))
  const files = options.file === undefined ? neededFiles(listed, repository) : [namedFile(listed, options.file, repository)]
  const within = (place: string): string => (options.file === undefined ? place : join(place, options.file))
  const part = partFolder(folder)
  try {
    await mkdir(part, { recursive: true })
    await removeStale(part, files)
    await checkSpace(part, files)
    const job: Job = { client, options, commit, part }
    for (const file of files) {
      await fetchFile(job, file)
      // Whether the model can be used at all is known after a few hundred bytes.
      if (file.name === 'config.json') await readDecoderConfig(part)
    }
    await (await openModelFolder(within(part))).close()
    await syncFolder(part)
    // A rename onto an empty folder fails on some systems; one that was filled meanwhile is left as it is.
    await removeEmptyFolder(folder)
    await renamePatiently(part, folder)
    await syncFolder(dirname(folder))
  } catch (error) {
    throw asStorageError(error, folder)
  }
  return { folder, path: within(folder), commit, files }
}

/** Where a download lies until it is whole. */
export function partFolder(folder: string): string {
  return join(dirname(resolve(folder)), `.${basename(resolve(folder))}.download`)
}

/** Configuration, tokenizer, template and weights; never code, other formats, or what lies in folders. The configuration comes first, the largest last. */
function neededFiles(listed: readonly HubFile[], repository: string): HubFile[] {
  const single = listed.some(({ name }) => name === SINGLE_FILE)
  const isWeights = (name: string): boolean => (single ? name === SINGLE_FILE : name === INDEX_FILE || /^model-\d+-of-\d+\.safetensors$/.test(name))
  const small: readonly string[] = ['config.json', 'generation_config.json', ...TOKENIZER_FILES]
  const needed = listed.filter(({ name }) => small.includes(name) || isWeights(name))
  const lacking = [
    ...(needed.some(({ name }) => name === 'config.json') ? [] : ['config.json']),
    ...(needed.some(({ name }) => isWeights(name) && name !== INDEX_FILE) ? [] : ['safetensors weights']),
    ...(single || needed.some(({ name }) => name === INDEX_FILE) || !needed.some(({ name }) => isWeights(name)) ? [] : [INDEX_FILE]),
  ]
  if (lacking.length > 0) throw new UserError({ code: 'bad-input', what: `the repository holds no ${lacking.join(' and no ')}`, place: { file: repository }, expected: 'a model of a supported family as safetensors', remedy: 'Choose the original checkpoint of this model, or name a .gguf file of the repository with --file.' })
  const first = (name: string): number => (name === 'config.json' ? 0 : 1)
  return needed.toSorted((a, b) => first(a.name) - first(b.name) || a.bytes - b.bytes || (a.name < b.name ? -1 : 1))
}

function namedFile(listed: readonly HubFile[], name: string, repository: string): HubFile {
  const found = listed.find((file) => file.name === name)
  const isGguf = (file: string): boolean => /^[^/\\]+\.gguf$/i.test(file)
  if (found !== undefined && isGguf(name)) return found
  const there = listed.map((file) => file.name).filter(isGguf)
  throw new UserError({ code: 'not-found', what: `the repository has no .gguf file "${name}"`, place: { file: repository, field: '--file' }, expected: there.length === 0 ? 'a repository that holds .gguf files' : `one of ${there.slice(0, 30).join(', ')}` })
}

/** The unfinished file carries the hash it is to have: another version of the file never continues it. */
const partName = ({ name, expected }: HubFile): string => `${name}.${expected.hash.slice(0, 16)}.part`

/** Beginnings of other versions of the files. */
async function removeStale(part: string, files: readonly HubFile[]): Promise<void> {
  const current = new Set(files.flatMap((file) => [file.name, partName(file)]))
  for (const name of await readdir(part)) if (!current.has(name) && name !== '.cache') await rm(join(part, name), { recursive: true, force: true })
}

async function checkSpace(part: string, files: readonly HubFile[]): Promise<void> {
  let missing = 0
  for (const file of files) missing += file.bytes - Math.max(await sizeOf(join(part, file.name)), await sizeOf(join(part, partName(file))))
  const { bavail, bsize } = await statfs(part)
  if (missing + spareBytes <= bavail * bsize) return
  const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(2)} GB`
  throw new UserError({ code: 'storage', what: `the disk is too full: ${gigabytes(missing)} are still to come, ${gigabytes(bavail * bsize)} are free`, place: { file: part }, remedy: 'Free some space, or choose a folder on another disk with --to.' })
}

interface Job {
  readonly client: HubClient
  readonly options: DownloadOptions
  readonly commit: string
  readonly part: string
}

async function fetchFile(job: Job, file: HubFile): Promise<void> {
  const { options: { onRetry, onProgress, signal }, part } = job
  const done = join(part, file.name)
  if ((await sizeOf(done)) === file.bytes && (await exists(done)) && (await mismatch(done, file, signal)) === undefined) {
    onProgress?.(file.name, file.bytes, file.bytes)
    return
  }
  await rm(done, { force: true })
  const unfinished = join(part, partName(file))
  for (let wrong = 1; ; wrong += 1) {
    await fetchBytes(job, file, unfinished)
    const found = await mismatch(unfinished, file, signal)
    if (found === undefined) break
    await rm(unfinished, { force: true })
    if (wrong === wrongContents) {
      throw new UserError({ code: 'bad-input', what: `the server sends another file than the hub lists: its hash is ${found}`, place: { file: file.name }, expected: `${file.expected.hash}, ${file.bytes} bytes`, remedy: 'Try again later or with another --mirror; nothing of this file was kept.' })
    }
    onRetry?.(`${file.name}: it does not have its hash; fetching it once more from the beginning`)
  }
  await recordHash(job, file)
  await renamePatiently(unfinished, done)
}

/** The hash of a file where it is not the one it ought to have. */
async function mismatch(path: string, { expected }: HubFile, signal: AbortSignal): Promise<string | undefined> {
  const { sha256, git } = await hashFile(path, undefined, signal)
  const found = expected.kind === 'git' ? git : sha256
  return found === expected.hash ? undefined : found
}

/** What the hub's own tools write beside a downloaded file - commit, hash, time - and verification reads. */
async function recordHash({ part, commit }: Job, { name, expected }: HubFile): Promise<void> {
  const record = join(part, '.cache', 'huggingface', 'download', `${name}.metadata`)
  await writeFileAtomically(record, async (handle) => writeFully(handle, Buffer.from(`${commit}\n${expected.hash}\n${Date.now() / 1000}\n`, 'utf8')))
}

/** Fetches until the file has its length, going on after every failure that brought some progress. */
async function fetchBytes(job: Job, file: HubFile, unfinished: string): Promise<void> {
  const enough = Math.max(1, Math.min(progressBytes, file.bytes / 10))
  await persistently(job.options, file.name, async (madeProgress) => {
    const before = await sizeOf(unfinished)
    if (before > file.bytes) await rm(unfinished)
    if (before === file.bytes && (await exists(unfinished))) return
    try {
      await fetchOnce(job, file, unfinished, before > file.bytes ? 0 : before)
    } finally {
      if ((await sizeOf(unfinished)) - before >= enough) madeProgress()
    }
  })
}

/** One request, written at its own position. What has come stays in the file, whatever happens. */
async function fetchOnce({ client, options, commit }: Job, file: HubFile, unfinished: string, from: number): Promise<void> {
  const { start, chunks } = await client.open(options.repository, commit, file.name, from)
  const handle = await open(unfinished, start === 0 ? 'w' : 'r+')
  try {
    let position = start
    for await (const chunk of chunks) {
      // More than was listed is wrong whatever follows; the hash of what there is will say so.
      const wanted = chunk.subarray(0, file.bytes - position)
      let written = 0
      while (written < wanted.length) written += (await handle.write(wanted, written, wanted.length - written, position + written)).bytesWritten
      position += wanted.length
      options.onProgress?.(file.name, position, file.bytes)
      if (wanted.length < chunk.length) break
    }
    await handle.sync()
    if (position < file.bytes) throw new TransferError(`the server ended after ${position} of ${file.bytes} bytes`)
  } finally {
    await handle.close()
  }
}

/** Tries again, with growing pauses, as long as failures are of the passing kind and not too many in a row bring nothing. */
async function persistently<Value>({ signal, onRetry, waitMilliseconds = 1000, mirror }: DownloadOptions, what: string, attempt: (madeProgress: () => void) => Promise<Value>): Promise<Value> {
  let failures = 0
  for (;;) {
    let progress = false
    try {
      return await attempt(() => (progress = true))
    } catch (error) {
      if (!(error instanceof TransferError)) throw error
      failures = progress ? 1 : failures + 1
      if (failures >= triesWithoutProgress) {
        throw new UserError({ code: 'network', what: `${what} could not be had: ${error.message}, ${failures} times in a row`, place: { file: mirror }, remedy: 'Check the connection. What has come is kept: the same command goes on from there.' }, { cause: error })
      }
      const pause = Math.min(longestWaitMilliseconds, Math.max(error.waitMilliseconds ?? 0, waitMilliseconds * 2 ** (failures - 1)))
      onRetry?.(`${what}: ${error.message}; trying again`)
      await sleep(pause, undefined, { signal }).catch(() => undefined)
      // An aborted pause: the next request says so in the words of a stopped download.
    }
  }
}

async function sizeOf(path: string): Promise<number> {
  return stat(path).then(({ size }) => size, () => 0)
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(() => true, () => false)
}
