// What the person told Satchel about models, beside the folders themselves: where added models lie, and what files held when they were
// last verified. One small JSON file in the models folder; losing it loses no model.
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import { UserError } from '../../contract/errors.ts'
import { writeFileAtomically, writeFully } from './atomic-file.ts'
import { checkFile, readOptionalJsonFile } from './json-file.ts'

const verificationSchema = z.object({
  /** ISO 8601, UTC. */
  time: z.string(),
  /** By file name: size in bytes and sha256 (hex). */
  files: z.record(z.string(), z.object({ bytes: z.number(), sha256: z.string() })),
})

const librarySchema = z.object(
  {
    version: z.literal(1, 'was written by another version of Satchel'),
    added: z.array(z.object({ name: z.string(), path: z.string() })),
    /** By absolute path of the model. */
    verified: z.record(z.string(), verificationSchema),
  },
  'must hold one JSON object',
)

/** What the files of a model held when it was verified. */
export type RecordedVerification = z.infer<typeof verificationSchema>
export type ModelLibrary = z.infer<typeof librarySchema>

const empty: ModelLibrary = { version: 1, added: [], verified: {} }
const modelName = /^[A-Za-z0-9][A-Za-z0-9._-]*$/

/** The file inside a models folder. */
export function libraryFile(folder: string): string {
  return join(folder, 'library.json')
}

/** Reads a models folder's library; an empty one where there is none. @throws UserError naming the file when it is damaged. */
export async function readLibrary(folder: string): Promise<ModelLibrary> {
  const file = libraryFile(folder)
  const value = await readOptionalJsonFile(file)
  return value === undefined ? empty : checkFile(librarySchema, value, file, 'Remove this file: it only lists added models and earlier verifications.')
}

/** Refuses what cannot be the name of a model and its folder. */
export function checkModelName(name: string): void {
  if (!modelName.test(name)) throw new UserError({ code: 'usage', what: `"${name}" cannot be the name of a model`, expected: 'letters, digits, dots, dashes and underscores', remedy: 'Choose one with --name.' })
}

/**
 * Remembers where a model lies. Nothing is copied.
 * @throws UserError `bad-input` when the name is taken, `storage` when the library cannot be written
 */
export async function addToLibrary(folder: string, name: string, path: string): Promise<void> {
  checkModelName(name)
  const library = await readLibrary(folder)
  if (library.added.some((entry) => entry.name === name) || existsSync(join(folder, name))) {
    throw new UserError({ code: 'bad-input', what: `there is a model named "${name}" already`, place: { file: folder }, remedy: 'Choose another name with --name.' })
  }
  await writeLibrary(folder, { ...library, added: [...library.added, { name, path: resolve(path) }] })
}

/**
 * Forgets an added model; its files stay where they are.
 * @returns the path it had
 * @throws UserError `not-found` when no model of this name was added
 */
export async function removeFromLibrary(folder: string, name: string): Promise<string> {
  const library = await readLibrary(folder)
  const found = library.added.find((entry) => entry.name === name)
  if (found === undefined) throw new UserError({ code: 'not-found', what: `no model named "${name}" was added`, place: { file: libraryFile(folder) }, remedy: 'satchel models list shows the added ones. A copied model is removed by removing its folder.' })
  await writeLibrary(folder, { ...library, added: library.added.filter((entry) => entry !== found) })
  return found.path
}

/** Keeps what a verification found, in place of an earlier one of the same model. */
export async function recordVerification(folder: string, path: string, verification: RecordedVerification): Promise<void> {
  const library = await readLibrary(folder)
  await writeLibrary(folder, { ...library, verified: { ...library.verified, [resolve(path)]: verification } })
}

async function writeLibrary(folder: string, library: ModelLibrary): Promise<void> {
  const text = `${JSON.stringify(library, null, 2)}\n`
  await writeFileAtomically(libraryFile(folder), async (handle) => writeFully(handle, Buffer.from(text, 'utf8')))
}
