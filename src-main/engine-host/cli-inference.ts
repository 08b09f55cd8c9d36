// generate, logprobs, eval: what a model writes and how sure it is.
import type { Command } from 'commander'
import { z } from 'zod'
import { UserError } from '../contract/errors.ts'
import type { RunConfig } from '../contract/run-config.ts'
import { checkFile, readJsonFile } from '../engine/models/json-file.ts'
import { checkReward } from '../engine/rewards/check-reward.ts'
import { openRewards } from '../engine/rewards/judge/open-rewards.ts'
import { createStream } from '../engine/runtime/random.ts'
import { evaluate } from '../engine/training/evaluation.ts'
import { encodePrompts, longestSequence, readPromptFile } from '../engine/training/prompts.ts'
import type { NumberedPromptRow } from '../engine/training/prompts.ts'
import { sequenceLogprobs } from '../engine/training/sequence-logprobs.ts'
import type { ModelSession } from '../engine/training/session.ts'
import { chatOf, numberList, numberWithin, readReward, wholeNumber, withBase, withChat, withDevice } from './cli-options.ts'
import type { ChatOptions, DeviceOptions } from './cli-options.ts'
import { log } from './cli-output.ts'
import type { CommandResult } from './cli-output.ts'
import { createProgressView } from './cli-progress.ts'
import { stageTable } from './cli-train.ts'
import type { Answer } from './cli-train.ts'
import { resolveModel } from './model-names.ts'
import { openModel } from './open-model.ts'
import type { OpenedModel } from './open-model.ts'

interface ModelOptions extends DeviceOptions, ChatOptions {
  readonly base?: string
}

const modelArgument = ['<model>', 'model folder, adapter folder, run folder, or a name that models list shows'] as const

/** Registers the commands. */
export function addInferenceCommands(program: Command, answer: Answer): void {
  const generate = withChat(withBase(withDevice(program.command('generate').description('let a model answer prompts').argument(...modelArgument))))
    .option('--prompt <text>', 'the prompt')
    .option('--data <file>', 'prompt file instead of one prompt')
    .option('--n <k>', 'completions for each prompt', wholeNumber(1), 1)
    .option('--seed <s>', 'seed of the random streams', wholeNumber(0), 1)
    .option('--max-tokens <n>', 'longest completion in tokens', wholeNumber(1), 256)
    .option('--temperature <t>', '1 samples the model as it is, 0 takes the likeliest token', numberWithin(0, 100), 1)
    .option('--top-k <k>', 'keep only the k likeliest tokens, 0 for all', wholeNumber(0), 0)
    .option('--top-p <p>', 'keep the smallest set with this probability', numberWithin(0, 1), 1)
    .option('--min-p <p>', 'drop tokens less likely than this share of the likeliest', numberWithin(0, 1), 0)
  answer(generate, (model: string, options: GenerateOptions) => withModel(model, options, (opened) => generateTexts(opened.session, options)))

  const logprobs = withBase(withDevice(program.command('logprobs').description('log-probabilities of given token ids, at temperature 1').argument(...modelArgument)))
    .requiredOption('--tokens <file>', 'JSON: {"sequences": [[id, ...], ...]}')
  answer(logprobs, (model: string, options: ModelOptions & { tokens: string }) => withModel(model, options, (opened) => printLogprobs(opened.session, options.tokens)))

  const evaluation = withChat(withBase(withDevice(program.command('eval').description('sample held-out prompts, score them, and say how sure the result is').argument(...modelArgument))))
    .requiredOption('--data <file>', 'prompt file; its held-out rows where it marks any, otherwise all')
    .option('--reward <preset or file>', 'how completions are scored; a run\'s own where left out, otherwise the preset react')
    .option('--n <n>', 'completions for each prompt', wholeNumber(1), 8)
    .option('--k <list>', 'pass@k is reported for these k', numberList, [1, 2, 4])
    .option('--prompts <n>', 'only the first so many prompts', wholeNumber(1))
    .option('--temperature <t>', 'temperature of the sampling', numberWithin(0.01, 100), 1)
    .option('--max-tokens <n>', 'longest completion in tokens', wholeNumber(1))
    .option('--seed <s>', 'seed of the random streams', wholeNumber(0), 1)
    .option('--workers <n>', 'processes that score', wholeNumber(1), 1)
  answer(evaluation, (model: string, options: EvalOptions) => withModel(model, options, (opened) => evaluateModel(opened, options)))
}

async function withModel(path: string, options: ModelOptions, use: (opened: OpenedModel) => Promise<CommandResult>): Promise<CommandResult> {
  const opened = await openModel(await resolveModel(path), { ...options, chat: chatOf(options) })
  try {
    for (const warning of opened.warnings) log(`warning: ${warning}`)
    return await use(opened)
  } finally {
    await opened.session.close()
  }
}

interface GenerateOptions extends ModelOptions {
  readonly prompt?: string
  readonly data?: string
  readonly n: number
  readonly seed: number
  readonly maxTokens: number
  readonly temperature: number
  readonly topK: number
  readonly topP: number
  readonly minP: number
}

