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

type Completed<Input> = Input extends { readonly recipe: infer Name extends Recipe } ? Extract<RewardConfig, { recipe: Name }> : ReactRewardConfig

/** Fills in every default. Throws a ZodError naming the field for a value that is out of range or unknown. */
export function rewardConfig(): ReactRewardConfig
export function rewardConfig<const Input extends RewardConfigInput>(input: Input): Completed<Input>
export function rewardConfig(input: RewardConfigInput = {}): RewardConfig {
  return rewardConfigSchema.parse(input)
}
