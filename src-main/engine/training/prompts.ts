// Prompt files: JSONL, one prompt a row, read as a stream. No row is dropped in silence: each bad one is named and counted.
import { createReadStream } from 'node:fs'
import { z } from 'zod'
import { UserError } from '../../contract/errors.ts'
import type { PromptRow } from '../../contract/rewards.ts'
import { fileErrorCode } from '../models/json-file.ts'
import { createStream } from '../runtime/random.ts'

const requirementSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('role'), role: z.string().min(1), name: z.string().exactOptional() }),
  z.strictObject({ kind: z.literal('text'), text: z.string().min(1) }),
  z.strictObject({ kind: z.literal('after-click'), role: z.string().min(1), name: z.string(), times: z.int().positive().exactOptional(), text: z.string().min(1) }),
])

const text = z.string('must be a text')
const testCaseSchema = z.strictObject({ input: z.array(z.unknown(), 'must be the list of arguments'), expected: z.json() })

/** A row of a prompt file. Fields of other programs are left alone; `id` may be missing. */
export const promptRowSchema = z.object({
  id: z.string('must be a text').min(1, 'must not be empty').exactOptional(),
  prompt: text.refine((value) => value.trim() !== '', 'the prompt is empty'),
  system: text.exactOptional(),
  requirements: z.array(requirementSchema).exactOptional(),
  answer: text.exactOptional(),
  entry: text.regex(/^[A-Za-z_$][\w$]*$/, 'must be the name of a function').exactOptional(),
  tests: z.array(testCaseSchema).min(1, 'must hold at least one case').exactOptional(),
  hiddenTests: z.array(testCaseSchema).exactOptional(),
  data: z.record(z.string(), z.unknown()).exactOptional(),
  reference: text.exactOptional(),
  split: z.enum(['train', 'heldout'], 'must be "train" or "heldout"').exactOptional(),
})

/** A prompt row that knows its 1-based line in the file. */
export interface NumberedPromptRow extends PromptRow {
  readonly row: number
}

/** What is wrong with one row. */
export interface RowProblem {
  readonly row: number
  readonly field?: string
  readonly what: string
}

export interface ReadRows<Row> {
  readonly rows: readonly { readonly row: number; readonly value: Row }[]
  readonly problems: readonly RowProblem[]
}

/** A longer line is no prompt: most likely the file is one JSON document instead of a document a line. */
const largestLineBytes = 16 * 1024 * 1024
const namedProblems = 5

/**
 * Reads a JSONL file row by row. Blank lines are skipped, and counted in the row numbers.
 * @throws UserError `not-found` or `bad-input` when the file itself cannot be read
 */
export async function readRows<Row>(path: string, schema: z.ZodType<Row>): Promise<ReadRows<Row>> {
  const rows: { row: number; value: Row }[] = []
  const problems: RowProblem[] = []
  for await (const { row, line } of linesOf(path)) {
    if (line === undefined) {
      problems.push({ row, what: 'the row is not UTF-8 text' })
      continue
    }
    if (line.trim() === '') continue
    let json: unknown
    try {
      json = JSON.parse(line)
    } catch (error) {
      problems.push({ row, what: `the row is not JSON (${(error as Error).message})` })
      continue
    }
    const parsed = schema.safeParse(json)
    if (parsed.success) rows.push({ row, value: parsed.data })
    else problems.push(describeIssue(row, parsed.error))
  }
  return { rows, problems }
}

/**
 * Reads a prompt file; rows without an id are named after their line.
 * @throws UserError naming file, row and field of the first bad row and counting the others: not JSON, an empty prompt, an id used twice
 */
export async function readPromptFile(path: string): Promise<NumberedPromptRow[]> {
  const { rows, problems } = await inspectPromptFile(path)
  refuseProblems(path, rows.length, problems, 'Correct these rows or remove them.')
  if (rows.length === 0) throw new UserError({ code: 'bad-input', what: 'the file holds no prompts', place: { file: path }, expected: 'one JSON object a line, such as {"id": "a", "prompt": "..."}' })
  return [...rows]
}

/** Like {@link readPromptFile}, but what is wrong with rows is returned instead of thrown. */
export async function inspectPromptFile(path: string): Promise<{ readonly rows: readonly NumberedPromptRow[]; readonly problems: readonly RowProblem[] }> {
  const read = await readRows(path, promptRowSchema)
  const firstUse = new Map<string, number>()
  const rows: NumberedPromptRow[] = []
  const problems = [...read.problems]
  for (const { row, value } of read.rows) {
    const id = value.id ?? `row-${row}`
    const before = firstUse.get(id)
    if (before !== undefined) {
      problems.push({ row, field: 'id', what: `the id ${JSON.stringify(id)} is already used by row ${before}` })
      continue
    }
    firstUse.set(id, row)
    rows.push({ ...value, id, row })
  }
  return { rows, problems: problems.toSorted((a, b) => a.row - b.row) }
}

/** @throws UserError naming the first few problems and counting all; returns when there are none */
export function refuseProblems(path: string, goodRows: number, problems: readonly RowProblem[], remedy: string): void {
  const first = problems[0]
  if (first === undefined) return
  const others = problems.slice(1, namedProblems).map(({ row, field, what }) => `row ${row}${field === undefined ? '' : `, ${field}`}: ${what}`)
  const unnamed = problems.length - 1 - others.length
  const rest = others.length === 0 ? '' : ` (${problems.length} bad rows of ${goodRows + problems.length}; also ${others.join('; ')}${unnamed === 0 ? '' : `; and ${unnamed} more`})`
  throw new UserError({ code: 'bad-input', what: `${first.what}${rest}`, place: { file: path, row: first.row, ...(first.field === undefined ? {} : { field: first.field }) }, remedy })
}

