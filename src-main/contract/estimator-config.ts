// The estimators of the comparison: how rewards become one advantage a token. What each name does to the loss as well (clip, aggregation)
// stands in methods.ts; the formulas stand in engine/policy.
import { z } from 'zod'
import { field } from './field.ts'

/** Every estimator by the name the field uses. */
export const estimatorNames = ['bot-grpo', 'grpo', 'grpo-process', 'dr-grpo', 'dapo', 'gspo', 'gspo-token', 'pure', 'rloo', 'reinforce++', 'cispo', 'sapo'] as const
export type EstimatorName = (typeof estimatorNames)[number]

const tolerance = field(z.number().nonnegative().default(1e-9), 'reward', 'Satchel', 'Outcomes closer than this count as the same.')
const clipAdvantage = field(z.number().positive().nullable().default(null), '', 'Satchel', 'Largest absolute advantage; empty leaves advantages as they are.')
const maskTruncated = field(z.boolean().default(false), '', 'DAPO', 'Truncated completions teach nothing when on.')
const epsilon = field(z.number().nonnegative().default(1e-6), '', 'Satchel', 'Added to the standard deviation.')
const deviation = field(z.enum(['population', 'sample']).default('population'), '', 'GRPO; TRL and verl take sample', 'Whether the standard deviation divides by K or by K - 1.')
const step = field(z.enum(['line', 'token']).default('line'), '', 'Satchel', 'What a step of the process reward is: a line of the completion (its tokens\' mean reward, given at its end), or every token.')

/** Fields of every estimator. */
const common = { flatTolerance: tolerance, clipAdvantage, maskTruncated }

/** Of those that divide by the spread of a group. */
const standardised = {
  epsilon,
  deviation,
  flatGroups: field(z.enum(['keep', 'mean-only', 'skip', 'sigma-floor']).default('keep'), '', 'BoT-GRPO keeps them', 'What to do with a group whose outcomes are all the same.'),
  sigmaFloor: field(z.number().positive().default(0.3), 'reward', 'Satchel', 'Smallest standard deviation used when flatGroups is sigma-floor.'),
  ...common,
}

/** Of those that read a reward at every token. */
const pooling = field(z.enum(['rollout', 'token']).default('rollout'), '', 'BoT-GRPO', 'Whether each rollout weighs the same in mean and deviation, as the paper has it, or each token: then long rollouts weigh more.')

/** Of those that do not divide. */
const plain = { flatGroups: field(z.enum(['keep', 'skip']).default('keep'), '', 'Satchel', 'Whether a group whose outcomes are all the same teaches.'), ...common }

/** The estimator without a name is BoT-GRPO. */
const botGrpo = z.strictObject({ name: field(z.literal('bot-grpo').optional().default('bot-grpo'), '', 'BoT-GRPO', `How rewards become advantages: ${estimatorNames.join(', ')}.`), pooling, ...standardised })

export const estimatorConfigSchema = z.discriminatedUnion('name', [
  botGrpo,
  z.strictObject({ name: z.literal('grpo'), ...standardised }),
  z.strictObject({ name: z.literal('grpo-process'), step, ...standardised }),
  z.strictObject({ name: z.literal('dr-grpo'), ...plain }),
  z.strictObject({ name: z.literal('dapo'), ...standardised }),
  z.strictObject({ name: z.literal('gspo'), ...standardised }),
  z.strictObject({ name: z.literal('gspo-token'), pooling, ...standardised }),
  z.strictObject({
    name: z.literal('pure'),
    step,
    temperature: field(z.number().positive().default(0.1), 'reward', 'PURE', 'PURE: how close the credit of a step comes to the minimum over steps; smaller is closer.'),
    ...plain,
  }),
  z.strictObject({ name: z.literal('rloo'), ...plain }),
  z.strictObject({
    name: z.literal('reinforce++'),
    step,
    discount: field(z.number().gt(0).max(1).default(1), '', 'REINFORCE++', 'REINFORCE++: what a reward one token later is worth now.'),
    deviation: field(z.enum(['population', 'sample']).default('sample'), '', 'verl', 'REINFORCE++: whether the variance over the batch\'s tokens divides by N or by N - 1.'),
    epsilon: field(z.number().nonnegative().default(1e-8), '', 'verl', 'REINFORCE++: added to the variance.'),
    ...plain,
  }),
  z.strictObject({ name: z.literal('cispo'), ...standardised }),
  z.strictObject({ name: z.literal('sapo'), ...standardised }),
], { error: ({ code }) => (code === 'invalid_union' ? `The estimator must be one of ${estimatorNames.join(', ')}.` : undefined) })
export type EstimatorConfig = z.infer<typeof estimatorConfigSchema>

/** What an estimator reads: one score a rollout, a reward at every token, at the end of every step, or penalties there and the score at the end. */
export type RewardForm = 'score' | 'token' | 'step' | 'return'

export function rewardForm(name: EstimatorName): RewardForm {
  switch (name) {
    case 'grpo':
    case 'dr-grpo':
    case 'dapo':
    case 'gspo':
    case 'rloo':
    case 'cispo':
    case 'sapo':
      return 'score'
    case 'bot-grpo':
    case 'gspo-token':
      return 'token'
    case 'grpo-process':
    case 'pure':
      return 'step'
    case 'reinforce++':
      return 'return'
  }
}
