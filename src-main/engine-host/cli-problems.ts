// problems: prompt files of mathematics, made or imported.
import type { Command } from 'commander'
import { InvalidArgumentError } from 'commander'
import { UserError } from '../contract/errors.ts'
import type { PromptRow } from '../contract/rewards.ts'
import { writeFileAtomically } from '../engine/models/atomic-file.ts'
import { importAime } from '../engine/rewards/maths/aime.ts'
import { makeProblems, type Level } from '../engine/rewards/maths/problems.ts'
import { wholeNumber } from './cli-options.ts'
import type { CommandResult } from './cli-output.ts'
import type { Answer } from './cli-train.ts'

/** Registers the commands. */
export function addProblemCommands(program: Command, answer: Answer): void {
  const problems = program.command('problems').description('prompt files of mathematical problems with whole-number answers, for the reward recipe maths')
  const make = problems
    .command('make')
    .description('make competition-style problems with worked solutions from nothing but a seed')
    .requiredOption('--out <file>', 'JSONL file to write')
    .option('--count <n>', 'how many', wholeNumber(1), 200)
    .option('--levels <list>', 'levels of difficulty, 1 to 3', levelList, [1, 2, 3])
    .option('--seed <n>', 'seed; the same seed makes the same problems', wholeNumber(0), 1)
    .option('--no-instructions', 'leave out the system line that asks for numbered steps and a final answer')
  answer(make, async ({ out, count, levels, seed, instructions }: MakeOptions) => {
    try {
      return await writeRows(out, makeProblems({ seed, count, levels, instructions }))
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      throw new UserError({ code: 'usage', what: error.message, place: { field: '--count' }, remedy: 'Ask for fewer, or for more levels.' }, { cause: error })
    }
  })

  const imported = problems
    .command('import')
    .description('turn the public CSV of AIME problems into a prompt file')
    .argument('<file.csv>', 'columns ID, Year, Problem Number, Question, Answer')
    .requiredOption('--out <file>', 'JSONL file to write')
    .option('--no-instructions', 'leave out the system line that asks for numbered steps and a final answer')
  answer(imported, async (file: string, { out, instructions }: MakeOptions) => writeRows(out, await importAime(file, instructions)))
}

interface MakeOptions {
  readonly out: string
  readonly count: number
  readonly levels: Level[]
  readonly seed: number
  readonly instructions: boolean
}

function levelList(text: string): Level[] {
  const levels = text.split(',').map(Number)
  if (levels.some((level) => level !== 1 && level !== 2 && level !== 3)) throw new InvalidArgumentError('It must be levels from 1 to 3 separated by commas, such as 1,2.')
  return levels as Level[]
}

async function writeRows(out: string, rows: readonly PromptRow[]): Promise<CommandResult> {
  await writeFileAtomically(out, (handle) => handle.writeFile(rows.map((row) => `${JSON.stringify(row)}\n`).join('')))
  return { json: { file: out, rows: rows.length }, text: `${rows.length} problems in ${out}` }
}
