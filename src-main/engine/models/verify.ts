// Whether a model is usable, checked from its files up: shapes and types, the hash of every file, the tokenizer against the embedding, the
// chat template, and a few tokens it is made to write.
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { lstat, readdir, readFile, realpath, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { UserError } from '../../contract/errors.ts'
import { createChatTemplate } from './chat-template.ts'
import { openModelFolder } from './model-folder.ts'
import type { ModelFolder } from './model-folder.ts'
import type { RecordedVerification } from './model-library.ts'
import { detailsOf } from './model-summary.ts'
import type { ModelDetails } from './model-summary.ts'

/** A hash a file ought to have: sha256, or git's own of the small files of a repository. */
export interface ExpectedHash {
  readonly kind: 'sha256' | 'git'
  readonly hash: string
  /** Who says so: the hub's cache or download record, or an earlier verification. */
  readonly from: 'hub' | 'earlier'
}

export interface VerifiedFile {
  readonly name: string
  readonly bytes: number
  readonly sha256: string
  readonly expected: ExpectedHash | null
  /** Null where nothing says which hash it ought to have. */
  readonly matches: boolean | null
}

export interface VerificationCheck {
  readonly name: 'tensors' | 'hashes' | 'tokenizer' | 'template' | 'generation'
  readonly state: 'passed' | 'failed' | 'skipped'
  /** What was found, as a sentence without its full stop. */
  readonly what: string
}

export interface Verification {
  readonly path: string
  readonly usable: boolean
  /** The whole result for a person. */
  readonly sentence: string
  readonly details: ModelDetails | null
  readonly bytes: number
  readonly files: readonly VerifiedFile[]
  readonly checks: readonly VerificationCheck[]
}

export interface VerifyOptions {
  /** What the files held when this model was verified before. */
  readonly earlier?: RecordedVerification | undefined
  /**
   * Makes the model write a few tokens; returns their text and in which way it was run where that is worth saying, or why it was left out. Called last, and only if nothing has failed.
   * @throws UserError when the model cannot be run
   */
  readonly generate: () => Promise<{ readonly text: string; readonly how?: string } | { readonly skipped: string }>
  readonly onProgress?: (file: string, doneBytes: number, totalBytes: number) => void
  readonly signal?: AbortSignal
}

/**
 * Verifies a model folder or .gguf file. What is wrong with the model is in the result, not thrown.
 * @throws UserError `not-found` when there is nothing at the path, `stopped` when `signal` is aborted
 */
export async function verifyModel(path: string, options: VerifyOptions): Promise<Verification> {
  const names = await fileNames(path)
  const checks: VerificationCheck[] = []
  const attempt = async (name: VerificationCheck['name'], check: () => Promise<string>): Promise<void> => {
    try {
      checks.push({ name, state: 'passed', what: await check() })
    } catch (error) {
      if (!(error instanceof UserError) || error.envelope.code === 'stopped') throw error
      checks.push({ name, state: 'failed', what: error.message.replace(/\.$/, '') })
    }
  }
  let model: ModelFolder | undefined
  try {
    await attempt('tensors', async () => {
      model = await openModelFolder(path)
      return `all ${model.names.length - model.warnings.length} tensors are there in their shapes`
    })
    const opened = model
    if (opened !== undefined) {
      await attempt('tokenizer', () => checkTokenizer(opened))
      await attempt('template', () => checkTemplate(opened))
    }
    const files = await hashFiles(path, names, options)
    checks.push(checkHashes(files, options.earlier))
    const details = opened === undefined ? null : detailsOf(opened)
    if (details !== null && checks.every(({ state }) => state !== 'failed')) {
      const written = await generationCheck(options.generate)
      checks.push(written)
    }
    const usable = checks.every(({ state }) => state !== 'failed')
    return { path, usable, sentence: summary(details, checks), details, bytes: files.reduce((sum, file) => sum + file.bytes, 0), files, checks }
  } finally {
    await model?.close()
  }
}

/** The record of a verification, for the next one to compare with. */
export function recordOf(verification: Verification, time: string): RecordedVerification {
  return { time, files: Object.fromEntries(verification.files.map(({ name, bytes, sha256 }) => [name, { bytes, sha256 }])) }
}

/** A model's own files: the ones directly in a folder, hidden ones left out, or the file itself. */
async function fileNames(path: string): Promise<string[]> {
  const place = await stat(path).catch(() => undefined)
  if (place === undefined) throw new UserError({ code: 'not-found', what: 'there is no such file or folder', place: { file: path }, expected: 'a model folder or a .gguf file' })
  if (!place.isDirectory()) return [basename(path)]
  const names = (await readdir(path)).filter((name) => !name.startsWith('.')).toSorted()
  const isFile = await Promise.all(names.map((name) => stat(join(path, name)).then((file) => file.isFile(), () => false)))
  return names.filter((_, index) => isFile[index])
}

async function checkTokenizer(model: ModelFolder): Promise<string> {
  const { size } = await model.tokenizer()
  const { vocabularySize, eosIds } = model.config
  const padding = vocabularySize - size
  const ends = eosIds.length === 0 ? '; no id ends a completion, so each runs to its longest length' : ''
  return `the tokenizer has ${size} ids for ${vocabularySize} rows of the embedding${padding === 0 ? '' : ` (${padding} padding rows, never sampled)`}${ends}`
}

async function checkTemplate(model: ModelFolder): Promise<string> {
  if (model.chatTemplate === null) return 'there is no chat template: prompts are given as plain text'
  const ids = createChatTemplate(model.chatTemplate, await model.tokenizer()).encode([{ role: 'user', content: 'Hello' }])
  return `the chat template writes a short question in ${ids.length} tokens`
}

async function generationCheck(generate: () => Promise<{ readonly text: string; readonly how?: string } | { readonly skipped: string }>): Promise<VerificationCheck> {
  try {
    const result = await generate()
    return 'text' in result ? { name: 'generation', state: 'passed', what: `${result.how === undefined ? '' : `with ${result.how} `}it wrote ${JSON.stringify(result.text)}` } : { name: 'generation', state: 'skipped', what: result.skipped }
  } catch (error) {
    if (!(error instanceof UserError) || error.envelope.code === 'stopped') throw error
    return { name: 'generation', state: 'failed', what: error.message.replace(/\.$/, '') }
  }
}

async function hashFiles(path: string, names: readonly string[], { earlier, onProgress, signal }: VerifyOptions): Promise<VerifiedFile[]> {
  const inFolder = (await stat(path)).isDirectory()
  const files: VerifiedFile[] = []
  for (const name of names) {
    const file = inFolder ? join(path, name) : path
    const expected = (await hubHash(file)) ?? earlierHash(earlier, name)
    const { bytes, sha256, git } = await hashFile(file, (done, total) => onProgress?.(name, done, total), signal)
    files.push({ name, bytes, sha256, expected, matches: expected === null ? null : expected.hash === (expected.kind === 'git' ? git : sha256) })
  }
  return files
}

/**
 * Hashes of a file, streamed: sha256, and git's sha1 over "blob SIZE\0" and the content, by which the hub knows small files.
 * @throws UserError `bad-input` when it cannot be read, `stopped` when `signal` is aborted
 */
export async function hashFile(file: string, onProgress?: (done: number, total: number) => void, signal?: AbortSignal): Promise<{ bytes: number; sha256: string; git: string }> {
  try {
    const { size } = await stat(file)
    const sha256 = createHash('sha256')
    const git = createHash('sha1').update(`blob ${size}\0`)
    let bytes = 0
    for await (const piece of createReadStream(file, { highWaterMark: 1 << 20 })) {
      if (signal?.aborted === true) throw new UserError({ code: 'stopped', what: 'stopped while the hash of the file was computed', place: { file } })
      sha256.update(piece as Buffer)
      // Large files are never known by git's hash, and hashing twice takes time.
      if (size < gitHashBelow) git.update(piece as Buffer)
      bytes += (piece as Buffer).length
      onProgress?.(bytes, size)
    }
    return { bytes, sha256: sha256.digest('hex'), git: size < gitHashBelow ? git.digest('hex') : '' }
  } catch (error) {
    if (error instanceof UserError) throw error
    throw new UserError({ code: 'bad-input', what: `the file cannot be read (${String(error)})`, place: { file }, remedy: 'Check the disk, or copy the file again.' }, { cause: error })
  }
}

const gitHashBelow = 64 * 1024 * 1024

/**
 * The hash the hub publishes for a file, where its cache or a download kept it: the name of the blob a snapshot links to, or the second
 * line of `.cache/huggingface/download/NAME.metadata` (commit, hash, time). 64 hex digits are a sha256, 40 are git's.
 */
async function hubHash(file: string): Promise<ExpectedHash | null> {
  if ((await lstat(file)).isSymbolicLink()) {
    const blob = await realpath(file)
    return basename(dirname(blob)) === 'blobs' ? publishedHash(basename(blob)) : null
  }
  const record = join(dirname(file), '.cache', 'huggingface', 'download', `${basename(file)}.metadata`)
  const lines = await readFile(record, 'utf8').then((text) => text.split('\n'), () => [])
  return publishedHash(lines[1]?.trim() ?? '')
}

/** A hash as the hub writes it in file names and etags, or null for an etag that is none. */
export function publishedHash(tag: string): ExpectedHash | null {
  const hash = tag.toLowerCase()
  if (/^[0-9a-f]{64}$/.test(hash)) return { kind: 'sha256', hash, from: 'hub' }
  return /^[0-9a-f]{40}$/.test(hash) ? { kind: 'git', hash, from: 'hub' } : null
}

function earlierHash(earlier: RecordedVerification | undefined, name: string): ExpectedHash | null {
  const known = earlier !== undefined && Object.hasOwn(earlier.files, name) ? earlier.files[name] : undefined
  return known === undefined ? null : { kind: 'sha256', hash: known.sha256, from: 'earlier' }
}

function checkHashes(files: readonly VerifiedFile[], earlier: RecordedVerification | undefined): VerificationCheck {
  const wrong = files.filter(({ matches }) => matches === false)
  const list = (chosen: readonly VerifiedFile[]): string => chosen.map(({ name }) => name).join(', ')
  const published = wrong.filter(({ expected }) => expected?.from === 'hub')
  if (published.length > 0) return { name: 'hashes', state: 'failed', what: `${list(published)}: not the hash it was published with, so the file is damaged or has been changed; copy or download it again` }
  if (wrong.length > 0) return { name: 'hashes', state: 'failed', what: `${list(wrong)}: changed since the verification of ${earlier?.time.slice(0, 10) ?? ''}; if you changed it yourself, verify once more with --accept` }
  const gone = Object.keys(earlier?.files ?? {}).filter((name) => !files.some((file) => file.name === name))
  if (gone.length > 0) return { name: 'hashes', state: 'failed', what: `${gone.join(', ')}: gone since the verification of ${earlier?.time.slice(0, 10) ?? ''}; if you removed it yourself, verify once more with --accept` }
  const known = files.filter(({ matches }) => matches === true)
  const of = (from: ExpectedHash['from']): number => known.filter(({ expected }) => expected?.from === from).length
  const parts = [
    ...(of('hub') === 0 ? [] : [`${of('hub')} of ${files.length} files as the hub published them`]),
    ...(of('earlier') === 0 ? [] : [`${of('earlier')} of ${files.length} files as they were verified on ${earlier?.time.slice(0, 10) ?? ''}`]),
  ]
  return parts.length > 0 ? { name: 'hashes', state: 'passed', what: parts.join(', ') } : { name: 'hashes', state: 'skipped', what: 'nothing says which hashes its files ought to have; they are recorded for the next time' }
}

function summary(details: ModelDetails | null, checks: readonly VerificationCheck[]): string {
  const failed = checks.find(({ state }) => state === 'failed')
  if (failed !== undefined) return `Not usable: ${failed.what}.`
  const said = (name: VerificationCheck['name']): string => checks.find((check) => check.name === name)?.what ?? ''
  const size = details === null ? '' : `a ${details.family} model of ${(details.parameters / 1e6).toFixed(details.parameters < 1e8 ? 2 : 0)} million parameters whose tensors, tokenizer and template fit`
  return `Usable: ${size}; ${said('hashes')}; ${said('generation')}.`
}
