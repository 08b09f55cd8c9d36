// models plan: what a run would need in memory, before anything is loaded.
import { totalmem } from 'node:os'
import { resolve } from 'node:path'
import { Option, type Command } from 'commander'
import { UserError } from '../contract/errors.ts'
import { runConfigSchema, type RunConfig } from '../contract/run-config.ts'
import { openModelFolder, type ModelFolder } from '../engine/models/model-folder.ts'
import { adviseMemory, machinePeaks, planMemory, type MemoryPlan, type SequenceLengths } from '../engine/training/memory-plan.ts'
import { assumedPromptTokens, longestPromptTokens } from '../engine/training/prompt-lengths.ts'
import { wholeNumber } from './cli-options.ts'
import { bytes, table, type CommandResult } from './cli-output.ts'
import type { Answer } from './cli-train.ts'
import { modelsFolder, resolveModel } from './model-names.ts'
import { readRunConfigFile } from './run-config-file.ts'

interface PlanOptions {
  readonly run?: string
  readonly data?: string
  readonly precision?: RunConfig['weights']['precision']
  readonly stream?: boolean
  readonly full?: boolean
  readonly rank?: number
  readonly prompts?: number
  readonly group?: number
  readonly slots?: number
  readonly promptTokens?: number
  readonly newTokens?: number
  readonly device?: 'cpu' | 'webgpu'
  readonly memory?: number
  readonly models?: string
}

/** Registers the command below `models`. */
export function addPlanCommand(models: Command, answer: Answer): void {
  const plan = models
    .command('plan')
    .description('say what a run would need in memory, whether this machine has it, and what to change when it has not')
    .argument('<model>', 'path of a model, or a name that models list shows')
    .option('--run <file>', 'configuration of the run; its defaults where left out')
    .option('--data <file>', 'prompt file whose longest prompt counts; that of --run where left out')
    .addOption(new Option('--precision <name>', 'how the frozen layers are held').choices(['fp32', 'stored', 'int8', 'int4']))
    .option('--stream', 'leave the layers in their file')
    .option('--full', 'train every weight instead of adapters')
    .option('--rank <n>', 'rank of the adapters', wholeNumber(1))
    .option('--prompts <n>', 'prompts a step', wholeNumber(1))
    .option('--group <n>', 'completions a prompt', wholeNumber(2))
    .option('--slots <n>', 'completions decoded side by side', wholeNumber(1))
    .option('--prompt-tokens <n>', `tokens of the longest prompt; without it and without prompts ${assumedPromptTokens}`, wholeNumber(1))
    .option('--new-tokens <n>', 'tokens of the longest completion', wholeNumber(1))
    .addOption(new Option('--device <name>', 'where the arithmetic runs').choices(['cpu', 'webgpu']))
    .option('--memory <gib>', 'memory to plan for, GiB; this machine\'s where left out', Number)
    .option('--models <dir>', 'folder that holds models (SATCHEL_MODELS, otherwise ./models)')
  answer(plan, (model: string, options: PlanOptions) => planModel(model, options))
}

async function planModel(nameOrPath: string, options: PlanOptions): Promise<CommandResult> {
  const path = await resolveModel(nameOrPath, modelsFolder(options.models))
  const run = withOptions(options.run === undefined ? runConfigSchema.parse({ model: path, data: { prompts: noPrompts } }) : await readRunConfigFile(options.run), options)
  const memory = memoryOf(options)
  const folder = await openModelFolder(path)
  const known = await promptLength(folder, run, options).finally(() => folder.close())
  const { config } = folder
  const promptTokens = known ?? assumedPromptTokens
  const lengths: SequenceLengths = { promptTokens, longest: promptTokens + run.rollout.maxNewTokens }
  if (lengths.longest > config.maxPositions) {
    throw new UserError({ code: 'bad-input', what: `prompt and completion have up to ${lengths.longest} tokens, the model holds ${config.maxPositions}`, place: { field: '--prompt-tokens' }, remedy: 'Shorten the prompts, or lower --prompt-tokens or --new-tokens.' })
  }
  const plan = planMemory(config, run, lengths, memory)
  const peak = Math.max(...Object.values(machinePeaks(plan)))
  const fits = peak <= memory
  const advice = fits ? [] : adviseMemory(config, run, lengths, memory)
  const json = { model: path, weights: run.weights, adapter: run.adapter, lengths, promptTokensKnown: known !== undefined, plan, memory, fits, advice }
  return { json, text: [...described(plan, run, lengths), '', ...(known === undefined ? [`The prompts are taken to have up to ${assumedPromptTokens} tokens; --data or --run names the real ones.`] : []), verdict(peak, memory), ...(plan.devicePeak === null ? [] : ['How much memory the card has is not known here: WebGPU does not tell.']), ...advice.map(({ change, trainingPeak }) => `  ${change}: ${bytes(trainingPeak)}${trainingPeak <= memory ? ', fits' : ''}`)].join('\n') }
}

