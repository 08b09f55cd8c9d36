// The rollouts of a run: a file a step, listed by name and read one step at a time. Nothing of a run's rollouts stays in memory but the step
// that was looked at last.
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { RolloutHeader, RolloutQuery, SearchAnswer } from '../contract/calls/run-data.ts'
import { UserError } from '../contract/errors.ts'
import { rolloutRecordSchema } from '../contract/events.ts'
import type { RolloutRecord } from '../contract/events.ts'
import { namesIn, parseJson, readText } from './run-files.ts'

const rolloutFile = /^(\d+)\.jsonl(\.gz)?$/
/** A search answers after this long, with where to go on; the page asks again until it has seen enough. */
const searchMilliseconds = 150
const searchHits = 200
const excerptLength = 240

/** Files of rollouts by step, ascending. */
export async function rolloutFiles(directory: string): Promise<{ readonly step: number; readonly file: string }[]> {
  const folder = join(directory, 'rollouts')
  return (await namesIn(folder)).flatMap((name) => {
    const step = rolloutFile.exec(name)?.[1]
    return step === undefined ? [] : [{ step: Number(step), file: join(folder, name) }]
  })
}

/** Ascending numbers as ranges: 1, 2, 3, 7 is [1, 3], [7, 7]. */
export function rangesOf(steps: readonly number[]): [first: number, last: number][] {
  const ranges: [number, number][] = []
  for (const step of steps) {
    const range = ranges.at(-1)
    if (range !== undefined && range[1] === step - 1) range[1] = step
    else ranges.push([step, step])
  }
  return ranges
}

/** What a list shows of a rollout. `order` is its place in the step's file. */
export function headerOf(record: RolloutRecord, order: number): RolloutHeader {
  const { step, promptId, prompt, index, reward, outcome, finish, stages, requirementScore, auditPassed, sources } = record
  return {
    step, order, promptId, prompt, index, reward, outcome, finish, stages, requirementScore, auditPassed, sources,
    tokens: record.ids.length, flags: record.spans.length,
    excerpt: record.text.slice(0, excerptLength),
    advantage: meanOf(record.advantages),
    entropy: meanOf(record.entropies),
  }
}

function meanOf(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length
}

/** A rollout and its line in the file of its step. */
export interface StoredRollout {
  readonly order: number
  readonly record: RolloutRecord
}

export interface RolloutReader {
  /** The rollouts of a step. @throws UserError `not-found` where the step has no file */
  step(directory: string, step: number): Promise<readonly StoredRollout[]>
}

/** Reads steps; keeps the one read last, because one rollout after another of it is asked for. */
export function createRolloutReader(): RolloutReader {
  let kept: { readonly key: string; readonly rollouts: readonly StoredRollout[] } | undefined
  return {
    async step(directory, step) {
      const file = (await rolloutFiles(directory)).find((entry) => entry.step === step)?.file
      if (file === undefined) throw new UserError({ code: 'not-found', what: `There are no rollouts of step ${step}.`, place: { file: join(directory, 'rollouts') }, remedy: 'Choose a step that has some.' })
      const { mtimeMs, size } = await stat(file)
      const key = `${file} ${mtimeMs} ${size}`
      if (kept?.key === key) return kept.rollouts
      kept = { key, rollouts: storedRollouts(await readText(file)) }
      return kept.rollouts
    },
  }
}

/**
 * Looks for rollouts from step `from` downwards (from the newest where undefined), for a bounded time.
 * `next` is the step to go on from; null when the first step has been looked at.
 */
export async function searchRollouts(directory: string, query: RolloutQuery, from: number | null): Promise<SearchAnswer> {
  const files = (await rolloutFiles(directory)).filter(({ step }) => from === null || step <= from).reverse()
  const until = performance.now() + searchMilliseconds
  const hits: RolloutHeader[] = []
  for (const [looked, { step, file }] of files.entries()) {
    if (looked > 0 && (performance.now() > until || hits.length >= searchHits)) return { hits, looked, next: step }
    hits.push(...(await hitsIn(file, query)))
  }
  return { hits, looked: files.length, next: null }
}

/** The rollouts of a file's text; `wanted` says which lines are worth reading. */
function storedRollouts(text: string, wanted: (line: string) => boolean = () => true): StoredRollout[] {
  return text.split('\n').flatMap((line, order) => {
    if (line === '' || !wanted(line)) return []
    const parsed = rolloutRecordSchema.safeParse(parseJson(line))
    return parsed.success ? [{ order, record: parsed.data }] : []
  })
}

async function hitsIn(file: string, query: RolloutQuery): Promise<RolloutHeader[]> {
  const wanted = query.text.toLowerCase()
  // Most lines can be passed over unread: the name of the prompt would stand in them, escaped as JSON does.
  const named = query.promptId === null ? undefined : JSON.stringify(query.promptId)
  return storedRollouts(await readText(file), (line) => named === undefined || line.includes(named)).flatMap(({ order, record }) => (matches(record, query, wanted) ? [headerOf(record, order)] : []))
}

function matches(record: RolloutRecord, query: RolloutQuery, wanted: string): boolean {
  if (query.promptId !== null && record.promptId !== query.promptId) return false
  if (query.only === 'failed' && record.stages.render) return false
  if (query.only === 'passed' && !record.stages.render) return false
  if (query.only === 'hacks' && (record.auditPassed || !record.stages.render)) return false
  if (query.only === 'cut-off' && record.finish !== 'length') return false
  return wanted === '' || record.text.toLowerCase().includes(wanted) || record.prompt.toLowerCase().includes(wanted) || record.spans.some(({ message }) => message.toLowerCase().includes(wanted))
}
