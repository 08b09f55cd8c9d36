// Datasets in text: JSONL, one JSON array, CSV, TSV, and plain lines.
import { open, stat } from 'node:fs/promises'
import { UserError } from '../../contract/errors.ts'
import type { Beat, DataRow, DataSource, RowValue } from './data-source.ts'
import { createRecordIndex } from './record-index.ts'
import { guessDelimiter, splitRow } from './separated-values.ts'
import { asReadError, readRecords } from './text-records.ts'
import type { RecordKind, TextRecord } from './text-records.ts'

export type TextFormat = 'jsonl' | 'json' | 'csv' | 'tsv' | 'text'

const kinds: Readonly<Record<TextFormat, RecordKind>> = { jsonl: 'lines', json: 'elements', csv: 'quoted', tsv: 'quoted', text: 'lines' }
const byteOrderMark = '\uFEFF'
const beatEvery = 512

/** What turns a record into a row. `headerRecords` stand before the first row. */
interface RowReader {
  readonly headerRecords: number
  readonly columns: readonly string[] | undefined
  read(text: string): RowValue | string
}

/**
 * Opens a text dataset; nothing but its beginning is read.
 * @throws UserError when the file cannot be read, is empty, or is not UTF-8
 */
export async function openTextSource(path: string, format: TextFormat): Promise<DataSource> {
  const bytes = await sizeOf(path)
  await refuseOtherEncodings(path)
  const kind = kinds[format]
  const reader = await rowReader(path, format, kind)
  const index = createRecordIndex(path, kind)
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const rowOf = (record: TextRecord, number: number): DataRow => readRow(decoder, reader, record, number)
  const counted = (): number => Math.max(0, index.known - reader.headerRecords)

  async function* scan(beat?: Beat): AsyncGenerator<DataRow> {
    let number = -reader.headerRecords
    for await (const record of readRecords(path, kind)) {
      if (number >= 0) yield rowOf(record, number)
      number += 1
      if (number % beatEvery === 0) await beat?.(record.offset, bytes)
    }
  }

  return {
    format,
    bytes,
    files: [path],
    total: () => (index.complete ? counted() : null),
    read: async (offset, count) => (await index.read(offset + reader.headerRecords, count)).map((record, place) => rowOf(record, offset + place)),
    scan,
    count: async (beat) => {
      await index.extend(Infinity, () => beat?.(index.bytes, bytes))
      return counted()
    },
    close: () => index.close(),
  }
}

function readRow(decoder: InstanceType<typeof TextDecoder>, reader: RowReader, record: TextRecord, index: number): DataRow {
  const { line } = record
  let text: string
  try {
    text = decoder.decode(record.bytes)
  } catch {
    return { index, line, value: null, problem: 'the row is not UTF-8 text' }
  }
  const value = reader.read(text)
  return typeof value === 'string' ? { index, line, value: null, problem: value } : { index, line, value, problem: '' }
}

async function rowReader(path: string, format: TextFormat, kind: RecordKind): Promise<RowReader> {
  switch (format) {
    case 'jsonl':
    case 'json':
      return { headerRecords: 0, columns: undefined, read: readJson }
    case 'text':
      return { headerRecords: 0, columns: ['text'], read: (text) => ({ text: text.replace(/\r$/, '') }) }
    case 'csv':
    case 'tsv': {
      const header = await firstRecord(path, kind)
      const delimiter = format === 'tsv' ? '\t' : guessDelimiter(header)
      const columns = columnNames(splitRow(header, delimiter))
      return { headerRecords: 1, columns, read: (text) => readCells(text, delimiter, columns) }
    }
  }
}

function readJson(text: string): RowValue | string {
  let value: unknown
  try {
    value = JSON.parse(text.startsWith(byteOrderMark) ? text.slice(1) : text)
  } catch (error) {
    return `the row is not JSON (${(error as Error).message})`
  }
  if (typeof value === 'string') return { text: value }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'the row is not an object with fields'
  return value as RowValue
}

function readCells(text: string, delimiter: string, columns: readonly string[]): RowValue | string {
  const cells = splitRow(text, delimiter)
  if (cells.length > columns.length) return `the row has ${cells.length} cells, the heading ${columns.length}; a cell with a ${delimiter === '\t' ? 'tab' : delimiter} in it has to be quoted`
  return Object.fromEntries(columns.map((column, at) => [column, cells[at] ?? '']))
}

async function firstRecord(path: string, kind: RecordKind): Promise<string> {
  for await (const { bytes } of readRecords(path, kind)) return bytes.toString('utf8').replace(byteOrderMark, '')
  throw new UserError({ code: 'bad-input', what: 'the file is empty', place: { file: path }, expected: 'a row of headings and rows below it' })
}

/** Names of columns, each once: a heading that is empty or was used before gets a number. */
function columnNames(cells: readonly string[]): string[] {
  const used = new Set<string>()
  return cells.map((cell, at) => {
    const plain = cell.trim() === '' ? `column ${at + 1}` : cell.trim()
    let name = plain
    for (let copy = 2; used.has(name); copy += 1) name = `${plain} (${copy})`
    used.add(name)
    return name
  })
}

async function sizeOf(path: string): Promise<number> {
  const file = await stat(path).catch((error: unknown) => {
    throw asReadError(error, path)
  })
  if (file.size === 0) throw new UserError({ code: 'bad-input', what: 'the file is empty', place: { file: path } })
  return file.size
}

/** Spreadsheets like to write UTF-16; its bytes would look like damaged rows. */
async function refuseOtherEncodings(path: string): Promise<void> {
  const handle = await open(path, 'r').catch((error: unknown) => {
    throw asReadError(error, path)
  })
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(64), 0, 64, 0)
    const start = buffer.subarray(0, bytesRead)
    const utf16 = (start[0] === 0xff && start[1] === 0xfe) || (start[0] === 0xfe && start[1] === 0xff)
    if (utf16) throw new UserError({ code: 'bad-input', what: 'the file is UTF-16 text', place: { file: path }, expected: 'UTF-8', remedy: 'Save it again as UTF-8.' })
    if (start.includes(0)) throw new UserError({ code: 'bad-input', what: 'the file is not text', place: { file: path }, expected: 'a dataset in JSONL, JSON, CSV, TSV, Parquet or plain text' })
  } finally {
    await handle.close()
  }
}
