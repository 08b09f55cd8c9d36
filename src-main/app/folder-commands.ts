// Commands for an engine that another program started: left in the run folder, where it looks for them between two calls into the runtime.
import { randomUUID } from 'node:crypto'
import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { UserError } from '../contract/errors.ts'
import type { EngineCommand } from '../contract/events.ts'

/**
 * Puts a command into the folder; whole, or not at all.
 * @throws UserError 'storage' when the folder is not writable.
 */
export async function leaveCommand(directory: string, command: EngineCommand): Promise<void> {
  const file = join(directory, 'control.json')
  const temporary = join(directory, `.control-${randomUUID()}.tmp`)
  try {
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
