// score and advantages: rewards and estimators without a model.
import { text as readAll } from 'node:stream/consumers'
import type { Command } from 'commander'
import { Option } from 'commander'
import { z } from 'zod'
import { UserError } from '../contract/errors.ts'
import { fieldMeta } from '../contract/field.ts'
import type { TokenOffsets } from '../contract/rewards.ts'
import { estimatorConfigSchema } from '../contract/run-config.ts'
import type { EstimatorConfig } from '../contract/run-config.ts'
import { readDecoderConfig } from '../engine/models/config.ts'
import { openTokenizer } from '../engine/models/tokenizer.ts'
import type { Tokenizer } from '../engine/models/tokenizer.ts'
import { groupAdvantages } from '../engine/policy/group-advantages.ts'
import { scoreRows } from '../engine/rewards/score.ts'
import type { ScoreRow } from '../engine/rewards/score.ts'
import { promptRowSchema, readRows, refuseProblems } from '../engine/training/prompts.ts'
import { numberWithin, readReward, wholeNumber } from './cli-options.ts'
import { log } from './cli-output.ts'
import type { CommandResult } from './cli-output.ts'
import type { Answer } from './cli-train.ts'

/** Registers the commands. */
export function addScoreCommands(program: Command, answer: Answer): void {
  const score = program
    .command('score')
    .description('score completions: rows {prompt, completion, ...} to global scores, spans and token rewards')
    .requiredOption('--reward <preset or file>', 'preset react, or a JSON file with a reward configuration')
    .requiredOption('--data <file>', 'JSONL file with prompt, completion and optionally requirements, reference, starts and ends')
    .option('--tokenizer <dir>', 'model folder whose tokenizer splits completions, for token rewards')
    .option('--workers <n>', 'processes that score', wholeNumber(1), 1)
  answer(score, (options: ScoreOptions) => scoreFile(options))

  const help = (name: keyof typeof estimatorConfigSchema.shape): string => fieldMeta(estimatorConfigSchema.shape[name])?.help ?? ''
  const defaults = estimatorConfigSchema.parse({})
  const advantages = program
    .command('advantages')
    .description('advantages of one group, read from stdin: {"rewards": [[...], ...]}, a list of token rewards or one number for each rollout')
    .addOption(new Option('--estimator <name>', help('name')).choices(['bot-grpo', 'grpo']).default(defaults.name))
    .option('--epsilon <x>', help('epsilon'), numberWithin(0, Infinity), defaults.epsilon)
    .addOption(new Option('--flat-groups <policy>', help('flatGroups')).choices(['keep', 'mean-only', 'skip', 'sigma-floor']).default(defaults.flatGroups))
    .option('--sigma-floor <x>', help('sigmaFloor'), numberWithin(Number.MIN_VALUE, Infinity), defaults.sigmaFloor)
    .option('--flat-tolerance <x>', help('flatTolerance'), numberWithin(0, Infinity), defaults.flatTolerance)
    .option('--clip <x>', help('clipAdvantage'), numberWithin(Number.MIN_VALUE, Infinity))
    .option('--mask-truncated', help('maskTruncated'))
  answer(advantages, async (options: AdvantageOptions) => computeAdvantages(options, await readAll(process.stdin)))
}

interface ScoreOptions {
  readonly reward: string
  readonly data: string
  readonly tokenizer?: string
  readonly workers: number
}

const scoreRowSchema = promptRowSchema.extend({
  completion: z.string('must be a text'),
  starts: z.array(z.int().nonnegative()).exactOptional(),
  ends: z.array(z.int().nonnegative()).exactOptional(),
})

