// Reading of files in a run folder. Forgiving (a killed engine leaves half a line behind), never silent: what could not be read is counted.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { constants, gunzip } from 'node:zlib'
import { z } from 'zod'
import { UserError } from '../contract/errors.ts'

export interface Reading<Value> {
  readonly values: Value[]
  /** Lines that could not be read, not counting a half-written last one. */
  readonly unreadable: number
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

/** The value of a JSON text; undefined where it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Text of a file, '' when it is not there. A gzip file that was cut off gives what it holds up to there. */
export async function readText(path: string): Promise<string> {
  let bytes: Buffer
  try {
    bytes = await readFile(path)
  } catch {
    return ''
  }
  if (!path.endsWith('.gz')) return bytes.toString('utf8')
  try {
    return (await promisify(gunzip)(bytes, { finishFlush: constants.Z_SYNC_FLUSH })).toString('utf8')
  } catch {
    return ''
  }
}

/** Names in a folder, sorted; none when the folder is not there. */
export async function namesIn(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).sort()
  } catch {
    return []
  }
}

/** The part of run.json the app needs by itself; the rest it hands on as it is. */
const storedRunSchema = z.looseObject({
  version: z.number().int(),
  training: z.looseObject({ steps: z.number().int() }),
  model: z.string().optional(),
  seed: z.number().optional(),
  created: z.string().optional(),
  estimator: z.looseObject({ name: z.string() }).optional(),
})
export type StoredRun = z.infer<typeof storedRunSchema>
const knownVersion = 1

/**
 * run.json of a folder.
 * @throws UserError when it is not there, of a newer version, or damaged
 */
export async function readStoredRun(directory: string): Promise<StoredRun> {
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
