// Records of a text file, one after the other, with where each begins: lines, rows of a table whose quoted cells may hold line ends, and the
// elements of one JSON array. Nothing is parsed here and no more than one record is held, so a file may be larger than memory.
import { createReadStream } from 'node:fs'
import { UserError } from '../../contract/errors.ts'
import { fileErrorCode } from '../models/json-file.ts'

/** `lines`: one a line. `quoted`: CSV and TSV. `elements`: of the first array of a JSON document. */
export type RecordKind = 'lines' | 'quoted' | 'elements'

/** Where a record begins. */
export interface Position {
  /** Bytes from the start of the file. */
  readonly offset: number
  /** 1-based. */
  readonly line: number
}

export interface TextRecord extends Position {
  /** The record without what divides it from the next. Valid until the next record is read. */
  readonly bytes: Buffer
}

interface Span {
  readonly start: number
  readonly end: number
}

/** Finds the ends of records in pieces of a file. Offsets are those of the file. */
interface Splitter {
  /** Records that end in this piece, which begins at `base`. */
  feed(piece: Buffer, base: number): Span[]
  /** Where the record that has begun and not ended begins; undefined between records. */
  open(): number | undefined
  /** The last record, where the file ends without dividing it from nothing. */
  finish(end: number): Span | undefined
}

const lineFeed = 0x0a
const quote = 0x22
/** A longer record is none: most likely the file is of another format. */
const largestRecordBytes = 16 * 1024 * 1024

function lineSplitter(from: number): Splitter {
  let start = from
  return {
    feed(piece, base) {
      const spans: Span[] = []
      for (let at = piece.indexOf(lineFeed); at >= 0; at = piece.indexOf(lineFeed, at + 1)) {
        spans.push({ start, end: base + at })
        start = base + at + 1
      }
      return spans
    },
    open: () => start,
    finish: (end) => (end > start ? { start, end } : undefined),
  }
}

function quotedSplitter(from: number): Splitter {
  let start = from
  let quoted = false
  return {
    feed(piece, base) {
      const spans: Span[] = []
      for (let at = 0; at < piece.length; at += 1) {
        const byte = piece[at]
        if (byte === quote) quoted = !quoted
        else if (byte === lineFeed && !quoted) {
          spans.push({ start, end: base + at })
          start = base + at + 1
        }
      }
      return spans
    },
    open: () => start,
    finish: (end) => (end > start ? { start, end } : undefined),
  }
}

const isSpace = (byte: number): boolean => byte === 0x20 || byte === lineFeed || byte === 0x0d || byte === 0x09
const opens = (byte: number): boolean => byte === 0x5b || byte === 0x7b
const closes = (byte: number): boolean => byte === 0x5d || byte === 0x7d

/** @param inside whether `from` lies between two elements of the array; otherwise the array is looked for */
function elementSplitter(inside: boolean): Splitter {
  // Depth counts from the array's own elements; before the array is found it is not known.
  let depth = 0
  let found = inside
  let done = false
  let text = false
  let escaped = false
  let start: number | undefined
  let lastByte = 0
  return {
    feed(piece, base) {
      const spans: Span[] = []
      for (let at = 0; at < piece.length && !done; at += 1) {
        const byte = piece[at] as number
        if (text) {
          if (escaped) escaped = false
          else if (byte === 0x5c) escaped = true
          else if (byte === quote) {
            text = false
            lastByte = base + at
          }
          continue
        }
        if (isSpace(byte)) continue
        if (!found) {
          if (byte === quote) text = true
          else if (byte === 0x5b) found = true
          continue
        }
        if (depth === 0 && (byte === 0x2c || byte === 0x5d)) {
          if (start !== undefined) spans.push({ start, end: lastByte + 1 })
          start = undefined
          done = byte === 0x5d
          continue
        }
        start ??= base + at
        lastByte = base + at
        if (byte === quote) text = true
        else if (opens(byte)) depth += 1
        else if (closes(byte)) depth -= 1
      }
      return spans
    },
    open: () => start,
    finish: (end) => (start === undefined ? undefined : { start, end }),
  }
}

function splitterOf(kind: RecordKind, from: number): Splitter {
  switch (kind) {
    case 'lines':
      return lineSplitter(from)
    case 'quoted':
      return quotedSplitter(from)
    case 'elements':
      return elementSplitter(from > 0)
  }
}

/**
 * Reads records from a position on, which must be 0 or the start of a record. Blank records are left out.
 * @throws UserError `not-found` or `bad-input` when the file cannot be read or holds a record that is none
 */
export async function* readRecords(path: string, kind: RecordKind, from: Position = { offset: 0, line: 1 }): AsyncGenerator<TextRecord> {
  const splitter = splitterOf(kind, from.offset)
  let { line } = from
  let counted = from.offset
  let kept: Buffer = Buffer.alloc(0)
  let base = from.offset
  const slice = (span: Span): TextRecord => {
    const buffer = kept
    const bufferBase = base
    line += lineEnds(buffer.subarray(counted - bufferBase, span.start - bufferBase))
    counted = span.start
    return { offset: span.start, line, bytes: buffer.subarray(span.start - bufferBase, span.end - bufferBase) }
  }
  try {
    for await (const chunk of createReadStream(path, { start: from.offset, highWaterMark: 1 << 18 })) {
      const piece = chunk as Buffer
      const spans = splitter.feed(piece, base + kept.length)
      kept = kept.length === 0 ? piece : Buffer.concat([kept, piece])
      for (const span of spans) {
        const record = slice(span)
        if (!isBlank(record.bytes)) yield record
      }
      const end = base + kept.length
      const open = splitter.open() ?? end
      line += lineEnds(kept.subarray(counted - base, open - base))
      counted = open
      kept = kept.subarray(open - base)
      base = open
      if (kept.length > largestRecordBytes) throw new UserError({ code: 'bad-input', what: `a record is longer than ${largestRecordBytes} bytes`, place: { file: path, row: line }, expected: expectedOf[kind] })
    }
    const last = splitter.finish(base + kept.length)
    if (last !== undefined) {
      const record = slice(last)
      if (!isBlank(record.bytes)) yield record
    }
  } catch (error) {
    throw asReadError(error, path)
  }
}

const expectedOf: Readonly<Record<RecordKind, string>> = { lines: 'one row a line', quoted: 'a table in which each quote is closed', elements: 'an array of objects' }

/** Turns a failed file call into what a person can act on; a UserError stays as it is. */
export function asReadError(error: unknown, path: string): unknown {
  if (error instanceof UserError || fileErrorCode(error) === undefined) return error
  if (fileErrorCode(error) === 'ENOENT') return new UserError({ code: 'not-found', what: 'the file does not exist', place: { file: path }, remedy: 'Open it again where it is now.' })
  return new UserError({ code: 'bad-input', what: `the file cannot be read (${String(error)})`, place: { file: path } }, { cause: error })
}

function lineEnds(bytes: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf(lineFeed); at >= 0; at = bytes.indexOf(lineFeed, at + 1)) count += 1
  return count
}

function isBlank(bytes: Buffer): boolean {
  for (const byte of bytes) if (!isSpace(byte)) return false
  return true
}
