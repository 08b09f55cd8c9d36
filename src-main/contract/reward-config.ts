// The configuration of a reward: what is measured, how it is weighted, and the limits generated code runs under; one shape a recipe.
import { z } from 'zod'
import { reactRewardSchema, type ReactRewardConfig } from './reward-react.ts'
import { codeRewardSchema, customRewardSchema, mathsRewardSchema, type CodeRewardConfig, type CustomRewardConfig, type MathsRewardConfig } from './reward-recipes.ts'

export type { CodeRewardConfig, CustomRewardConfig, MathsRewardConfig, ReactRewardConfig }

/** The reward of a run, by recipe. A configuration that names none is React's. */
export const rewardConfigSchema = z.discriminatedUnion('recipe', [reactRewardSchema, mathsRewardSchema, codeRewardSchema, customRewardSchema], { error: 'must be react, maths, code or custom' })

/** A complete reward configuration, every default filled in. */
export type RewardConfig = z.infer<typeof rewardConfigSchema>

/** What a person may write: every field optional, but for the recipe where it is not React. */
export type RewardConfigInput = z.input<typeof rewardConfigSchema>

export type Recipe = RewardConfig['recipe']

/**
 * The configuration with every path in it (a function's file, prompt files, models of judges) put through `place`, such as one that makes it
 * absolute. Empty ones stay empty.
 */
export function withRewardPaths(config: RewardConfig, place: (path: string) => string): RewardConfig {
  const placed = (path: string): string => (path === '' ? '' : place(path))
  const prompted = <Judge extends { readonly promptFile: string }>(judge: Judge): Judge => ({ ...judge, promptFile: placed(judge.promptFile) })
  const judge = config.judge.kind === 'model' ? { ...config.judge, model: placed(config.judge.model) } : config.judge
  switch (config.recipe) {
    case 'react':
      return { ...config, judge, codeJudge: prompted(config.codeJudge), screenshotJudge: prompted(config.screenshotJudge) }
    case 'maths':
      return { ...config, judge, stepChecks: prompted(config.stepChecks), prm: { ...config.prm, folder: placed(config.prm.folder) } }
    case 'code':
      return { ...config, judge, codeJudge: prompted(config.codeJudge) }
    case 'custom':
      return { ...config, judge, file: placed(config.file), answerJudge: prompted(config.answerJudge) }
  }
}

/** Files a reward reads that decide what it says: a function, prompts of judges. Models of judges name themselves in what they said. */
export function rewardFiles(config: RewardConfig): string[] {
  const named: string[] = []
  withRewardPaths(config, (path) => {
    named.push(path)
    return path
  })
  const models = [config.judge.kind === 'model' ? config.judge.model : '', config.recipe === 'maths' ? config.prm.folder : '']
  return named.filter((path) => !models.includes(path))
}

type Completed<Input> = Input extends { readonly recipe: infer Name extends Recipe } ? Extract<RewardConfig, { recipe: Name }> : ReactRewardConfig

/** Fills in every default. Throws a ZodError naming the field for a value that is out of range or unknown. */
export function rewardConfig(): ReactRewardConfig
export function rewardConfig<const Input extends RewardConfigInput>(input: Input): Completed<Input>
export function rewardConfig(input: RewardConfigInput = {}): RewardConfig {
  return rewardConfigSchema.parse(input)
}
