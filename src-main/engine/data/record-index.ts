// Finds the n-th record of a text file again without reading what lies before it: every so many records their place is kept. The index
// grows as far as somebody has looked, in the order of the file.
import { readRecords } from './text-records.ts'
import type { Position, RecordKind, TextRecord } from './text-records.ts'

export interface RecordIndex {
  /** Records that are known to be there so far. */
  readonly known: number
  /** Whether the end of the file has been reached, so that `known` is all. */
  readonly complete: boolean
  /** Bytes of the file that have been gone through. */
  readonly bytes: number
  /** Goes on until `count` records are known or the file ends; `beat` is called now and then and may throw to end it. */
  extend(count: number, beat?: () => void | Promise<void>): Promise<void>
  /** Records from the n-th on; fewer at the end of the file. */
  read(offset: number, count: number): Promise<TextRecord[]>
  close(): Promise<void>
}

/** A place is kept for each so many records: a read goes over at most this many in vain. */
const spacing = 256
const beatEvery = 4096

export function createRecordIndex(path: string, kind: RecordKind): RecordIndex {
  const places: Position[] = []
  const reader = readRecords(path, kind)
  let known = 0
  let complete = false
  let bytes = 0
  let turn: Promise<void> = Promise.resolve()

  async function advance(count: number, beat: (() => void | Promise<void>) | undefined): Promise<void> {
    while (known < count && !complete) {
      const next = await reader.next()
      if (next.done === true) {
        complete = true
        return
      }
      const { offset, line } = next.value
      if (known % spacing === 0) places.push({ offset, line })
      bytes = offset + next.value.bytes.length
      known += 1
      if (known % beatEvery === 0) await beat?.()
    }
  }

  /** One at a time: two readers of one position would each miss what the other read. */
  function extend(count: number, beat?: () => void | Promise<void>): Promise<void> {
    const mine = turn.then(() => advance(count, beat))
    turn = mine.catch(() => undefined)
    return mine
  }

  return {
    get known() {
      return known
    },
    get complete() {
      return complete
    },
    get bytes() {
      return bytes
    },
    extend,
    async read(offset, count) {
      await extend(offset + count)
      const place = places[Math.floor(offset / spacing)]
      if (place === undefined || offset >= known) return []
      const records: TextRecord[] = []
      let at = Math.floor(offset / spacing) * spacing
      for await (const record of readRecords(path, kind, place)) {
        if (at >= offset) records.push({ ...record, bytes: Buffer.from(record.bytes) })
        at += 1
        if (records.length === count) break
      }
      return records
    },
    async close() {
      await reader.return(undefined)
    },
  }
}
