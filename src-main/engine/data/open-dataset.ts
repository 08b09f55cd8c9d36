// A path to a dataset: which format it is, and a source that reads it.
import { open, readdir, readFile, stat } from 'node:fs/promises'
import { basename, extname, join } from 'node:path'
import type { DatasetFormat } from '../../contract/calls/datasets.ts'
import { UserError } from '../../contract/errors.ts'
import type { Beat, DataRow, DataSource } from './data-source.ts'
import { openParquetSource } from './parquet-source.ts'
import { asReadError } from './text-records.ts'
import { openTextSource } from './text-source.ts'

type FileFormat = Exclude<DatasetFormat, 'folder'>

const formats: Readonly<Record<string, FileFormat>> = {
  '.jsonl': 'jsonl', '.ndjson': 'jsonl', '.json': 'json', '.csv': 'csv', '.tsv': 'tsv', '.tab': 'tsv', '.parquet': 'parquet', '.pq': 'parquet', '.txt': 'text', '.text': 'text', '.md': 'text',
}
/** In a folder of several formats the first of these that is there is read. */
const folderOrder: readonly FileFormat[] = ['parquet', 'jsonl', 'json', 'csv', 'tsv', 'text']
/** Files that stand beside datasets and hold none. */
const besides = new Set(['dataset_infos.json', 'dataset_info.json', 'state.json', 'package.json', 'readme.md', 'license.txt', 'licence.txt', 'license.md'])
const folderDepth = 3
const mostFiles = 20_000
const largestTextFile = 4 * 1024 * 1024

/** Format of a file by its name, undefined where the name says nothing. */
export function formatOfName(name: string): FileFormat | undefined {
  return formats[extname(name).toLowerCase()]
}

/**
 * Opens a dataset. Close it when done.
 * @throws UserError saying why it is none
 */
export async function openDataset(path: string): Promise<DataSource> {
  const place = await stat(path).catch((error: unknown) => {
    throw asReadError(error, path)
  })
  if (place.isDirectory()) return openFolder(path)
  return openFile(path, await formatOf(path))
}

function openFile(path: string, format: FileFormat): Promise<DataSource> {
  return format === 'parquet' ? openParquetSource(path) : openTextSource(path, format)
}

/** The name decides; where a name promises one JSON document and the file holds one a line, the contents do. */
async function formatOf(path: string): Promise<FileFormat> {
  const named = formatOfName(path)
  if (named !== 'json' && named !== undefined) return named
  const start = await beginning(path)
  if (start.startsWith('PAR1')) return 'parquet'
  const text = start.trimStart()
  if (text.startsWith('[')) return 'json'
  if (text.startsWith('{')) return named === undefined || isWhole(text.split('\n')[0] ?? '') ? 'jsonl' : 'json'
  if (named === 'json') return 'json'
  throw new UserError({ code: 'bad-input', what: 'this file is no dataset Satchel knows', place: { file: path }, expected: 'JSONL, JSON, CSV, TSV, Parquet or plain text (.txt)' })
}

async function beginning(path: string): Promise<string> {
  const handle = await open(path, 'r')
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(1 << 16), 0, 1 << 16, 0)
    return buffer.subarray(0, bytesRead).toString('utf8').replace('\uFEFF', '')
  } finally {
    await handle.close()
  }
}

function isWhole(line: string): boolean {
  try {
    JSON.parse(line)
    return true
  } catch {
    return false
  }
}

async function openFolder(folder: string): Promise<DataSource> {
  const files = await dataFiles(folder, folderDepth)
  const format = folderOrder.find((candidate) => files.some((file) => formatOfName(file) === candidate))
  if (format === undefined) throw new UserError({ code: 'bad-input', what: 'no dataset lies in this folder', place: { file: folder }, expected: 'files in JSONL, JSON, CSV, TSV, Parquet or plain text' })
  const chosen = files.filter((file) => formatOfName(file) === format)
  if (format === 'text') return textFolder(folder, chosen)
  const parts: DataSource[] = []
  try {
    for (const file of chosen) parts.push(await openFile(file, format === 'json' ? await formatOf(file) : format))
  } catch (error) {
    await Promise.all(parts.map((part) => part.close()))
    throw error
  }
  return joined(parts)
}

