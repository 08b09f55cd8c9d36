// Looks at a whole dataset once: which rows make no prompt, how long prompts are, which stand in it twice, how the sides divide, and which
// held-out prompts nearly stand among the training ones.
import type { DatasetMapping, DatasetReport, DatasetRowProblem, Lengths } from '../../contract/calls/datasets.ts'
import type { Beat, DataSource } from './data-source.ts'
import { mapRow, promptOf } from './mapping.ts'
import { bandKeys, isHeldOut, promptKey, signatureOf, similarity } from './prompt-hash.ts'

export interface ReportOptions {
  readonly mapping: DatasetMapping
  readonly heldoutShare: number
  readonly seed: number
  /** Tokens of a prompt, template included; null where no model was named. */
  readonly countTokens: ((row: { prompt: string; system?: string }) => number) | null
  /** Gets rows' bytes over both passes. */
  readonly beat?: Beat
}

const shownProblems = 200
const shownExamples = 20
const excerptCharacters = 200
/** Tokens are counted for so many rows at most, spread over the file; characters for all. */
const tokenisedRows = 20_000
/** So many held-out prompts are compared with the training side. */
const comparedPrompts = 50_000
/** Texts that agree in so much are called nearly equal; one that agrees in this much needs no better example. */
const nearSimilarity = 0.8
const plainSimilarity = 0.95
/** Prompts made from one pattern share most of their bands: so many a band are compared, and so many a prompt. */
const comparedPerBand = 32
const comparedPerPrompt = 64

interface HeldPrompt {
  readonly line: number
  readonly prompt: string
  readonly signature: Uint32Array
  near: { readonly line: number; readonly prompt: string; readonly similarity: number } | undefined
}

/** Goes through the dataset twice; memory grows with the number of different prompts (some 20 bytes each), not with their length. */
export async function reportDataset(source: DataSource, options: ReportOptions): Promise<DatasetReport> {
  const { beat } = options
  const held: HeldPrompt[] = []
  const first = await firstPass(source, options, held, (done, total) => beat?.(done, 2 * total))
  await compareSides(source, options, held, (done, total) => beat?.(total + done, 2 * total))
  const near = held.flatMap((entry) => (entry.near === undefined ? [] : [{ ...entry, near: entry.near }])).toSorted((a, b) => b.near.similarity - a.near.similarity)
  return {
    ...first,
    nearDuplicates: near.length,
    nearExamples: near.slice(0, shownExamples).map(({ line, prompt, near: other }) => ({ heldoutLine: line, trainLine: other.line, similarity: other.similarity, heldout: excerpt(prompt), train: excerpt(other.prompt) })),
  }
}

type FirstPass = Omit<DatasetReport, 'nearDuplicates' | 'nearExamples'>

async function firstPass(source: DataSource, options: ReportOptions, held: HeldPrompt[], beat: Beat): Promise<FirstPass> {
  const { mapping, countTokens } = options
  const total = source.total() ?? (countTokens === null ? 0 : await source.count(() => beat(0, source.bytes)))
  const every = Math.max(1, Math.ceil(total / tokenisedRows))
  const problems: DatasetRowProblem[] = []
  const characters: number[] = []
  const tokens: number[] = []
  const firstLines = new Map<number, number>()
  const duplicateExamples: DatasetReport['duplicateExamples'] = []
  const ids = new Set<string>()
  const counts = { rows: 0, badRows: 0, heldout: 0, withAnswer: 0, withRequirements: 0, withTests: 0, duplicates: 0, own: 0 }
  for await (const row of source.scan(beat)) {
    counts.rows += 1
    const mapped = mapRow(row, mapping)
    const problem = mapped.ok ? idProblem(mapped.row.id, ids) : mapped
    if (problem !== undefined) {
      counts.badRows += 1
      if (problems.length < shownProblems) problems.push({ line: row.line, field: problem.field, what: problem.what })
    }
    if (!mapped.ok || problem !== undefined) continue
    const { prompt, split, answer, requirements, tests } = mapped.row
    characters.push(prompt.length)
    if (countTokens !== null && row.index % every === 0) tokens.push(countTokens(mapped.row))
    if (answer !== undefined) counts.withAnswer += 1
    if (requirements !== undefined && requirements.length > 0) counts.withRequirements += 1
    if (tests !== undefined) counts.withTests += 1
    if (split !== undefined) counts.own += 1
    const key = promptKey(prompt)
    const before = firstLines.get(key)
    if (before === undefined) firstLines.set(key, row.line)
    else {
      counts.duplicates += 1
      if (duplicateExamples.length < shownExamples) duplicateExamples.push({ line: row.line, before, text: excerpt(prompt) })
    }
    if (!sideIsHeldOut(mapped.row, options)) continue
    counts.heldout += 1
    if (before === undefined && held.length < comparedPrompts) held.push({ line: row.line, prompt, signature: signatureOf(prompt), near: undefined })
  }
  const { own, ...kept } = counts
  const good = counts.rows - counts.badRows
  return { ...kept, good, train: good - counts.heldout, ownSplit: own > 0, problems, duplicateExamples, characters: lengthsOf(characters), tokens: countTokens === null ? null : lengthsOf(tokens) }
}

