// Commands that other processes leave in a run folder, and the engine that takes them, between two calls into the runtime.
import { randomUUID } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { engineCommandSchema } from '../../contract/events.ts'
import type { EngineCommand } from '../../contract/events.ts'
import { commandFileName, controlFolder, formerControlFile, isCommandFile } from '../../contract/run-control.ts'
import { writeFileAtomically, writeFully } from '../models/atomic-file.ts'

/** A source of commands for a run; `run.ts` reads it between two calls into the runtime. */
export interface CommandSource {
  /** The next pending command or undefined. */
  take(): EngineCommand | undefined
  /** Resolves when one is there; used while paused. */
  wait(): Promise<void>
}

const pollMilliseconds = 200

/**
 * Leaves a command for the engine that works on a folder, after those that are there.
 * @throws UserError `storage` when the folder is not writable
 */
export async function sendCommand(directory: string, command: EngineCommand): Promise<void> {
  const text = `${JSON.stringify(command)}\n`
  await writeFileAtomically(join(directory, controlFolder, commandFileName(randomUUID(), Date.now())), async (handle) => writeFully(handle, Buffer.from(text, 'utf8')))
}

/** The command that was left first, taken out of the folder; undefined when there is none. */
export function takeCommand(directory: string): EngineCommand | undefined {
  for (const file of commandFiles(directory)) {
    const text = takeFile(file)
    // Held by another program for the moment: it is read the next time, and none overtakes it.
    if (text === undefined) return undefined
    const command = engineCommandSchema.safeParse(parsed(text))
    // What is no command is nothing this engine could obey.
    if (command.success) return command.data
  }
  return undefined
}

/** Takes away what was left for an engine that is gone. */
export async function dropCommands(directory: string): Promise<void> {
  await rm(join(directory, formerControlFile), { force: true })
  await rm(join(directory, controlFolder), { force: true, recursive: true })
}

/** Commands from `source` and from the folder as one source. */
export function withFolderCommands(directory: string, source: CommandSource): CommandSource {
  return {
    take: () => source.take() ?? takeCommand(directory),
    async wait() {
      let timer: NodeJS.Timeout | undefined
      const fromFolder = new Promise<void>((resolve) => {
        timer = setInterval(() => {
          if (commandFiles(directory).length > 0) resolve()
        }, pollMilliseconds)
      })
      await Promise.race([source.wait(), fromFolder])
      clearInterval(timer)
    },
  }
}

/** Files of commands, the one left first at the start. */
function commandFiles(directory: string): string[] {
  const former = join(directory, formerControlFile)
  const folder = join(directory, controlFolder)
  return [...(existsSync(former) ? [former] : []), ...commandNames(folder).map((name) => join(folder, name))]
}

function commandNames(folder: string): string[] {
  try {
    return readdirSync(folder).filter(isCommandFile).sort()
  } catch {
    // Nobody has left one yet.
    return []
  }
}

function takeFile(path: string): string | undefined {
  try {
    const text = readFileSync(path, 'utf8')
    rmSync(path)
    return text
  } catch {
    return undefined
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
