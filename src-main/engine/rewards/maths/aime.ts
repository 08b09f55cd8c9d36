// Imports the public list of AIME problems, a CSV with the columns ID, Year, Problem Number, Question, Answer (and Part).
import { readFile } from 'node:fs/promises'
import { UserError } from '../../../contract/errors.ts'
import type { PromptRow } from '../../../contract/rewards.ts'
import { fileErrorCode } from '../../models/json-file.ts'
import { refuseProblems, type RowProblem } from '../../training/prompts.ts'
import { solutionInstructions } from './problems.ts'

const largestFile = 64 * 1024 * 1024

/**
 * Reads the file into prompt rows; `data` keeps year and number.
 * @param instructions put the instructions for the layout of a solution into each row's `system`
 * @throws UserError naming file, row (of the table, the heading is row 1) and column of the first bad row and counting the others
 */
export async function importAime(path: string, instructions: boolean): Promise<PromptRow[]> {
  const [heading, ...records] = parseCsv(await readTable(path), path)
  const columns = columnsOf(heading?.fields ?? [], path)
  const problems: RowProblem[] = []
  const rows: PromptRow[] = []
  const seen = new Map<string, number>()
  for (const { fields, row } of records) {
    const problem = problemOf(fields, columns, heading?.fields.length ?? 0, row)
    if ('what' in problem) problems.push(problem)
    else if (seen.has(problem.id)) problems.push({ row, field: 'ID', what: `the problem ${problem.id} is already in row ${seen.get(problem.id)}` })
    else {
      seen.set(problem.id, row)
      rows.push(instructions ? { ...problem, system: solutionInstructions } : problem)
    }
  }
  refuseProblems(path, rows.length, problems, 'Correct these rows or remove them.')
  if (rows.length === 0) throw new UserError({ code: 'bad-input', what: 'the file holds no problems', place: { file: path } })
  return rows
}

async function readTable(path: string): Promise<string> {
  let bytes: Buffer
  try {
    bytes = await readFile(path)
  } catch (error) {
    if (fileErrorCode(error) === 'ENOENT') throw new UserError({ code: 'not-found', what: 'the file does not exist', place: { file: path } })
    throw new UserError({ code: 'bad-input', what: `the file cannot be read (${String(error)})`, place: { file: path } }, { cause: error })
  }
  if (bytes.length > largestFile) throw new UserError({ code: 'bad-input', what: `the file has ${bytes.length} bytes; the list of problems has less than one million`, place: { file: path } })
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new UserError({ code: 'bad-input', what: 'the file is not UTF-8 text', place: { file: path }, remedy: 'Save it as UTF-8.' })
  }
}

interface Columns {
  readonly question: number
  readonly answer: number
  readonly id: number | undefined
  readonly year: number | undefined
  readonly number: number | undefined
  readonly part: number | undefined
}

function columnsOf(heading: readonly string[], file: string): Columns {
  const find = (name: string): number | undefined => {
    const index = heading.findIndex((title) => title.trim().toLowerCase() === name)
    return index < 0 ? undefined : index
  }
  const [question, answer, id, year, number, part] = ['question', 'answer', 'id', 'year', 'problem number', 'part'].map(find)
  const missing = [question === undefined ? 'Question' : '', answer === undefined ? 'Answer' : '', id === undefined && (year === undefined || number === undefined) ? 'ID (or Year and Problem Number)' : ''].filter((name) => name !== '')
  if (question === undefined || answer === undefined || missing.length > 0) {
    throw new UserError({ code: 'bad-input', what: `the column ${missing.join(', ')} is missing; the file has ${heading.map((title) => title.trim()).join(', ') || 'no heading'}`, place: { file, row: 1 }, expected: 'the columns ID, Year, Problem Number, Question, Answer' })
  }
  return { question, answer, id, year, number, part }
}

function problemOf(fields: readonly string[], columns: Columns, width: number, row: number): PromptRow | RowProblem {
  if (fields.length !== width) return { row, what: `the row has ${fields.length} columns, the heading ${width}` }
  const cell = (column: number | undefined): string => (column === undefined ? '' : (fields[column] ?? '').trim())
  const prompt = cell(columns.question)
  if (prompt === '') return { row, field: 'Question', what: 'the question is empty' }
  const answer = cell(columns.answer)
  if (!/^\d{1,4}(?:\.0+)?$/.test(answer) || Number(answer) > 999) return { row, field: 'Answer', what: `the answer ${JSON.stringify(answer.slice(0, 40))} is not a whole number from 0 to 999` }
  const [year, number, part] = [cell(columns.year), cell(columns.number), cell(columns.part)]
  const id = cell(columns.id) === '' ? [year, part, number].filter((piece) => piece !== '').join('-') : cell(columns.id)
  if (id === '') return { row, field: 'ID', what: 'the problem has no name' }
  const data = { ...(year === '' ? {} : { year: Number(year) }), ...(number === '' ? {} : { number: Number(number) }), ...(part === '' ? {} : { part }) }
  return { id, prompt, answer: String(Number(answer)), ...(Object.keys(data).length === 0 ? {} : { data }) }
}

export interface CsvRecord {
  readonly fields: readonly string[]
  /** 1-based row of the table: a quoted field may hold line ends. */
  readonly row: number
}

const fieldEnd = /[,\r\n]/g

/** RFC 4180: fields in quotes may hold commas, quotes (doubled) and line ends. Empty rows are skipped. */
export function parseCsv(text: string, file: string): CsvRecord[] {
  const records: CsvRecord[] = []
  let fields: string[] = []
  let row = 1
  let at = text.startsWith('\uFEFF') ? 1 : 0
  const endRow = (): void => {
    if (fields.length > 1 || fields[0] !== '') records.push({ fields, row })
    fields = []
    row += 1
  }
  while (at < text.length) {
    let value = ''
    if (text[at] === '"') {
      for (at += 1; ; at += 1) {
        const end = text.indexOf('"', at)
        if (end < 0) throw new UserError({ code: 'bad-input', what: 'a quoted field is never closed', place: { file, row }, expected: 'CSV: quotes inside a quoted field doubled' })
        value += text.slice(at, end)
        at = end + 1
        if (text[at] !== '"') break
        value += '"'
      }
    } else {
      fieldEnd.lastIndex = at
      value = text.slice(at, fieldEnd.exec(text)?.index ?? text.length)
      at += value.length
    }
    fields.push(value)
    if (at < text.length && !/[,\r\n]/.test(text[at]!)) throw new UserError({ code: 'bad-input', what: 'text follows a closing quote', place: { file, row }, expected: 'CSV: quotes inside a quoted field doubled' })
    if (text[at] === ',') {
      at += 1
      if (at === text.length) fields.push('')
      continue
    }
    if (text[at] === '\r' && text[at + 1] === '\n') at += 1
    at += 1
    endRow()
  }
  if (fields.length > 0) endRow()
  return records
}
