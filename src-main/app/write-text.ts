// Files a person has chosen a place for.
import { writeFile } from 'node:fs/promises'
import { UserError } from '../contract/errors.ts'

/** Writes a text. @throws UserError `storage` with the file where it cannot be written */
export async function writeText(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text)
  } catch (error) {
    throw new UserError({ code: 'storage', what: 'The file cannot be written.', place: { file }, expected: 'a place Satchel may write to', remedy: 'Choose another place.' }, { cause: error })
  }
}
