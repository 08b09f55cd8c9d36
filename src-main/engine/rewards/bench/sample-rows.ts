// Completions to try a reward on before there is a run: rows that come with Satchel, each answered well, nearly, and by cheating; or rows of
// a dataset with the answers it holds.
import { readFile } from 'node:fs/promises'
import type { Recipe } from '../../../contract/reward-config.ts'
import type { PromptRow } from '../../../contract/rewards.ts'
import { columnsOf, guessMapping, mapRow } from '../../data/mapping.ts'
import { openDataset } from '../../data/open-dataset.ts'
import { resourcePath } from '../../runtime/paths.ts'
import { promptRowSchema } from '../../training/prompts.ts'
import { makeProblems } from '../maths/problems.ts'
import { honestFailure, knownCheats } from './cheats.ts'

/** A completion with the row it answers, and what it is. */
export interface NamedSample {
  readonly name: string
  readonly row: PromptRow
  readonly completion: string
}

export interface SampledRows {
  readonly samples: readonly NamedSample[]
  /** Rows that were looked at and held nothing to score. */
  readonly skipped: number
}

const builtInRows = 4
/** Cheats shown beside the answers; the bench tries them all anyway. */
const shownCheats: Readonly<Record<Recipe, readonly string[]>> = {
  react: ['a component that shows nothing'],
  maths: ['a bare guess', 'true but pointless steps'],
  code: ['the first expected result, always'],
  custom: ['one word many times'],
}

/** The rows that come with Satchel, four prompts of a recipe with several answers each. */
export async function builtInSamples(recipe: Recipe): Promise<SampledRows> {
  const rows = await builtInRowsOf(recipe)
  return { samples: rows.flatMap((row) => attemptsAt(recipe, row)), skipped: 0 }
}

async function builtInRowsOf(recipe: Recipe): Promise<PromptRow[]> {
  if (recipe === 'maths') return makeProblems({ seed: 1, count: builtInRows, levels: [1, 2, 3], instructions: true })
  const file = recipe === 'react' ? resourcePath('demo', 'prompts.jsonl') : resourcePath('rewards', recipe === 'code' ? 'code-samples.jsonl' : 'text-samples.jsonl')
  const lines = (await readFile(file, 'utf8')).split('\n').filter((line) => line.trim() !== '')
  // From all over the file: neighbours are of one kind.
  const every = Math.max(1, Math.floor(lines.length / builtInRows))
  return Array.from({ length: Math.min(builtInRows, lines.length) }, (_, at) => {
    const { id = `row-${at + 1}`, ...row } = promptRowSchema.parse(JSON.parse(lines[at * every]!))
    return { id, ...row }
  })
}

/** What a model might answer: the reference, something close to it, an honest failure, a cheat. */
function attemptsAt(recipe: Recipe, row: PromptRow): NamedSample[] {
  const { reference } = row
  const honest = honestFailure(recipe, row)
  const cheats = knownCheats(recipe, row).filter(({ name }) => shownCheats[recipe].includes(name))
  const attempts = [...(reference === undefined ? [] : [{ name: 'the reference', text: reference }, ...nearly(recipe, reference)]), ...(honest === undefined ? [] : [honest]), ...cheats]
  return attempts.map(({ name, text }) => ({ name, row, completion: text }))
}

/** It works, and is not what was asked for. */
function nearly(recipe: Recipe, reference: string): { readonly name: string; readonly text: string }[] {
  const text = recipe === 'react' ? reference.replace(/<h1>[^<]*/, '<h1>Untitled') : reference
  return text === reference ? [] : [{ name: 'another heading', text }]
}

const datasetRows = 64
/** Columns that hold an answer written out, the likeliest first. */
const answerColumns = ['completion', 'reference', 'response', 'output', 'solution', 'generation', 'text']

/**
 * Completions of a dataset: rows of the form of a prompt file with `completion` or `reference`, or any other with a column of such a name.
 * @throws UserError when the dataset cannot be read
 */
export async function datasetSamples(path: string): Promise<SampledRows> {
  const source = await openDataset(path)
  try {
    const rows = await source.read(0, datasetRows)
    const mapping = guessMapping(columnsOf(rows))
    const samples = rows.flatMap((row): NamedSample[] => {
      const value = row.value ?? {}
      const own = promptRowSchema.safeParse(value)
      const mapped = own.success ? own.data : mapRow(row, mapping)
      const found = 'ok' in mapped ? (mapped.ok ? mapped.row : undefined) : mapped
      const name = answerColumns.find((column) => typeof value[column] === 'string' && value[column] !== '' && column !== mapping.prompt)
      const completion = name === undefined ? undefined : value[name]
      if (found === undefined || typeof completion !== 'string') return []
      return [{ name: `${name}, line ${row.line}`, row: { ...found, id: found.id ?? `line-${row.line}` }, completion }]
    })
    return { samples, skipped: rows.length - samples.length }
  } finally {
    await source.close()
  }
}
