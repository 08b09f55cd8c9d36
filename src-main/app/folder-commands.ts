// Commands for an engine that another program started: left in the run folder, where it looks for them between two calls into the runtime.
import { randomUUID } from 'node:crypto'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { UserError } from '../contract/errors.ts'
import type { EngineCommand } from '../contract/events.ts'
import { commandFileName, controlFolder } from '../contract/run-control.ts'

/**
 * Puts a command into the folder, after those that are there; whole, or not at all.
 * @throws UserError 'storage' when the folder is not writable.
 */
export async function leaveCommand(directory: string, command: EngineCommand): Promise<void> {
  const folder = join(directory, controlFolder)
  const name = commandFileName(randomUUID(), Date.now())
  const file = join(folder, name)
  const temporary = join(folder, `.${name}.tmp`)
  try {
    await mkdir(folder, { recursive: true })
    await writeFile(temporary, `${JSON.stringify(command)}\n`)
    await rename(temporary, file)
  } catch (error) {
    await rm(temporary, { force: true })
    throw new UserError(
      { code: 'storage', what: 'The command could not be handed to the engine of this run.', place: { file }, expected: 'a run folder Satchel may write to', remedy: 'Stop the run where it was started.' },
      { cause: error },
    )
  }
}
