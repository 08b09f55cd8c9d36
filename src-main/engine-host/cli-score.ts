// score: rewards without a model.
import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { z } from 'zod'
import { UserError } from '../contract/errors.ts'
import type { RewardConfig } from '../contract/reward-config.ts'
import { gateNames } from '../contract/rewards.ts'
import type { TokenOffsets } from '../contract/rewards.ts'
import { readDecoderConfig } from '../engine/models/config.ts'
import { openTokenizer } from '../engine/models/tokenizer.ts'
import type { Tokenizer } from '../engine/models/tokenizer.ts'
import { benchReward } from '../engine/rewards/bench/reward-bench.ts'
import { checkReward } from '../engine/rewards/check-reward.ts'
import { scoreRows } from '../engine/rewards/score.ts'
import type { ScoreRow } from '../engine/rewards/score.ts'
import { promptRowSchema, readPromptFile, readRows, refuseProblems } from '../engine/training/prompts.ts'
import { parseRunConfig, readRollouts, readRunDescription, runFiles } from '../engine/training/run-folder-reading.ts'
import { describeBench, describeReplay } from './bench-text.ts'
import { readReward, rewardPresets, wholeNumber } from './cli-options.ts'
import { log, percent } from './cli-output.ts'
import { parseSetting, withChanges, type Setting } from './config-settings.ts'
import type { CommandResult } from './cli-output.ts'
import type { Answer } from './cli-train.ts'
import { replayRun } from './replay-run.ts'

/** Registers the command. */
export function addScoreCommands(program: Command, answer: Answer): void {
  const score = program
    .command('score')
    .description('score completions: rows {prompt, completion, ...} to global scores, spans and token rewards')
    .option('--reward <preset or file>', `preset ${rewardPresets.join(', ')}, a JSON file with a reward configuration, or a .js or .ts file with a function of your own`)
    .option('--data <file or run>', 'JSONL file with prompt, completion and, as the recipe needs them, requirements, answer, entry and tests, optionally reference, starts and ends; or a run folder: the rollouts of its newest step')
    .option('--tokenizer <dir>', 'model folder whose tokenizer splits completions, for token rewards')
    .option('--workers <n>', 'processes that score', wholeNumber(1), 1)
    .option('--bench', 'try the reward instead: what each source says, whether it says it twice, how long it takes, and what would go wrong')
    .option('--replay <run>', 'show how the advantages of a run would change under other weights or another estimator (--set)')
    .option('--set <field=value>', 'with --replay: a field of the run\'s configuration to change, such as reward.localWeight=0.1; may be repeated', parseSetting)
  answer(score, (options: ScoreOptions) => (options.replay !== undefined ? replayed(options.replay, options.set ?? []) : options.bench === true ? benchFile(options) : scoreFile(options)))
}

interface ScoreOptions {
  readonly reward?: string
  readonly data?: string
  readonly tokenizer?: string
  readonly workers: number
  readonly bench?: boolean
  readonly replay?: string
  readonly set?: readonly Setting[]
}

const scoreRowSchema = promptRowSchema.extend({
  completion: z.string('must be a text'),
  starts: z.array(z.int().nonnegative()).exactOptional(),
  ends: z.array(z.int().nonnegative()).exactOptional(),
})

