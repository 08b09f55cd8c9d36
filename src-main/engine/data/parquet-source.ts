// Datasets in Parquet. Rows are read by row group; the group that was read last is kept, so that scrolling reads each group once.
import { open, stat } from 'node:fs/promises'
import * as zlib from 'node:zlib'
import { parquetMetadataAsync, parquetReadObjects } from 'hyparquet'
import { UserError } from '../../contract/errors.ts'
import type { Beat, DataRow, DataSource, RowValue } from './data-source.ts'
import { asReadError } from './text-records.ts'

interface Group {
  /** First row, and one after the last. */
  readonly start: number
  readonly end: number
  readonly bytes: number
}

interface Buffered {
  readonly byteLength: number
  slice(start: number, end?: number): Promise<ArrayBuffer>
}

/** A group with more bytes than this, unpacked, is read in pieces. */
const largestGroupBytes = 512 * 1024 * 1024
const pieceRows = 2000

type Compressors = NonNullable<Parameters<typeof parquetReadObjects>[0]['compressors']>

/** hyparquet unpacks Snappy itself; the rest is Node's. Zstandard came to Node with 22.15. */
function compressors(): Compressors {
  const plain = (bytes: Buffer): Uint8Array => new Uint8Array(bytes)
  const zstd = (zlib as { zstdDecompressSync?: (bytes: Uint8Array) => Buffer }).zstdDecompressSync
  return {
    GZIP: (input) => plain(zlib.gunzipSync(input)),
    BROTLI: (input) => plain(zlib.brotliDecompressSync(input)),
    ZSTD: (input) => {
      if (zstd === undefined) throw new UserError({ code: 'bad-input', what: 'the file is packed with Zstandard, which this version of Node cannot unpack', expected: 'Snappy, gzip, Brotli or no compression', remedy: 'Write the file again with Snappy, or use Node 22.15 or newer.' })
      return plain(zstd(input))
    },
  }
}

/**
 * Opens a Parquet file; nothing but its footer is read.
 * @throws UserError when the file cannot be read or is no Parquet file
 */
export async function openParquetSource(path: string): Promise<DataSource> {
  const { size } = await stat(path).catch((error: unknown) => {
    throw asReadError(error, path)
  })
  const handle = await open(path, 'r')
  const file: Buffered = {
    byteLength: size,
    async slice(start, end = size) {
      const bytes = new ArrayBuffer(Math.max(0, end - start))
      await handle.read(new Uint8Array(bytes), 0, bytes.byteLength, start)
      return bytes
    },
  }
  const metadata = await parquetMetadataAsync(file).catch(async (error: unknown) => {
    await handle.close()
    throw new UserError({ code: 'bad-input', what: `the file is no whole Parquet file (${(error as Error).message})`, place: { file: path }, remedy: 'Copy or download it again.' })
  })
  const groups: Group[] = []
  for (const group of metadata.row_groups) {
    const start = groups.at(-1)?.end ?? 0
    groups.push({ start, end: start + Number(group.num_rows), bytes: Number(group.total_byte_size) })
  }
  const total = groups.at(-1)?.end ?? 0
  const unpack = compressors()
  let kept: { start: number; end: number; rows: DataRow[] } | undefined

  async function load(start: number, end: number): Promise<DataRow[]> {
    if (kept !== undefined && kept.start <= start && kept.end >= end) return kept.rows.slice(start - kept.start, end - kept.start)
    try {
      const read = await parquetReadObjects({ file, metadata, compressors: unpack, rowStart: start, rowEnd: end })
      const rows = read.map((value, at): DataRow => ({ index: start + at, line: start + at + 1, value: plainObject(value), problem: '' }))
      kept = { start, end, rows }
      return rows
    } catch (error) {
      if (error instanceof UserError) throw error
      throw new UserError({ code: 'bad-input', what: `rows ${start + 1} to ${end} cannot be read (${(error as Error).message})`, place: { file: path }, remedy: 'Copy or download the file again.' }, { cause: error })
    }
  }

  /** Pieces of a group that fit into memory; a whole group mostly. */
  function* pieces({ start, end, bytes }: Group): Generator<[number, number]> {
    const step = bytes > largestGroupBytes ? pieceRows : end - start
    for (let at = start; at < end; at += step) yield [at, Math.min(end, at + step)]
  }

  return {
    format: 'parquet',
    bytes: size,
    files: [path],
    total: () => total,
    async read(offset, count) {
      const rows: DataRow[] = []
      for (const group of groups.filter(({ start, end }) => start < offset + count && end > offset)) {
        for (const [start, end] of pieces(group)) {
          if (end <= offset || start >= offset + count) continue
          rows.push(...(await load(start, end)).slice(Math.max(0, offset - start), offset + count - start))
        }
      }
      return rows
    },
    async *scan(beat?: Beat) {
      for (const group of groups) {
        for (const [start, end] of pieces(group)) {
          yield* await load(start, end)
          await beat?.((end / Math.max(1, total)) * size, size)
        }
      }
    },
    count: async () => total,
    close: () => handle.close(),
  }
}

function plainObject(value: Record<string, unknown>): RowValue {
  return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, plainValue(entry)]))
}

/** Values as JSON has them: 64-bit numbers that JSON cannot hold become text, days and times ISO 8601. */
function plainValue(value: unknown): unknown {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value.toString()
  if (value instanceof Date) return value.toISOString()
  if (value instanceof Uint8Array) return `${value.length} bytes`
  if (Array.isArray(value)) return value.map(plainValue)
  if (ArrayBuffer.isView(value)) return Array.from(value as unknown as ArrayLike<number | bigint>, plainValue)
  if (typeof value === 'object' && value !== null) return plainObject(value as Record<string, unknown>)
  return value
}
