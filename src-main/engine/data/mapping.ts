// Columns of a dataset to fields of a prompt row: guessed from names and contents, applied row by row. Nothing is dropped in silence: a row
// that makes no prompt says why.
import type { DatasetColumn, DatasetMapping, MappedField } from '../../contract/calls/datasets.ts'
import type { PromptRow } from '../../contract/rewards.ts'
import { describeIssue, promptRowSchema } from '../training/prompts.ts'
import type { DataRow, RowValue } from './data-source.ts'

/** Rows whose columns are looked at before a guess is made. */
export const sampledRows = 200
const exampleCharacters = 160

/** A message of a conversation, under the names the usual datasets have for them. */
interface Message {
  readonly role: string
  readonly content: string
}

/** Names that usually stand for a field, the likeliest first. Letters of either case. */
const usualNames: Readonly<Record<MappedField, readonly string[]>> = {
  prompt: ['prompt', 'question', 'problem', 'instruction', 'input', 'query', 'task', 'messages', 'conversations', 'conversation', 'content', 'text'],
  system: ['system', 'system_prompt', 'systemprompt'],
  answer: ['answer', 'final_answer', 'expected_answer', 'ground_truth', 'reward_model.ground_truth', 'target', 'label', 'solution', 'output', 'response', 'completion'],
  requirements: ['requirements'],
  tests: ['tests', 'test_cases', 'test_list', 'hiddentests'],
  entry: ['entry', 'entry_point', 'function_name'],
  tags: ['tags', 'tag', 'category', 'topic', 'subject', 'type', 'level', 'difficulty'],
  id: ['id', 'uid', 'task_id', 'problem_id', 'uuid', 'extra_info.index'],
  split: ['split', 'file'],
}

/** Columns over some rows; those of an object also one by one, as `outer.inner`. */
export function columnsOf(rows: readonly DataRow[]): DatasetColumn[] {
  const readable = rows.flatMap(({ value }) => (value === null ? [] : [value]))
  const names = new Set<string>()
  for (const value of readable) {
    for (const [name, entry] of Object.entries(value)) {
      names.add(name)
      if (isObject(entry)) for (const inner of Object.keys(entry)) names.add(`${name}.${inner}`)
    }
  }
  return [...names].map((name) => describeColumn(name, readable))
}

function describeColumn(name: string, rows: readonly RowValue[]): DatasetColumn {
  const values = rows.map((row) => valueAt(row, name))
  const filled = values.filter((value) => !isEmpty(value))
  const kinds = new Set<DatasetColumn['kinds'][number]>(filled.map(kindOf))
  if (filled.length < values.length) kinds.add('empty')
  return { name, kinds: [...kinds], filled: rows.length === 0 ? 0 : filled.length / rows.length, example: cellText(filled[0]).slice(0, exampleCharacters) }
}

function kindOf(value: unknown): DatasetColumn['kinds'][number] {
  if (typeof value === 'string') return 'text'
  if (typeof value === 'number') return 'number'
  if (typeof value === 'boolean') return 'boolean'
  if (messagesOf(value) !== undefined) return 'messages'
  return Array.isArray(value) ? 'list' : 'object'
}

/** What each field most likely is; a column is used once. */
export function guessMapping(columns: readonly DatasetColumn[]): DatasetMapping {
  const used = new Set<string>()
  const find = (field: MappedField): string | null => {
    for (const usual of usualNames[field]) {
      const column = columns.find(({ name }) => name.toLowerCase() === usual && !used.has(name))
      if (column === undefined || !suits(field, column)) continue
      used.add(column.name)
      return column.name
    }
    return null
  }
  const guess: DatasetMapping = { prompt: find('prompt'), system: find('system'), answer: find('answer'), requirements: find('requirements'), tests: find('tests'), entry: find('entry'), tags: find('tags'), id: find('id'), split: find('split') }
  if (guess.prompt !== null) return guess
  // No usual name: the column with the longest text is what a person would take.
  const texts = columns.filter(({ name, kinds }) => !used.has(name) && (kinds.includes('text') || kinds.includes('messages')))
  const longest = texts.reduce<DatasetColumn | undefined>((best, column) => (best === undefined || column.example.length > best.example.length ? column : best), undefined)
  return { ...guess, prompt: longest?.name ?? null }
}

