// A dataset as rows that can be counted, looked at anywhere, and gone through, whatever format it lies in.
import type { DatasetFormat } from '../../contract/calls/datasets.ts'

/** A row's values by column. */
export type RowValue = Readonly<Record<string, unknown>>

export interface DataRow {
  /** 0-based, over all files of the dataset. */
  readonly index: number
  /** Line or row, 1-based, where a person would look for it in the file. */
  readonly line: number
  /** Null where the row cannot be read. */
  readonly value: RowValue | null
  /** Why the row cannot be read; empty otherwise. */
  readonly problem: string
}

/** How far long work is, in bytes or rows; it may throw to end the work. */
export type Beat = (done: number, total: number) => void | Promise<void>

export interface DataSource {
  readonly format: DatasetFormat
  /** Bytes of all files. */
  readonly bytes: number
  /** Absolute paths, in the order they are read. */
  readonly files: readonly string[]
  /** Rows in all; null until they have been counted. */
  total(): number | null
  /** Rows from `offset` on; fewer at the end. */
  read(offset: number, count: number): Promise<DataRow[]>
  /** Goes through all rows from the first on. `beat` gets bytes. */
  scan(beat?: Beat): AsyncGenerator<DataRow>
  /** Counts the rows. `beat` gets bytes. */
  count(beat?: Beat): Promise<number>
  close(): Promise<void>
}