async function scoreFile(options: ScoreOptions): Promise<CommandResult> {
  const config = await readReward(options.reward)
  const { rows, problems } = await readRows(options.data, scoreRowSchema)
  refuseProblems(options.data, rows.length, problems, 'Correct these rows or remove them.')
  if (rows.length === 0) throw new UserError({ code: 'bad-input', what: 'the file holds no rows', place: { file: options.data } })
  const tokenizer = options.tokenizer === undefined ? undefined : await openTokenizer(options.tokenizer, (await readDecoderConfig(options.tokenizer)).config)
  const items = rows.map(({ row, value: { starts, ends, ...fields } }): ScoreRow => {
    const offsets = givenOffsets(options.data, row, fields.completion, starts, ends) ?? (tokenizer === undefined ? undefined : offsetsBy(tokenizer, fields.completion, options.data, row))
    return { ...fields, id: fields.id ?? `row-${row}`, ...(offsets === undefined ? {} : { offsets }) }
  })
  const scored = await scoreRows(items, { config, workers: options.workers, onProgress: (done, total) => log(`scored ${done}/${total}`) })
  const results = scored.map(({ id, scored: verdict, tokens }, index) => ({
    row: rows[index]?.row, id, ...verdict,
    ...(tokens === undefined ? {} : { starts: [...(items[index]?.offsets?.starts ?? [])], ends: [...(items[index]?.offsets?.ends ?? [])], tokenRewards: [...tokens.rewards] }),
  }))
  const lines = results.map(({ id, global, stages, requirementScore, audit, spans }) => {
    const reached = (['render', 'bundle', 'types', 'parse'] as const).find((stage) => stages[stage])
    const verdict = reached === 'render' ? 'compiles' : reached === undefined ? 'does not parse' : `passes ${reached}, then fails`
    const first = spans[0]
    return `${id}  ${global.toFixed(3)}  ${verdict}  requirements ${(100 * requirementScore).toFixed(0)} %  audit ${audit.passed ? 'passed' : audit.failures.join(', ')}${first === undefined ? '' : `  [${first.start}, ${first.end}) ${first.message}`}`
  })
  return { json: { results }, text: lines.join('\n') }
}

function givenOffsets(file: string, row: number, completion: string, starts?: readonly number[], ends?: readonly number[]): TokenOffsets | undefined {
  if (starts === undefined && ends === undefined) return undefined
  const fits = starts !== undefined && ends !== undefined && starts.length === ends.length && ends.every((end, token) => (starts[token] as number) <= end && end <= completion.length)
  if (!fits) throw new UserError({ code: 'bad-input', what: 'the token positions do not fit the completion', place: { file, row, field: 'starts' }, expected: 'as many starts as ends, each a position in the completion, starts not behind their ends' })
  return { text: completion, starts: Int32Array.from(starts), ends: Int32Array.from(ends) }
}

function offsetsBy(tokenizer: Tokenizer, completion: string, file: string, row: number): TokenOffsets {
  const offsets = tokenizer.tokenOffsets(tokenizer.encode(completion))
  if (offsets.text === completion) return offsets
  throw new UserError({ code: 'bad-input', what: 'the tokenizer changes this completion (it normalises text), so positions would be wrong', place: { file, row, field: 'completion' }, remedy: 'Give starts and ends of the tokens in the row, or leave --tokenizer out.' })
}

interface AdvantageOptions {
  readonly estimator: EstimatorConfig['name']
  readonly epsilon: number
  readonly flatGroups: EstimatorConfig['flatGroups']
  readonly sigmaFloor: number
  readonly flatTolerance: number
  readonly clip?: number
  readonly maskTruncated?: boolean
}

const reward = z.union([z.number(), z.null()], 'must be a number (null for one that is not finite)').transform((value) => value ?? Number.NaN)
const groupSchema = z.strictObject({
  rewards: z.array(z.union([z.array(reward), reward], 'must be a list of token rewards or one number')).min(1, 'must hold at least one rollout'),
  outcomes: z.array(reward).exactOptional(),
  truncated: z.array(z.boolean('must be true or false')).exactOptional(),
})

/**
 * Advantages of one group.
 * A rollout given as one number counts as one token. GRPO takes one score a rollout: a rollout's token rewards are averaged. Where no
 * outcomes are given, that average is the outcome too.
 */
export function computeAdvantages(options: AdvantageOptions, stdin: string): CommandResult {
  const group = parseGroup(stdin)
  const tokenRewards = group.rewards.map((own) => Float64Array.from(typeof own === 'number' ? [own] : own))
  for (const name of ['outcomes', 'truncated'] as const) {
    const given = group[name]
    if (given !== undefined && given.length !== tokenRewards.length) throw new UserError({ code: 'bad-input', what: `there are ${tokenRewards.length} rollouts but ${given.length} ${name}`, place: { file: 'stdin', field: name } })
  }
  const scores = tokenRewards.map((rewards) => rewards.reduce((sum, value) => sum + value, 0) / Math.max(1, rewards.length))
  const config: EstimatorConfig = {
    name: options.estimator, epsilon: options.epsilon, flatGroups: options.flatGroups, sigmaFloor: options.sigmaFloor, flatTolerance: options.flatTolerance,
    clipAdvantage: options.clip ?? null, maskTruncated: options.maskTruncated ?? false,
  }
  const outcomes = group.outcomes ?? scores
  const result = groupAdvantages(config, [{ tokenRewards, outcomes, truncated: group.truncated ?? tokenRewards.map(() => false), scores }])
  const json = { advantages: (result.advantages[0] ?? []).map((own) => [...own]), stats: { ...result.stats[0], fates: result.fates[0] } }
  return { json, text: JSON.stringify(json) }
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
