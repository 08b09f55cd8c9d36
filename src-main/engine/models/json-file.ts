// Reading the small JSON files of a model folder with errors a person can act on.
import { readFile } from 'node:fs/promises'
import type { z } from 'zod'
import { UserError } from '../../contract/errors.ts'

/** Node's code of a failed file call (`ENOENT`, `ENOSPC`, ...), or undefined for any other error. */
export function fileErrorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}

/**
 * Reads and parses a JSON file (UTF-8, an optional byte order mark is skipped).
 * @throws UserError `not-found` when the file is missing, `bad-input` when it cannot be read or is not JSON.
 */
export async function readJsonFile(path: string, remedy = 'Copy the whole model folder again.'): Promise<unknown> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    if (fileErrorCode(error) === 'ENOENT') throw new UserError({ code: 'not-found', what: 'the file does not exist', place: { file: path }, remedy })
    throw new UserError({ code: 'bad-input', what: `the file cannot be read (${String(error)})`, place: { file: path }, remedy }, { cause: error })
  }
  try {
    return JSON.parse(text.startsWith('\uFEFF') ? text.slice(1) : text) as unknown
  } catch (error) {
    throw new UserError({ code: 'bad-input', what: `the file is not JSON (${(error as Error).message})`, place: { file: path }, remedy }, { cause: error })
  }
}

/** Like {@link readJsonFile}, but undefined when the file is missing: for the files a model may leave out. */
export async function readOptionalJsonFile(path: string): Promise<unknown> {
  try {
    return await readJsonFile(path)
  } catch (error) {
    if (error instanceof UserError && error.envelope.code === 'not-found') return undefined
    throw error
  }
}

/**
 * Checks a parsed value against a schema.
 * @throws UserError `bad-input` naming file and first wrong field.
 */
export function checkFile<T>(schema: z.ZodType<T>, value: unknown, file: string, remedy: string): T {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const issue = result.error.issues[0]
  const field = issue === undefined || issue.path.length === 0 ? undefined : issue.path.map(String).join('.')
  throw new UserError({
    code: 'bad-input',
    what: issue === undefined ? 'the content is not valid' : issue.message,
    place: field === undefined ? { file } : { file, field },
    remedy,
  })
}