/** Stands where a configuration names no prompts. */
const noPrompts = '-'

/** Tokens of the longest prompt as the options say, or as the prompts have it; undefined where there are none. */
async function promptLength(folder: ModelFolder, run: RunConfig, { promptTokens }: PlanOptions): Promise<number | undefined> {
  if (promptTokens !== undefined || run.data.prompts === noPrompts) return promptTokens
  return longestPromptTokens(folder, run)
}

function withOptions(run: RunConfig, options: PlanOptions): RunConfig {
  const { data, precision, stream, full, rank, prompts, group, slots, newTokens } = options
  const adapter = full === true ? { kind: 'full' as const } : rank === undefined || run.adapter.kind === 'full' ? run.adapter : { ...run.adapter, rank }
  return {
    ...run,
    data: { ...run.data, prompts: data === undefined ? run.data.prompts : resolve(data) },
    device: options.device ?? run.device,
    adapter,
    weights: { precision: precision ?? run.weights.precision, streamLayers: stream ?? run.weights.streamLayers },
    rollout: { ...run.rollout, promptsPerStep: prompts ?? run.rollout.promptsPerStep, groupSize: group ?? run.rollout.groupSize, slots: slots ?? run.rollout.slots, maxNewTokens: newTokens ?? run.rollout.maxNewTokens },
  }
}

function memoryOf({ memory }: PlanOptions): number {
  if (memory === undefined) return totalmem()
  if (Number.isFinite(memory) && memory > 0) return memory * 2 ** 30
  throw new UserError({ code: 'usage', what: 'the memory to plan for is no number', place: { field: '--memory' }, expected: 'GiB, such as 16' })
}

/** The parts of a plan in the order they are spoken of, with what they are called. */
export const planParts: readonly (readonly [part: keyof MemoryPlan, label: string])[] = [
  ['process', 'the process itself'],
  ['weights', 'weights'],
  ['programs', 'copies packed inside programs'],
  ['layerInUse', 'the layer in use, in float32'],
  ['adapters', 'adapters'],
  ['gradients', 'gradients'],
  ['optimizer', 'optimizer'],
  ['cache', 'key/value cache'],
  ['generation', 'logits and activations of generation'],
  ['activations', 'activations of the step'],
  ['logits', 'logits of the step'],
  ['browser', 'the browser that takes pictures'],
]
const BAR = 32

function described(plan: MemoryPlan, run: RunConfig, { promptTokens, longest }: SequenceLengths): string[] {
  const { precision, streamLayers } = run.weights
  const peaks = machinePeaks(plan)
  const rows = planParts.filter(([part]) => plan[part] !== 0).map(([part, label]) => [label, bytes(plan[part] as number), '#'.repeat(Math.round((BAR * (plan[part] as number)) / plan.trainingPeak))])
  return [
    `layers ${streamLayers ? 'left in their file' : `held as ${precision}`}, ${run.adapter.kind === 'full' ? 'every weight trained' : `LoRA rank ${run.adapter.rank}`}, ${run.rollout.promptsPerStep} prompts x ${run.rollout.groupSize}, ${promptTokens} + ${longest - promptTokens} tokens, the step ${plan.layout === 'whole' ? 'as one program' : 'a layer at a time'}`,
    '',
    table([['part', 'memory', ''], ...rows]),
    '',
    table([['peak', 'memory'], ['while generating', bytes(peaks.generation)], ['while training', bytes(peaks.training)], ['while resuming', bytes(peaks.resume)], ...(plan.devicePeak === null ? [] : [['on the graphics card', bytes(plan.devicePeak)]])]),
  ]
}

function verdict(peak: number, memory: number): string {
  if (peak <= memory) return `This fits into ${bytes(memory)}.`
  return `This does not fit into ${bytes(memory)}: ${bytes(peak - memory)} are missing. Each of these changes alone would lower the peak to:`
}