/** Rows to score, with the reward they are scored by. */
async function readItems(options: ScoreOptions): Promise<{ config: RewardConfig; items: ScoreRow[]; numbers: number[] }> {
  const data = options.data
  if (data === undefined) throw new UserError({ code: 'usage', what: 'no data was named', expected: '--data with a JSONL file or a run folder' })
  if (existsSync(runFiles(data).description)) return readRun(data, options.reward)
  if (options.reward === undefined) throw new UserError({ code: 'usage', what: 'no reward was named', expected: `--reward with one of ${rewardPresets.join(', ')}, or a file` })
  const config = await readReward(options.reward)
  const { rows, problems } = await readRows(data, scoreRowSchema)
  refuseProblems(data, rows.length, problems, 'Correct these rows or remove them.')
  if (rows.length === 0) throw new UserError({ code: 'bad-input', what: 'the file holds no rows', place: { file: data } })
  await checkReward(config, rows.map(({ row, value }) => ({ ...value, id: value.id ?? `row-${row}`, row })), data)
  const tokenizer = options.tokenizer === undefined ? undefined : await openTokenizer(options.tokenizer, (await readDecoderConfig(options.tokenizer)).config)
  const items = rows.map(({ row, value: { starts, ends, ...fields } }): ScoreRow => {
    const offsets = givenOffsets(data, row, fields.completion, starts, ends) ?? (tokenizer === undefined ? undefined : offsetsBy(tokenizer, fields.completion, data, row))
    return { ...fields, id: fields.id ?? `row-${row}`, ...(offsets === undefined ? {} : { offsets }) }
  })
  return { config, items, numbers: rows.map(({ row }) => row) }
}

/** The rollouts of a run's newest step, with what the prompt file says of their prompts. */
async function readRun(directory: string, reward: string | undefined): Promise<{ config: RewardConfig; items: ScoreRow[]; numbers: number[] }> {
  const { config } = await readRunDescription(directory)
  const { values } = await readRollouts(directory)
  if (values.length === 0) throw new UserError({ code: 'bad-input', what: 'this run has logged no rollouts yet', place: { file: directory } })
  const prompts = new Map((await readPromptFile(config.data.prompts)).map((row) => [row.id, row]))
  const items = values.map(({ promptId, prompt, text, starts, ends }): ScoreRow => ({ ...(prompts.get(promptId) ?? { prompt }), id: promptId, completion: text, offsets: { text, starts: Int32Array.from(starts), ends: Int32Array.from(ends) } }))
  return { config: reward === undefined ? config.reward : await readReward(reward), items, numbers: items.map((_, index) => index + 1) }
}

async function benchFile(options: ScoreOptions): Promise<CommandResult> {
  const { config, items } = await readItems(options)
  const report = await benchReward(items, { config, workers: options.workers, onProgress: (done, total) => log(`scoring ${done} of ${total} done`) })
  return { json: report, text: describeBench(report) }
}

async function replayed(directory: string, set: readonly Setting[]): Promise<CommandResult> {
  const { steps } = await replayRun(directory, { changed: (before) => parseRunConfig(withChanges(before, { set }), directory) })
  return { json: { steps }, text: describeReplay(steps) }
}

async function scoreFile(options: ScoreOptions): Promise<CommandResult> {
  const { config, items, numbers } = await readItems(options)
  const scored = await scoreRows(items, { config, workers: options.workers, onNotice: log, onProgress: (done, total) => log(`scored ${done}/${total}`) })
  const results = scored.map(({ id, scored: verdict, tokens }, index) => ({
    row: numbers[index], id, ...verdict,
    ...(tokens === undefined ? {} : { starts: [...(items[index]?.offsets?.starts ?? [])], ends: [...(items[index]?.offsets?.ends ?? [])], tokenRewards: [...tokens.rewards] }),
  }))
  const lines = results.map(({ id, global, stages, requirementScore, audit, spans }) => {
    const names = gateNames[config.recipe]
    const failed = (['parse', 'types', 'bundle', 'render'] as const).find((gate) => !stages[gate])
    const first = spans.find(({ value }) => value !== 0)
    const graded = config.recipe === 'react' || config.recipe === 'code' ? `  ${config.recipe === 'react' ? 'requirements' : 'cases'} ${percent(requirementScore)}` : ''
    return `${id}  ${global.toFixed(3)}  ${failed === undefined ? names.render : `fails at: ${names[failed]}`}${graded}  audit ${audit.passed ? 'passed' : audit.failures.join(', ')}${first === undefined ? '' : `  [${first.start}, ${first.end}) ${first.message}`}`
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