/** An id that two rows share would make two prompts one. */
export function idProblem(id: string | undefined, ids: Set<string>): { field: string; what: string } | undefined {
  if (id === undefined) return undefined
  if (ids.has(id)) return { field: 'id', what: `the id ${JSON.stringify(id)} is already used by an earlier row` }
  ids.add(id)
  return undefined
}

/** A row's own word decides, otherwise its prompt. */
export function sideIsHeldOut(row: { readonly prompt: string; readonly split?: 'train' | 'heldout' }, { heldoutShare, seed }: Pick<ReportOptions, 'heldoutShare' | 'seed'>): boolean {
  return row.split === undefined ? isHeldOut(row.prompt, heldoutShare, seed) : row.split === 'heldout'
}

/** Second pass: each training prompt against the held-out ones it shares a band with. */
async function compareSides(source: DataSource, options: ReportOptions, held: HeldPrompt[], beat: Beat): Promise<void> {
  const bands = new Map<number, HeldPrompt[]>()
  for (const entry of held) {
    for (const key of bandKeys(entry.signature)) {
      const list = bands.get(key)
      if (list === undefined) bands.set(key, [entry])
      else if (list.length < comparedPerBand) list.push(entry)
    }
  }
  if (bands.size === 0) return
  const seen = new Set<number>()
  for await (const row of source.scan(beat)) {
    const asked = promptOf(row, options.mapping)
    if (asked === undefined || sideIsHeldOut(asked, options)) continue
    const { prompt } = asked
    const key = promptKey(prompt)
    if (seen.has(key)) continue
    seen.add(key)
    const signature = signatureOf(prompt)
    const candidates = new Set(bandKeys(signature).flatMap((band) => bands.get(band) ?? []))
    for (const candidate of [...candidates].slice(0, comparedPerPrompt)) {
      if ((candidate.near?.similarity ?? 0) >= plainSimilarity) continue
      const share = similarity(signature, candidate.signature)
      if (share >= nearSimilarity && share > (candidate.near?.similarity ?? 0)) candidate.near = { line: row.line, prompt, similarity: share }
    }
  }
}

const bins = 24

/** Least, median, most and a histogram of at most {@link bins} equal bins; the last one also holds everything beyond the 99th per cent. */
export function lengthsOf(values: readonly number[]): Lengths {
  const sorted = values.toSorted((a, b) => a - b)
  const most = sorted.at(-1) ?? 0
  const least = sorted[0] ?? 0
  const edge = sorted[Math.floor(0.99 * (sorted.length - 1))] ?? 0
  const width = Math.max(1, Math.ceil((edge - least + 1) / bins))
  const count = Math.max(1, Math.ceil((edge - least + 1) / width))
  const counts = Array.from({ length: count }, () => 0)
  for (const value of sorted) {
    const bin = Math.min(count - 1, Math.floor((value - least) / width))
    counts[bin] = (counts[bin] as number) + 1
  }
  const edges = counts.map((_, bin) => least + bin * width)
  return { least, median: sorted[Math.floor(sorted.length / 2)] ?? 0, most, edges: [...edges, Math.max(most + 1, least + count * width)], counts, measured: sorted.length }
}

function excerpt(text: string): string {
  const plain = text.replace(/\s+/g, ' ').trim()
  return plain.length <= excerptCharacters ? plain : `${plain.slice(0, excerptCharacters - 1)}…`
}