/**
 * Divides prompts into the two sides. A row's own `split` decides; rows without one are drawn by a stream of the seed so that
 * `heldoutShare` of them (rounded, at least one and not all where there are two) are held out.
 * @throws UserError when nothing is left to train on
 */
export function splitPrompts<Row extends PromptRow>(rows: readonly Row[], options: { readonly seed: number; readonly heldoutShare: number; readonly file?: string }): { readonly train: readonly Row[]; readonly heldout: readonly Row[] } {
  const free = rows.filter((row) => row.split === undefined)
  const wanted = Math.round(free.length * options.heldoutShare)
  const count = options.heldoutShare === 0 || free.length < 2 ? 0 : Math.min(free.length - 1, Math.max(1, wanted))
  const drawn = new Set(createStream(options.seed, 'heldout split').shuffle([...free]).slice(0, count))
  const isHeldout = (row: Row): boolean => (row.split === undefined ? drawn.has(row) : row.split === 'heldout')
  const train = rows.filter((row) => !isHeldout(row))
  if (train.length === 0) throw new UserError({ code: 'bad-input', what: 'every prompt is held out, none is left to train on', place: options.file === undefined ? {} : { file: options.file }, remedy: 'Add rows without "split": "heldout".' })
  return { train, heldout: rows.filter(isHeldout) }
}

/**
 * Checks that prompts leave room for a completion.
 * @param encode a prompt's ids, template included
 * @param contextTokens longest sequence the model can hold
 * @returns the ids of each prompt, in order
 * @throws UserError naming file, row and the number of tokens
 */
export function encodePrompts(rows: readonly NumberedPromptRow[], encode: (row: PromptRow) => number[], limits: { readonly contextTokens: number; readonly maxNewTokens: number; readonly file: string }): number[][] {
  const encoded = rows.map(encode)
  const problems = rows.flatMap(({ row }, index): RowProblem[] => {
    const tokens = (encoded[index] as number[]).length
    if (tokens === 0) return [{ row, field: 'prompt', what: 'the prompt has no tokens' }]
    if (tokens + limits.maxNewTokens <= limits.contextTokens) return []
    return [{ row, field: 'prompt', what: `the prompt has ${tokens} tokens; with ${limits.maxNewTokens} new ones that is more than the ${limits.contextTokens} the model's context holds` }]
  })
  refuseProblems(limits.file, rows.length - problems.length, problems, 'Shorten the prompt or lower rollout.maxNewTokens.')
  return encoded
}

/** Longest prompt plus completion: what sampler and training passes of one run are made for, so that both take the same rotary regime. */
export function longestSequence(prompts: readonly (readonly number[])[], maxNewTokens: number): number {
  return prompts.reduce((most, ids) => Math.max(most, ids.length), 0) + maxNewTokens
}

/** The first issue of a row that does not fit its schema, in words. */
export function describeIssue(row: number, error: z.ZodError): RowProblem {
  const issue = error.issues[0]
  const field = issue === undefined || issue.path.length === 0 ? undefined : issue.path.map(String).join('.')
  const missing = issue?.code === 'invalid_type' && issue.input === undefined && field !== undefined
  const what = missing ? 'the field is missing or not a text' : (issue?.message ?? 'the row is not valid')
  return { row, what, ...(field === undefined ? {} : { field }) }
}

/** Lines of a file with their numbers; a line that is not UTF-8 comes as undefined. Only line feeds end a line: JSON texts may hold other separators. */
async function* linesOf(path: string): AsyncGenerator<{ row: number; line: string | undefined }> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const decode = (bytes: Buffer): string | undefined => {
    try {
      return decoder.decode(bytes)
    } catch {
      return undefined
    }
  }
  let row = 1
  let rest: Buffer[] = []
  let restBytes = 0
  try {
    for await (const chunk of createReadStream(path, { highWaterMark: 1 << 18 })) {
      let piece = chunk as Buffer
      for (let end = piece.indexOf(0x0a); end >= 0; end = piece.indexOf(0x0a)) {
        yield { row, line: decode(Buffer.concat([...rest, piece.subarray(0, end)])) }
        row += 1
        rest = []
        restBytes = 0
        piece = piece.subarray(end + 1)
      }
      rest.push(piece)
      restBytes += piece.length
      if (restBytes > largestLineBytes) {
        throw new UserError({ code: 'bad-input', what: `the row is longer than ${largestLineBytes} bytes`, place: { file: path, row }, expected: 'JSONL: one JSON object a line', remedy: 'Write one row a line.' })
      }
    }
  } catch (error) {
    if (error instanceof UserError) throw error
    if (fileErrorCode(error) === 'ENOENT') throw new UserError({ code: 'not-found', what: 'the file does not exist', place: { file: path } })
    throw new UserError({ code: 'bad-input', what: `the file cannot be read (${String(error)})`, place: { file: path } }, { cause: error })
  }
  if (restBytes > 0) yield { row, line: decode(Buffer.concat(rest)) }
}