function suits(field: MappedField, { kinds, example }: DatasetColumn): boolean {
  const has = (...wanted: DatasetColumn['kinds'][number][]): boolean => wanted.some((kind) => kinds.includes(kind))
  if (field === 'prompt') return has('text', 'messages')
  if (field === 'requirements' || field === 'tests') return has('list') || /^\s*\[/.test(example)
  if (field === 'split') return /train|test|valid|held|dev|eval/i.test(example)
  if (field === 'answer') return has('text', 'number', 'boolean')
  return true
}

/** What a mapped row is: a prompt row, or what is wrong with it. */
export type MappedRow = { readonly ok: true; readonly row: Omit<PromptRow, 'id'> & { readonly id?: string } } | { readonly ok: false; readonly field: string; readonly what: string }

/** Makes a prompt row of a dataset's row. */
export function mapRow({ value, problem }: DataRow, mapping: DatasetMapping): MappedRow {
  if (value === null) return { ok: false, field: '', what: problem }
  if (mapping.prompt === null) return { ok: false, field: 'prompt', what: 'no column is chosen for the prompt' }
  const fields = collectFields(value, mapping)
  if (typeof fields === 'string') return { ok: false, field: mapping.prompt, what: fields }
  const parsed = promptRowSchema.safeParse(fields)
  if (parsed.success) return { ok: true, row: parsed.data }
  const issue = describeIssue(0, parsed.error)
  const field = issue.field ?? ''
  const column = mapping[field as MappedField] ?? mapping[field.split('.')[0] as MappedField] ?? field
  const list = (field === 'requirements' || field === 'tests') && !Array.isArray(fields[field])
  return { ok: false, field: column, what: list ? 'the value is no list, and no JSON text of one' : issue.what }
}

/** Prompt and side of a row, without looking at anything else; undefined where it makes no prompt. */
export function promptOf({ value }: DataRow, mapping: DatasetMapping): { readonly prompt: string; readonly split?: 'train' | 'heldout' } | undefined {
  if (value === null || mapping.prompt === null) return undefined
  const asked = readPrompt(valueAt(value, mapping.prompt))
  if (typeof asked === 'string') return undefined
  const split = mapping.split === null ? undefined : splitOf(valueAt(value, mapping.split))
  return { prompt: asked.prompt, ...(split === undefined ? {} : { split }) }
}

function collectFields(value: RowValue, mapping: DatasetMapping): Record<string, unknown> | string {
  const at = (field: MappedField): unknown => (mapping[field] === null ? undefined : valueAt(value, mapping[field]))
  const asked = readPrompt(at('prompt'))
  if (typeof asked === 'string') return asked
  const system = textOf(at('system')) ?? asked.system
  const tags = tagsOf(at('tags'))
  const split = splitOf(at('split'))
  const fields: Record<string, unknown> = {
    id: textOf(at('id')),
    prompt: asked.prompt,
    system,
    answer: textOf(at('answer')),
    requirements: listOf(at('requirements')),
    tests: listOf(at('tests')),
    entry: textOf(at('entry')),
    data: tags.length === 0 ? undefined : { tags },
    split,
  }
  return Object.fromEntries(Object.entries(fields).filter(([, entry]) => entry !== undefined))
}

/** A text, or a conversation: its system text and its last question. A sentence where it is neither. */
function readPrompt(value: unknown): { prompt: string; system: string | undefined } | string {
  if (isEmpty(value)) return 'the prompt is empty'
  const messages = messagesOf(value)
  if (messages !== undefined) {
    const question = messages.findLast(({ role }) => role === 'user' || role === 'human')
    if (question === undefined) return 'the conversation holds no question of a user'
    return { prompt: question.content, system: messages.find(({ role }) => role === 'system')?.content }
  }
  const text = textOf(value)
  return text === undefined ? 'the prompt is no text and no conversation' : { prompt: text, system: undefined }
}

function messagesOf(value: unknown): Message[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined
  const messages = value.map((entry: unknown): Message | undefined => {
    if (!isObject(entry)) return undefined
    const role = entry['role'] ?? entry['from']
    const content = entry['content'] ?? entry['value']
    return typeof role === 'string' && typeof content === 'string' ? { role, content } : undefined
  })
  return messages.every((message) => message !== undefined) ? messages : undefined
}

/** Which side a row says it is on, by the words datasets use; undefined where it says nothing. */
function splitOf(value: unknown): 'train' | 'heldout' | undefined {
  const text = textOf(value)?.toLowerCase()
  if (text === undefined) return undefined
  if (/test|valid|held|dev|eval/.test(text)) return 'heldout'
  return text.includes('train') ? 'train' : undefined
}

function tagsOf(value: unknown): string[] {
  if (isEmpty(value)) return []
  if (Array.isArray(value)) return value.flatMap((entry: unknown) => textOf(entry) ?? [])
  return (textOf(value) ?? '').split(/[,;|]/).map((tag) => tag.trim()).filter((tag) => tag !== '')
}

/** A list, or the JSON text of one; anything else is left for the schema to refuse. */
function listOf(value: unknown): unknown {
  if (isEmpty(value)) return undefined
  if (typeof value !== 'string') return value
  try {
    return JSON.parse(value) as unknown
  } catch {
    return value
  }
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined
}

/** The value of a column, or of one inside an object (`outer.inner`). */
export function valueAt(row: RowValue, column: string): unknown {
  if (Object.hasOwn(row, column)) return row[column]
  const dot = column.indexOf('.')
  const outer = dot < 0 ? undefined : row[column.slice(0, dot)]
  return isObject(outer) ? outer[column.slice(dot + 1)] : undefined
}

/** A value as a cell shows it. */
export function cellText(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)
}
