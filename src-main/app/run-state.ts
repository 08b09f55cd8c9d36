// What a run folder tells about the state of its run, by the last sign of life of the engine that works, or worked, on it.
import { hostname } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { runStateSchema } from '../contract/events.ts'
import type { RunState } from '../contract/events.ts'
import { parseJson, readText } from './run-files.ts'

const statusSchema = z.object({ state: runStateSchema, step: z.number().int(), totalSteps: z.number().int(), pid: z.number().int(), host: z.string(), time: z.string(), message: z.string() })
/** An engine renews its sign of life every few seconds; one that is this old was left by an engine that is gone. */
const signOfLifeMilliseconds = 30_000
const finalStates: readonly RunState[] = ['stopped', 'done', 'failed']

/** Whether an engine is at work on a run in this state. */
export function isWorking(state: RunState): boolean {
  return !finalStates.includes(state)
}

function processExists(processId: number): boolean {
  try {
    process.kill(processId, 0)
    return true
  } catch (error) {
    // A process of another user may not be asked, but it is there.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

export interface FolderState {
  readonly state: RunState
  readonly step: number
  readonly message: string
}

/** The state by status.json. A state of work is believed only while its engine gives signs of life. @param done whether every step has its row */
export async function readState(directory: string, done: boolean): Promise<FolderState> {
  const status = statusSchema.safeParse(parseJson(await readText(join(directory, 'status.json'))))
  if (!status.success) return { state: done ? 'done' : 'stopped', step: 0, message: done ? 'Done.' : 'Not in progress. Resume continues from the newest checkpoint.' }
  const { state, step, message, pid, host, time } = status.data
  if (!isWorking(state)) return { state, step, message }
  const fresh = Math.abs(Date.now() - Date.parse(time)) < signOfLifeMilliseconds
  if (fresh && (host !== hostname() || processExists(pid))) return { state, step, message }
  return { state: 'failed', step, message: 'The engine of this run ended without a word: it was killed, or the machine was switched off. Nothing already written is lost; Resume continues from the newest checkpoint.' }
}
