// advantages: one group of rewards through an estimator, without a model.
import { text as readAll } from 'node:stream/consumers'
import type { Command } from 'commander'
import { Option } from 'commander'
import { z } from 'zod'
import { UserError } from '../contract/errors.ts'
import { estimatorConfigSchema, estimatorNames } from '../contract/estimator-config.ts'
import type { EstimatorConfig, EstimatorName } from '../contract/estimator-config.ts'
import { groupAdvantages } from '../engine/policy/group-advantages.ts'
import { numberWithin } from './cli-options.ts'
import type { CommandResult } from './cli-output.ts'
import type { Answer } from './cli-train.ts'

/** Registers the command. */
export function addAdvantageCommand(program: Command, answer: Answer): void {
  const command = program
    .command('advantages')
    .description('advantages of one group, read from stdin: {"rewards": [[...], ...]}, a list of token rewards or one number for each rollout')
    .addOption(new Option('--estimator <name>', 'how rewards become advantages').choices(estimatorNames).default('bot-grpo'))
    .option('--epsilon <x>', 'added to the standard deviation (reinforce++: to the variance)', numberWithin(0, Infinity))
    .addOption(new Option('--deviation <kind>', 'standard deviation over K or over K - 1').choices(['population', 'sample']))
    .addOption(new Option('--pooling <unit>', 'bot-grpo, gspo-token: what weighs the same in mean and deviation').choices(['rollout', 'token']))
    .addOption(new Option('--flat-groups <policy>', 'what to do with a group whose outcomes are all the same').choices(['keep', 'mean-only', 'skip', 'sigma-floor']))
    .option('--sigma-floor <x>', 'smallest standard deviation under --flat-groups sigma-floor', numberWithin(Number.MIN_VALUE, Infinity))
    .option('--flat-tolerance <x>', 'outcomes closer than this count as the same', numberWithin(0, Infinity))
    .option('--temperature <x>', 'pure: how close the credit of a step comes to the minimum', numberWithin(Number.MIN_VALUE, Infinity))
    .option('--discount <x>', 'reinforce++: what a reward one token later is worth', numberWithin(Number.MIN_VALUE, 1))
    .option('--clip <x>', 'largest absolute advantage', numberWithin(Number.MIN_VALUE, Infinity))
    .option('--mask-truncated', 'truncated completions teach nothing')
  answer(command, async (options: AdvantageOptions) => computeAdvantages(options, await readAll(process.stdin)))
}

export interface AdvantageOptions {
  readonly estimator: EstimatorName
  readonly epsilon?: number
  readonly deviation?: 'population' | 'sample'
  readonly pooling?: 'rollout' | 'token'
  readonly flatGroups?: 'keep' | 'mean-only' | 'skip' | 'sigma-floor'
  readonly sigmaFloor?: number
  readonly flatTolerance?: number
  readonly temperature?: number
  readonly discount?: number
  readonly clip?: number
  readonly maskTruncated?: boolean
}

const reward = z.union([z.number(), z.null()], 'must be a number (null for one that is not finite)').transform((value) => value ?? Number.NaN)
const groupSchema = z.strictObject({
  rewards: z.array(z.union([z.array(reward), reward], 'must be a list of token rewards or one number')).min(1, 'must hold at least one rollout'),
  outcomes: z.array(reward).exactOptional(),
  truncated: z.array(z.boolean('must be true or false')).exactOptional(),
  /** Tokens of each step of each rollout; every token is a step where they are left out. */
  steps: z.array(z.array(z.int('must be a whole number of tokens').positive('must be at least one token'))).exactOptional(),
})

/**
 * Advantages of one group.
 * A rollout given as one number counts as one token. Estimators that take one score a rollout get the mean of its token rewards. Where no
 * outcomes are given, that mean is the outcome too. Of a step only the reward of its last token counts.
 */
export function computeAdvantages(options: AdvantageOptions, stdin: string): CommandResult {
  const config = estimatorOf(options)
  const group = parseGroup(stdin)
  const tokenRewards = group.rewards.map((own) => Float64Array.from(typeof own === 'number' ? [own] : own))
  for (const name of ['outcomes', 'truncated', 'steps'] as const) {
    const given = group[name]
    if (given !== undefined && given.length !== tokenRewards.length) throw new UserError({ code: 'bad-input', what: `there are ${tokenRewards.length} rollouts but ${given.length} ${name}`, place: { file: 'stdin', field: name } })
  }
  const stepEnds = group.steps?.map((steps, k) => stepEndsOf(steps, tokenRewards[k] as Float64Array, k))
  const scores = tokenRewards.map((rewards) => rewards.reduce((sum, value) => sum + value, 0) / Math.max(1, rewards.length))
  const outcomes = group.outcomes ?? scores
  const result = groupAdvantages(config, [{ tokenRewards, outcomes, truncated: group.truncated ?? tokenRewards.map(() => false), scores, ...(stepEnds === undefined ? {} : { stepEnds }) }])
  const json = { advantages: (result.advantages[0] ?? []).map((own) => [...own]), stats: { ...result.stats[0], fates: result.fates[0] } }
  return { json, text: JSON.stringify(json) }
}

/** The options that were given, as the estimator's own configuration. */
function estimatorOf({ estimator, clip, ...given }: AdvantageOptions): EstimatorConfig {
  const fields = Object.fromEntries(Object.entries({ ...given, clipAdvantage: clip }).filter(([name, value]) => value !== undefined && name !== 'json'))
  const parsed = estimatorConfigSchema.safeParse({ name: estimator, ...fields })
  if (parsed.success) return parsed.data
  throw new UserError({ code: 'usage', what: `--estimator ${estimator} does not take this: ${parsed.error.issues[0]?.message ?? 'the options do not fit'}`, remedy: 'Leave the option out; satchel advantages --help says what is for which estimator.' })
}

function stepEndsOf(steps: readonly number[], rewards: Float64Array, rollout: number): Uint8Array {
  const tokens = steps.reduce((sum, length) => sum + length, 0)
  if (tokens !== rewards.length) throw new UserError({ code: 'bad-input', what: `the steps of this rollout have ${tokens} tokens, its rewards are ${rewards.length}`, place: { file: 'stdin', field: `steps.${rollout}` } })
  const ends = new Uint8Array(tokens)
  let end = 0
  for (const length of steps) ends[(end += length) - 1] = 1
  return ends
}

function parseGroup(stdin: string): z.output<typeof groupSchema> {
  const expected = '{"rewards": [[1], [0.5, 0]]}'
  let value: unknown
  try {
    value = JSON.parse(stdin)
  } catch (error) {
    throw new UserError({ code: 'bad-input', what: `the input is not JSON (${(error as Error).message})`, place: { file: 'stdin' }, expected }, { cause: error })
  }
  const parsed = groupSchema.safeParse(value)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  throw new UserError({ code: 'bad-input', what: issue?.message ?? 'the input is not valid', place: { file: 'stdin', ...(issue === undefined || issue.path.length === 0 ? {} : { field: issue.path.map(String).join('.') }) }, expected })
}
