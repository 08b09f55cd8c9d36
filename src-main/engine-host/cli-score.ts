// score: rewards without a model.
import type { Command } from 'commander'
import { z } from 'zod'
import { UserError } from '../contract/errors.ts'
import { gateNames } from '../contract/rewards.ts'
import type { TokenOffsets } from '../contract/rewards.ts'
import { readDecoderConfig } from '../engine/models/config.ts'
import { openTokenizer } from '../engine/models/tokenizer.ts'
import type { Tokenizer } from '../engine/models/tokenizer.ts'
import { checkReward } from '../engine/rewards/check-reward.ts'
import { scoreRows } from '../engine/rewards/score.ts'
import type { ScoreRow } from '../engine/rewards/score.ts'
import { promptRowSchema, readRows, refuseProblems } from '../engine/training/prompts.ts'
import { readReward, rewardPresets, wholeNumber } from './cli-options.ts'
import { log, percent } from './cli-output.ts'
import type { CommandResult } from './cli-output.ts'
import type { Answer } from './cli-train.ts'

/** Registers the command. */
export function addScoreCommands(program: Command, answer: Answer): void {
  const score = program
    .command('score')
    .description('score completions: rows {prompt, completion, ...} to global scores, spans and token rewards')
    .requiredOption('--reward <preset or file>', `preset ${rewardPresets.join(', ')}, or a JSON file with a reward configuration`)
    .requiredOption('--data <file>', 'JSONL file with prompt, completion and, as the recipe needs them, requirements, answer, entry and tests; optionally reference, starts and ends')
    .option('--tokenizer <dir>', 'model folder whose tokenizer splits completions, for token rewards')
    .option('--workers <n>', 'processes that score', wholeNumber(1), 1)
  answer(score, (options: ScoreOptions) => scoreFile(options))
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
  await checkReward(config, rows.map(({ row, value }) => ({ ...value, id: value.id ?? `row-${row}`, row })), options.data)
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
