// The metrics of a run as columns of numbers: the file is read once, afterwards only what was appended to it. Nothing is kept of the text.
import { open } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import type { MetricSeries } from '../contract/calls/run-data.ts'
import type { MetricsRow } from '../contract/events.ts'
import { decimateColumn } from './decimate-column.ts'

export interface MetricsIndex {
  /** Takes in what the file holds beyond the last look. Rows from `from` on are new; `rewritten` when the file is another than before. */
  refresh(): Promise<{ readonly from: number; readonly rewritten: boolean }>
  readonly length: number
  /** Step of the newest row; 0 when there is none. */
  readonly lastStep: number
  /** Lines that are no metrics rows. */
  readonly unreadable: number
  readonly names: readonly string[]
  row(index: number): MetricsRow
  /** Named metrics (all where left out) over the steps `from`..`to`, thinned to the extremes of `columns` equal parts. */
  series(request: { readonly names?: readonly string[] | undefined; readonly from: number; readonly to: number; readonly columns: number }): MetricSeries[]
}

const chunkBytes = 1 << 20
/** Bytes before the place reached that are compared at every look: a resumed run writes its file anew. */
const proofBytes = 256
const lineEnd = 0x0a

/** A column of numbers that grows; NaN where a row did not have the metric. */
interface Column {
  values: Float64Array
}

/** An index of one metrics.jsonl; empty until the first `refresh`. A file that is not there is an empty one. */
export function createMetricsIndex(file: string): MetricsIndex {
  let steps: Float64Array = new Float64Array(64)
  let columns = new Map<string, Column>()
  let length = 0
  let unreadable = 0
  let offset = 0
  let proof = Buffer.alloc(0)
  let looking: Promise<unknown> = Promise.resolve()

  function reset(): void {
    columns = new Map()
    length = 0
    unreadable = 0
    offset = 0
    proof = Buffer.alloc(0)
  }

  function grow(): void {
    if (length < steps.length) return
    steps = widened(steps)
    for (const column of columns.values()) column.values = widened(column.values)
  }

  function columnOf(name: string): Column {
    const known = columns.get(name)
    if (known !== undefined) return known
    const column = { values: new Float64Array(steps.length).fill(Number.NaN) }
    columns.set(name, column)
    return column
  }

  function take(line: string): void {
    if (line.trim() === '') return
    const row = readRow(line)
    if (row === undefined) {
      unreadable += 1
      return
    }
    // A run that went back to a checkpoint did these steps again: the later row is what happened.
    while (length > 0 && (steps[length - 1] as number) >= row.step) length -= 1
    grow()
    steps[length] = row.step
    for (const column of columns.values()) column.values[length] = Number.NaN
    for (const [name, value] of Object.entries(row.values)) columnOf(name).values[length] = typeof value === 'number' ? value : Number.NaN
    length += 1
  }

  /** Whole lines from `offset` on; a last line without its end is being written and waits for the next look. */
  async function readOn(handle: FileHandle): Promise<void> {
    let rest = Buffer.alloc(0)
    const buffer = Buffer.alloc(chunkBytes)
    for (let at = offset; ; ) {
      const { bytesRead } = await handle.read(buffer, 0, chunkBytes, at)
      if (bytesRead === 0) break
      at += bytesRead
      const bytes = Buffer.concat([rest, buffer.subarray(0, bytesRead)])
      const end = bytes.lastIndexOf(lineEnd) + 1
      if (end > 0) {
        for (const line of bytes.toString('utf8', 0, end).split('\n')) take(line)
        proof = Buffer.from(bytes.subarray(Math.max(0, end - proofBytes), end))
        offset += end
      }
      rest = bytes.subarray(end)
    }
  }

  async function isContinued(handle: FileHandle): Promise<boolean> {
    if (offset === 0) return true
    const found = Buffer.alloc(proof.length)
    const { bytesRead } = await handle.read(found, 0, proof.length, offset - proof.length)
    return bytesRead === proof.length && found.equals(proof)
  }

  async function look(): Promise<{ from: number; rewritten: boolean }> {
    let handle: FileHandle
    try {
      handle = await open(file, 'r')
    } catch {
      const rewritten = length > 0
      reset()
      return { from: 0, rewritten }
    }
    try {
      const rewritten = !(await isContinued(handle))
      if (rewritten) reset()
      const before = length
      await readOn(handle)
      return { from: Math.min(before, length), rewritten }
    } finally {
      await handle.close()
    }
  }

  return {
    refresh() {
      const mine = looking.then(look)
      looking = mine.catch(() => undefined)
      return mine
    },
    get length() {
      return length
    },
    get lastStep() {
      return length === 0 ? 0 : (steps[length - 1] as number)
    },
    get unreadable() {
      return unreadable
    },
    get names() {
      return [...columns.keys()]
    },
    row: (index) => ({ step: steps[index] as number, values: Object.fromEntries([...columns].map(([name, { values }]) => [name, numberOrNull(values[index])])) }),
    series: ({ names, from, to, columns: parts }) =>
      [...columns].filter(([name]) => names === undefined || names.includes(name)).map(([name, { values }]) => ({ name, ...decimateColumn(steps.subarray(0, length), values, { from, to, parts }) })),
  }
}

function widened(values: Float64Array): Float64Array {
  const wider = new Float64Array(values.length * 2).fill(Number.NaN)
  wider.set(values)
  return wider
}

function numberOrNull(value: number | undefined): number | null {
  return value === undefined || Number.isNaN(value) ? null : value
}

/** A row read by hand: a schema for each of a million numbers would cost more than reading them. */
function readRow(line: string): { step: number; values: Record<string, unknown> } | undefined {
  let json: unknown
  try {
    json = JSON.parse(line)
  } catch {
    return undefined
  }
  if (typeof json !== 'object' || json === null || !('step' in json) || !('values' in json)) return undefined
  const { step, values } = json
  if (!Number.isInteger(step) || typeof values !== 'object' || values === null) return undefined
  return { step: step as number, values: values as Record<string, unknown> }
}
