// A run's reward in a few numbers, without reading its metrics: small files whole, large ones at places spread over them.
import { open } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { z } from 'zod'
import { parseJson } from './run-files.ts'

export interface Spark {
  /** Mean rewards, first to last, at most `places`. */
  readonly rewards: readonly number[]
  readonly lastStep: number
}

const places = 40
const wholeBytes = 256 * 1024
/** Longer than any row. */
const windowBytes = 16 * 1024

const rowSchema = z.object({ step: z.number().int(), values: z.record(z.string(), z.unknown()) })

/** The spark of a metrics.jsonl; empty where there is none. */
export async function readSpark(file: string): Promise<Spark> {
  let handle: FileHandle
  try {
    handle = await open(file, 'r')
  } catch {
    return { rewards: [], lastStep: 0 }
  }
  try {
    const { size } = await handle.stat()
    const lines = size <= wholeBytes ? await linesAt(handle, 0, size) : await sampledLines(handle, size)
    const rows = lines.flatMap((line) => {
      const row = rowSchema.safeParse(parseJson(line))
      return row.success ? [row.data] : []
    })
    const rewards = rows.flatMap(({ values }) => (typeof values['reward'] === 'number' ? [values['reward']] : []))
    return { rewards: evenly(rewards), lastStep: rows.at(-1)?.step ?? 0 }
  } finally {
    await handle.close()
  }
}

/** Whole lines of a stretch of the file; what is cut off at either end is left out, but for the start of the file. */
async function linesAt(handle: FileHandle, position: number, length: number): Promise<string[]> {
  const buffer = Buffer.alloc(length)
  const { bytesRead } = await handle.read(buffer, 0, length, position)
  const lines = buffer.toString('utf8', 0, bytesRead).split('\n')
  return lines.slice(position === 0 ? 0 : 1, -1)
}

async function sampledLines(handle: FileHandle, size: number): Promise<string[]> {
  const lines: string[] = []
  for (let place = 0; place < places - 1; place += 1) {
    const [line] = await linesAt(handle, Math.floor((place / places) * size), windowBytes)
    if (line !== undefined) lines.push(line)
  }
  const last = (await linesAt(handle, size - windowBytes, windowBytes)).at(-1)
  return last === undefined ? lines : [...lines, last]
}

function evenly(values: readonly number[]): number[] {
  if (values.length <= places) return [...values]
  return Array.from({ length: places }, (_, index) => values[Math.round((index * (values.length - 1)) / (places - 1))] as number)
}