async function generateTexts(session: ModelSession, options: GenerateOptions): Promise<CommandResult> {
  if ((options.prompt === undefined) === (options.data === undefined)) throw new UserError({ code: 'usage', what: 'what to answer was not said, or said twice', expected: 'either --prompt or --data' })
  if (options.prompt?.trim() === '') throw new UserError({ code: 'bad-input', what: 'the prompt is empty', place: { field: '--prompt' }, remedy: 'Give it a text.' })
  const rows: NumberedPromptRow[] = options.data === undefined ? [{ id: 'prompt', prompt: options.prompt as string, row: 1 }] : await readPromptFile(options.data)
  const prompts = encodePrompts(rows, session.encodePrompt, { contextTokens: session.contextTokens, maxNewTokens: options.maxTokens, file: options.data ?? '--prompt' })
  const { temperature, topK, topP, minP } = options
  const sampler = await session.openSampler(longestSequence(prompts, options.maxTokens))
  const rollouts = await sampler.generate(
    prompts.map((promptIds, prompt) => ({ promptIds, streams: Array.from({ length: options.n }, (_, index) => createStream(options.seed, 'generate', prompt, index)) })),
    { law: { temperature, topK, topP, minP }, maxNewTokens: options.maxTokens, slots: 64, stopIds: session.stopIds, sampleLimit: session.tokenizer.size },
  )
  const completions = rollouts.map(({ request, index, ids, logprobs, finish }) => {
    const { id, prompt } = rows[request] as NumberedPromptRow
    return { id, prompt, index, text: session.tokenizer.tokenOffsets(ids).text, ids: [...ids], logprobs: [...logprobs], finish }
  })
  const heading = (text: string, index: number): string => (completions.length === 1 ? text : `--- ${completions[index]?.id ?? ''} ${completions[index]?.index ?? ''}\n${text}`)
  return { json: { completions }, text: completions.map(({ text }, index) => heading(text, index)).join('\n') }
}

const sequencesSchema = z.object({ sequences: z.array(z.array(z.int('must be a token id (a whole number from 0)').nonnegative('must be a token id (a whole number from 0)')).min(1, 'must hold at least one id')).min(1, 'must hold at least one sequence') })

async function printLogprobs(session: ModelSession, file: string): Promise<CommandResult> {
  const { sequences } = checkFile(sequencesSchema, await readJsonFile(file, 'Name a JSON file such as {"sequences": [[1, 2, 3]]}.'), file, 'Correct the field.')
  const { vocabularySize } = session.policy.config
  for (const [index, ids] of sequences.entries()) {
    const wrong = ids.findIndex((id) => id >= vocabularySize)
    const place = (field: string): { file: string; field: string } => ({ file, field })
    if (wrong >= 0) throw new UserError({ code: 'bad-input', what: `${ids[wrong] as number} is no id of this model`, place: place(`sequences.${index}.${wrong}`), expected: `ids below ${vocabularySize}` })
    if (ids.length > session.contextTokens) throw new UserError({ code: 'bad-input', what: `the sequence has ${ids.length} ids`, place: place(`sequences.${index}`), expected: `at most ${session.contextTokens}, the model's context` })
  }
  const logprobs = await sequenceLogprobs(session.device, session.policy, sequences)
  return { json: { logprobs }, text: JSON.stringify({ logprobs }) }
}

interface EvalOptions extends ModelOptions {
  readonly data: string
  readonly reward?: string
  readonly n: number
  readonly k: number[]
  readonly prompts?: number
  readonly temperature: number
  readonly maxTokens?: number
  readonly seed: number
  readonly workers: number
}

async function evaluateModel({ session, kind, step }: OpenedModel, options: EvalOptions): Promise<CommandResult> {
  const tooLarge = options.k.find((k) => k > options.n)
  if (tooLarge !== undefined) throw new UserError({ code: 'usage', what: `pass@${tooLarge} needs at least ${tooLarge} completions a prompt, --n says ${options.n}`, remedy: 'Raise --n or leave that k out.' })
  const all = await readPromptFile(options.data)
  const heldout = all.filter(({ split }) => split === 'heldout')
  const rows = (heldout.length > 0 ? heldout : all).slice(0, options.prompts ?? all.length)
  const reward = options.reward === undefined && kind === 'run' ? session.config.reward : await readReward(options.reward ?? 'react')
  await checkReward(reward, rows, options.data)
  const config: RunConfig = {
    ...session.config,
    seed: options.seed,
    reward,
    rollout: { ...session.config.rollout, maxNewTokens: options.maxTokens ?? session.config.rollout.maxNewTokens },
    evaluation: { every: 1, prompts: rows.length, samples: options.n, k: options.k, temperature: options.temperature, shown: 3 },
  }
  const prompts = encodePrompts(rows, session.encodePrompt, { contextTokens: session.contextTokens, maxNewTokens: config.rollout.maxNewTokens, file: options.data })
  const pool = await openRewards({ workers: options.workers, config: reward, onNotice: log })
  const view = createProgressView(process.stderr, reward.recipe)
  try {
    const { tokenizer, stopIds, encodePrompt } = session
    const sampler = await session.openSampler(longestSequence(prompts, config.rollout.maxNewTokens))
    const at = step ?? 0
    view.onEvent({ type: 'state', state: 'running', step: 0, totalSteps: 1, secondsLeft: null, runDirectory: '', message: '' })
    const result = await evaluate({ config, sampler, tokenizer, scorer: pool, stopIds, encodePrompt }, config, rows, at, (done, total) => view.onEvent({ type: 'progress', phase: 'evaluate', step: 0, done, total }))
    view.close()
    const passes = Object.entries(result.passAtK).map(([k, value]) => `pass@${k} ${(100 * value).toFixed(1)} %`)
    return { json: result, text: `${stageTable([result], reward.recipe)}\n${passes.join('  ')}` }
  } finally {
    view.close()
    pool.dispose()
  }
}
