// Whether a reward can be computed at all, before the first token is sampled: what its rows must hold, and a trial of a custom function.
import type { RewardConfig } from '../../contract/reward-config.ts'
import type { PromptRow } from '../../contract/rewards.ts'
import type { RowProblem } from '../training/prompts.ts'
import { refuseProblems } from '../training/prompts.ts'

/**
 * Checks a reward against the rows it will judge.
 * @param rows with their 1-based line in the file
 * @throws UserError naming file, row and field of the first row that lacks what the recipe needs and counting the others, or what is
 * wrong with a custom function
 */
export async function checkReward(config: RewardConfig, rows: readonly (PromptRow & { readonly row: number })[], file: string): Promise<void> {
  switch (config.recipe) {
    case 'react':
      return
    case 'maths': {
      const { isOfKind, readAnswer } = await import('./maths/answers.ts')
      return refuse(rows, file, ({ answer, row }) => {
        if (answer === undefined) return { row, field: 'answer', what: 'the row has no answer, and the reward is maths' }
        const read = readAnswer(answer)
        if (read === undefined) return { row, field: 'answer', what: `the answer cannot be read: ${answer.slice(0, 80)}` }
        return isOfKind(read, config) ? undefined : { row, field: 'answer', what: `the answer ${answer.slice(0, 80)} is no whole number from ${config.minimumAnswer} to ${config.maximumAnswer} (reward.answerKind is integer)` }
      })
    }
    case 'code':
      return refuse(rows, file, ({ entry, tests, row }) => {
        if (entry === undefined) return { row, field: 'entry', what: 'the row does not name the function, and the reward is code' }
        return tests === undefined ? { row, field: 'tests', what: 'the row has no tests, and the reward is code' } : undefined
      })
    case 'custom': {
      const [first] = rows
      if (first !== undefined) await (await import('./custom/custom-scorer.ts')).checkCustomReward(config, first)
    }
  }
}

function refuse<Row>(rows: readonly Row[], file: string, problemOf: (row: Row) => RowProblem | undefined): void {
  const problems = rows.flatMap((row) => problemOf(row) ?? [])
  refuseProblems(file, rows.length - problems.length, problems, 'Correct these rows or remove them.')
}