async function dataFiles(folder: string, depth: number): Promise<string[]> {
  const found: string[] = []
  const entries = (await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    throw asReadError(error, folder)
  })).toSorted((a, b) => (a.name < b.name ? -1 : 1))
  for (const entry of entries) {
    if (entry.name.startsWith('.') || besides.has(entry.name.toLowerCase())) continue
    const path = join(folder, entry.name)
    const place = entry.isSymbolicLink() ? await stat(path).catch(() => undefined) : entry
    if (place?.isDirectory() === true) {
      if (depth > 0) found.push(...(await dataFiles(path, depth - 1)))
    } else if (place !== undefined && formatOfName(entry.name) !== undefined) found.push(path)
    if (found.length > mostFiles) throw new UserError({ code: 'bad-input', what: `more than ${mostFiles} files lie in this folder`, place: { file: folder }, remedy: 'Open the folder of one dataset.' })
  }
  return found
}

/** The files of a folder one after the other, as one dataset; each row also carries the name of its file. */
function joined(parts: readonly DataSource[]): DataSource {
  const bytes = parts.reduce((sum, part) => sum + part.bytes, 0)
  const withFile = (row: DataRow, part: DataSource, first: number): DataRow => ({ ...row, index: row.index + first, value: row.value === null ? null : { ...row.value, file: basename(part.files[0] ?? '') } })

  async function read(offset: number, count: number): Promise<DataRow[]> {
    const rows: DataRow[] = []
    let first = 0
    for (const part of parts) {
      // Whether a row lies behind a file is known only once that file has been counted.
      if (rows.length < count) {
        const wanted = Math.max(0, offset - first)
        const known = part.total()
        if (known === null || wanted < known) rows.push(...(await part.read(wanted, count - rows.length)).map((row) => withFile(row, part, first)))
        if (rows.length >= count) return rows
      }
      first += await part.count()
    }
    return rows
  }

  return {
    format: 'folder',
    bytes,
    files: parts.flatMap(({ files }) => files),
    total: () => parts.reduce<number | null>((sum, part) => (sum === null || part.total() === null ? null : sum + (part.total() as number)), 0),
    read,
    async *scan(beat?: Beat) {
      let first = 0
      let before = 0
      for (const part of parts) {
        let rows = 0
        for await (const row of part.scan((done) => beat?.(before + done, bytes))) {
          rows += 1
          yield withFile(row, part, first)
        }
        first += rows
        before += part.bytes
      }
    },
    async count(beat) {
      let rows = 0
      let before = 0
      for (const part of parts) {
        rows += await part.count((done) => beat?.(before + done, bytes))
        before += part.bytes
      }
      return rows
    },
    close: async () => {
      await Promise.all(parts.map((part) => part.close()))
    },
  }
}

/** A folder of text files: each file is one row. */
async function textFolder(folder: string, files: readonly string[]): Promise<DataSource> {
  const sizes = await Promise.all(files.map((file) => stat(file).then(({ size }) => size)))
  const bytes = sizes.reduce((sum, size) => sum + size, 0)
  async function rowOf(index: number): Promise<DataRow> {
    const file = files[index] as string
    const row = { index, line: index + 1 }
    if ((sizes[index] ?? 0) > largestTextFile) return { ...row, value: null, problem: `${basename(file)} is longer than ${largestTextFile / 2 ** 20} MiB` }
    return { ...row, value: { text: await readFile(file, 'utf8'), file: file.slice(folder.length + 1) }, problem: '' }
  }
  return {
    format: 'folder',
    bytes,
    files,
    total: () => files.length,
    read: (offset, count) => Promise.all(files.slice(offset, offset + count).map((_, at) => rowOf(offset + at))),
    async *scan(beat?: Beat) {
      let done = 0
      for (const index of files.keys()) {
        yield await rowOf(index)
        done += sizes[index] ?? 0
        await beat?.(done, bytes)
      }
    },
    count: async () => files.length,
    close: async () => undefined,
  }
}
