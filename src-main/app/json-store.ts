// A small JSON file of the app: checked by a schema when it is read, whole or not there when it is written.
import { readFileSync } from 'node:fs'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { randomUUID } from 'node:crypto'
import { dirname } from 'node:path'
import { z } from 'zod'
import { UserError } from '../contract/errors.ts'

export interface JsonStore<Value> {
  readonly file: string
  readonly value: Value
  /** Why the file could not be read and the usual value is in use; empty otherwise. */
  readonly problem: string
  /** Makes the next value of the present one; one change at a time. @throws UserError `storage` when it cannot be written; the value is then as before. */
  update(change: (value: Value) => Value): Promise<void>
}

/** Reads the file at once: it is needed before the window is there. A damaged file is left as it is until the next write. */
export function openJsonStore<Schema extends z.ZodType>(file: string, schema: Schema, usual: z.infer<Schema>): JsonStore<z.infer<Schema>> {
  let { value, problem } = readStored(file, schema, usual)
  let turn: Promise<void> = Promise.resolve()

  async function replace(change: (value: z.infer<Schema>) => z.infer<Schema>): Promise<void> {
    const next = change(value)
    const temporary = `${file}.${randomUUID()}.tmp`
    try {
      await mkdir(dirname(file), { recursive: true })
      await writeFile(temporary, `${JSON.stringify(next, null, 2)}\n`)
      await rename(temporary, file)
    } catch (error) {
      await rm(temporary, { force: true }).catch(() => undefined)
      throw new UserError({ code: 'storage', what: 'This could not be kept for the next start.', place: { file }, expected: 'a folder Satchel may write to', remedy: 'Free some space or make the folder writable, then try again.' }, { cause: error })
    }
    value = next
    problem = ''
  }

  return {
    file,
    get value() {
      return value
    },
    get problem() {
      return problem
    },
    update(change) {
      const mine = turn.then(() => replace(change))
      turn = mine.catch(() => undefined)
      return mine
    },
  }
}

function readStored<Schema extends z.ZodType>(file: string, schema: Schema, usual: z.infer<Schema>): { value: z.infer<Schema>; problem: string } {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch {
    return { value: usual, problem: '' }
  }
  try {
    return { value: schema.parse(JSON.parse(text)), problem: '' }
  } catch (error) {
    const why = error instanceof z.ZodError ? z.prettifyError(error).split('\n')[0] : (error as Error).message
    return { value: usual, problem: `${file} cannot be read (${why ?? 'unknown form'}); the usual values are in use.` }
  }
}
