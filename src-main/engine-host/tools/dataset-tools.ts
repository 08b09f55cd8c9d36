// Datasets for the app: opened once and kept open while their file stays as it is.
import { stat } from 'node:fs/promises'
import { basename, relative, resolve } from 'node:path'
import type { DatasetInfo, DatasetRow, TemplatePreview } from '../../contract/calls/datasets.ts'
import { chatConfigSchema } from '../../contract/chat-config.ts'
import { UserError } from '../../contract/errors.ts'
import type { DataRow, DataSource } from '../../engine/data/data-source.ts'
import { reportDataset } from '../../engine/data/dataset-report.ts'
import { cellText, columnsOf, guessMapping, mapRow, sampledRows, valueAt } from '../../engine/data/mapping.ts'
import { openDataset } from '../../engine/data/open-dataset.ts'
import { writePrompts } from '../../engine/data/write-prompts.ts'
import { openModelFolder } from '../../engine/models/model-folder.ts'
import { createPromptEncoder } from '../../engine/models/prompt-encoder.ts'
import type { Tokenizer } from '../../engine/models/tokenizer.ts'
import { byteBeat } from './tool-work.ts'
import type { Tools } from './tool-work.ts'

interface OpenDataset {
  readonly source: DataSource
  readonly columns: DatasetInfo['columns']
  /** Size and time of the file when it was opened. */
  readonly stamp: string
}

const cellCharacters = 400
const namedFiles = 100
const shownTokens = 4000
/** Sources hold file handles and an index; more than a few are not looked at in turn. */
const keptOpen = 4

const opened = new Map<string, OpenDataset>()

async function stampOf(path: string): Promise<string> {
  const { size, mtimeMs } = await stat(path).catch(() => ({ size: -1, mtimeMs: 0 }))
  return `${size} ${mtimeMs}`
}

/** The dataset, opened again where its file has changed. */
async function datasetAt(path: string): Promise<OpenDataset> {
  const key = resolve(path)
  const stamp = await stampOf(key)
  const before = opened.get(key)
  if (before?.stamp === stamp) return before
  opened.delete(key)
  await before?.source.close()
  const source = await openDataset(key)
  const dataset: OpenDataset = { source, columns: columnsOf(await source.read(0, sampledRows)), stamp }
  opened.set(key, dataset)
  const [oldest] = opened.keys()
  if (opened.size > keptOpen && oldest !== undefined) {
    const { source: old } = opened.get(oldest) as OpenDataset
    opened.delete(oldest)
    await old.close()
  }
  return dataset
}

function shownRow({ index, line, value, problem }: DataRow, columns: DatasetInfo['columns']): DatasetRow {
  const cells = columns.map(({ name }) => {
    const text = value === null ? '' : cellText(valueAt(value, name))
    return text.length > cellCharacters ? `${text.slice(0, cellCharacters)}…` : text
  })
  return { index, line, cells, problem }
}

interface Encoder {
  readonly encode: (row: { prompt: string; system?: string }) => number[]
  readonly tokenizer: Tokenizer
}

async function encoderOf(model: string, thinking: 'model' | 'on' | 'off'): Promise<Encoder> {
  const folder = await openModelFolder(model)
  try {
    const tokenizer = await folder.tokenizer()
    return { tokenizer, encode: createPromptEncoder(tokenizer, folder.chatTemplate, chatConfigSchema.parse({ thinking })) }
  } finally {
    await folder.close()
  }
}

function tokensOf({ encode, tokenizer }: Encoder, row: { prompt: string; system?: string }): Pick<TemplatePreview, 'tokens' | 'count'> {
  const ids = encode(row)
  const special = new Map([...tokenizer.specialTokens].map(([id, text]) => [id, text]))
  const shown = ids.slice(0, shownTokens)
  const { text, starts, ends } = tokenizer.tokenOffsets(shown)
  const tokens = shown.map((id, at) => {
    const name = special.get(id)
    return name === undefined ? { id, text: text.slice(starts[at], ends[at]), special: false } : { id, text: name, special: true }
  })
  return { tokens, count: ids.length }
}

export const datasetTools: Tools<'datasets.inspect' | 'datasets.rows' | 'datasets.count' | 'datasets.check' | 'datasets.template' | 'datasets.convert'> = {
  'datasets.inspect': async ({ path }) => {
    const { source, columns } = await datasetAt(path)
    const full = resolve(path)
    const files = source.files.slice(0, namedFiles).map((file) => (file === full ? basename(file) : relative(full, file)))
    return { path: full, name: basename(full), format: source.format, bytes: source.bytes, files, fileCount: source.files.length, columns, guess: guessMapping(columns), rows: source.total() }
  },
  'datasets.rows': async ({ path, offset, count }) => {
    const { source, columns } = await datasetAt(path)
    const rows = await source.read(offset, count)
    return { rows: rows.map((row) => shownRow(row, columns)), total: source.total() }
  },
  'datasets.count': async ({ path }, work) => {
    const { source } = await datasetAt(path)
    return { rows: await source.count(byteBeat(work, 'Counting rows')) }
  },
  'datasets.check': async ({ path, mapping, heldoutShare, seed, model }, work) => {
    const { source } = await datasetAt(path)
    const encoder = model === null ? null : await encoderOf(model, 'model')
    return reportDataset(source, { mapping, heldoutShare, seed, countTokens: encoder === null ? null : (row) => encoder.encode(row).length, beat: byteBeat(work, 'Checking rows') })
  },
  'datasets.template': async ({ path, index, mapping, model, thinking }) => {
    const { source } = await datasetAt(path)
    const [row] = await source.read(index, 1)
    if (row === undefined) throw new UserError({ code: 'not-found', what: `the dataset has no row ${index + 1}`, place: { file: path } })
    const mapped = mapRow(row, mapping)
    if (!mapped.ok) return { row: '', problem: mapped.field === '' ? mapped.what : `${mapped.field}: ${mapped.what}`, tokens: [], count: 0 }
    return { row: JSON.stringify(mapped.row, null, 2), problem: '', ...tokensOf(await encoderOf(model, thinking), mapped.row) }
  },
  'datasets.convert': async ({ path, mapping, heldoutShare, seed, out }, work) => {
    const { source } = await datasetAt(path)
    return writePrompts(source, out, { mapping, heldoutShare, seed, beat: byteBeat(work, 'Writing prompts') })
  },
}
