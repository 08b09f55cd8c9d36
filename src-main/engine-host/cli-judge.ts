// judge: the judges of a reward, tried on one sample before anything is scored or trained.
import type { Command } from 'commander'
import { UserError } from '../contract/errors.ts'
import { judgeSchema } from '../contract/judge-config.ts'
import type { RewardConfig } from '../contract/reward-config.ts'
import { builtInSamples, datasetSamples, type NamedSample } from '../engine/rewards/bench/sample-rows.ts'
import { tryJudges, type JudgeTrial } from '../engine/rewards/judge/try-judges.ts'
import { readReward, rewardPresets } from './cli-options.ts'
import type { CommandResult } from './cli-output.ts'
import type { Answer } from './cli-train.ts'

interface JudgeOptions {
  readonly reward: string
  readonly data?: string
  readonly url?: string
  readonly model?: string
  readonly keyVariable?: string
}

const shownCharacters = 400

/** Registers the command. */
export function addJudgeCommand(program: Command, answer: Answer): void {
  const judge = program
    .command('judge')
    .description('try the judges of a reward on one sample: who answers, how long it takes, what was written and what was understood of it')
    .option('--reward <preset or file>', `preset ${rewardPresets.filter((preset) => preset.endsWith('-judged')).join(', ')}, or a JSON file with a reward or a run's configuration`, 'react-judged')
    .option('--data <file>', 'dataset whose first answer is judged; one that comes with Satchel where left out')
    .option('--url <address>', "another server than the reward's, such as http://127.0.0.1:11434/v1")
    .option('--model <name>', "another model than the reward's, by its name at the server")
    .option('--key-variable <name>', 'environment variable that holds the key the server wants')
  answer(judge, (options: JudgeOptions) => tryReward(options))
}

async function tryReward(options: JudgeOptions): Promise<CommandResult> {
  const config = withServer(await readReward(options.reward), options)
  const sample = await firstSample(config, options.data)
  const trials = await tryJudges(config, sample)
  if (trials.length === 0) throw new UserError({ code: 'bad-input', what: 'this reward asks no judge', place: { file: options.reward, field: 'reward.judge' }, expected: 'reward.judge of the kind server or model, and a source with a weight that asks it', remedy: 'Name another reward, such as --reward react-judged.' })
  const understood = trials.every(({ said }) => said.failure === undefined)
  const json = { ok: understood, sample: { name: sample.name, prompt: sample.row.prompt, completion: sample.completion }, trials: trials.map(({ source, model, answers, said: { global, spans, failure } }) => ({ source, model, answers, global, spans, failure })) }
  const text = [`Asked about ${sample.name} to: ${shortened(sample.row.prompt)}`, ...trials.flatMap((trial) => ['', ...described(trial)])].join('\n')
  return { json, text, exitCode: understood ? 0 : 5 }
}

/** The reward with another server; the fields are those of the settings of the app. */
function withServer(config: RewardConfig, { url, model, keyVariable }: JudgeOptions): RewardConfig {
  const change = { ...(url === undefined ? {} : { url }), ...(model === undefined ? {} : { model }), ...(keyVariable === undefined ? {} : { apiKeyVariable: keyVariable }) }
  if (Object.keys(change).length === 0) return config
  const judge = judgeSchema.safeParse({ ...(config.judge.kind === 'server' ? config.judge : { kind: 'server' }), ...change })
  if (judge.success) return { ...config, judge: judge.data }
  const issue = judge.error.issues[0]
  throw new UserError({ code: 'usage', what: issue?.message ?? 'this is no server', place: { field: `reward.judge.${issue?.path.join('.') ?? ''}` } })
}

async function firstSample({ recipe }: RewardConfig, data: string | undefined): Promise<NamedSample> {
  const { samples } = data === undefined ? await builtInSamples(recipe) : await datasetSamples(data)
  const first = samples[0]
  if (first === undefined) throw new UserError({ code: 'bad-input', what: 'the dataset holds no answers to judge', place: { file: data }, expected: 'rows with prompt and completion (or reference)' })
  return first
}

function described({ source, model, answers, said: { global, spans, failure } }: JudgeTrial): string[] {
  return [
    `${source}: ${model} answered`,
    ...answers.map(({ text, seconds }, at) => `  answer ${at + 1}, ${seconds.toFixed(1)} s: ${shortened(text)}`),
    ...(failure === undefined || global !== 0 ? [`  understood: ${global.toFixed(2)} for the whole`] : []),
    ...(failure === undefined ? [] : [`  not understood: ${failure}`]),
    ...spans.map(({ start, end, value, message }) => `  [${start}, ${end}) ${value.toFixed(2)} ${message}`),
  ]
}

function shortened(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > shownCharacters ? `${line.slice(0, shownCharacters)}…` : line
}
