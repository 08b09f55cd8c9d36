// Competition-style problems of our own making: whole-number answers from 0 to 999, three levels, every step worked out.
import type { PromptRow } from '../../../contract/rewards.ts'
import { createStream, type RandomStream } from '../../runtime/random.ts'
import { problemKinds } from './problem-kinds.ts'

export type Level = 1 | 2 | 3

/** A problem with its solution. Steps are lines of arithmetic that the verifier can check. */
export interface Problem {
  readonly question: string
  readonly steps: readonly string[]
  readonly answer: number
}

/** Random helpers the kinds of problems draw from. */
export interface Dice {
  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number
  pick<T>(items: readonly T[]): T
}

export function diceOf(stream: RandomStream): Dice {
  return {
    between: (low, high) => low + stream.integer(high - low + 1),
    pick: (items) => items[stream.integer(items.length)]!,
  }
}

/** What the completion is asked to look like. */
export const solutionInstructions = 'Solve the problem. Write every step as <step_1> ... </step_1>, <step_2> ... </step_2> and so on, and the answer, a whole number from 0 to 999, as <final> ... </final>.'

export interface ProblemOptions {
  readonly seed: number
  readonly count: number
  readonly levels: readonly Level[]
  /** Names of `problemKinds` to draw from; without it, all kinds of the levels. */
  readonly kinds?: readonly string[]
  /** Put the instructions into each row's `system`. */
  readonly instructions: boolean
}

const attemptsPerProblem = 400

/**
 * Makes prompt rows, levels in turn, no question twice. The same options give the same rows.
 * @throws RangeError when the levels do not have that many different problems
 */
export function makeProblems({ seed, count, levels, kinds, instructions }: ProblemOptions): PromptRow[] {
  const rows: PromptRow[] = []
  const asked = new Set<string>()
  for (let index = 0; index < count; index++) {
    const level = levels[index % levels.length]!
    const made = freshProblem({ seed, level, index, kinds: Object.keys(problemKinds[level]).filter((kind) => kinds?.includes(kind) ?? true) }, asked)
    if (made === undefined) throw new RangeError(`there are not ${count} different problems of these levels; ${rows.length} were found`)
    rows.push({
      id: `level-${level}-${String(index + 1).padStart(5, '0')}`,
      prompt: made.problem.question,
      ...(instructions ? { system: solutionInstructions } : {}),
      answer: String(made.problem.answer),
      reference: writeSolution(made.problem),
      data: { level, kind: made.kind },
    })
  }
  return rows
}

interface Draw {
  readonly seed: number
  readonly level: Level
  readonly index: number
  readonly kinds: readonly string[]
}

function freshProblem({ seed, level, index, kinds }: Draw, asked: Set<string>): { problem: Problem; kind: string } | undefined {
  for (let attempt = 0; attempt < attemptsPerProblem; attempt++) {
    const dice = diceOf(createStream(seed, 'maths problems', level, index, attempt))
    const kind = dice.pick(kinds)
    const problem = problemKinds[level][kind]!(dice)
    if (problem.answer < 0 || problem.answer > 999 || asked.has(problem.question)) continue
    asked.add(problem.question)
    return { problem, kind }
  }
  return undefined
}

/** A worked solution in the tags the reward asks for. */
export function writeSolution({ steps, answer }: Pick<Problem, 'steps' | 'answer'>): string {
  return [...steps.map((step, index) => `<step_${index + 1}> ${step} </step_${index + 1}>`), `<final> ${answer} </final>`].join('\n')
}
