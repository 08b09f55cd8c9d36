// train, resume, demo, and the commands that speak to a run in progress.
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import { Option } from 'commander'
import { UserError } from '../contract/errors.ts'
import type { EngineCommand, EvaluationResult } from '../contract/events.ts'
import { presetNames } from '../contract/methods.ts'
import type { Recipe } from '../contract/reward-config.ts'
import { outcomeWords, verdictText } from '../contract/outcome-words.ts'
import { gateNames } from '../contract/rewards.ts'
import type { RunConfig } from '../contract/run-config.ts'
import { kernelReport } from '../engine/runtime/kernels.ts'
import { newestCheckpoint } from '../engine/training/checkpoint.ts'
import { writeRunReport } from '../engine/training/report.ts'
import { isRunLocked } from '../engine/training/run-folder-lock.ts'
import { readChangesFile, readEvaluations, readMetrics, readRunDescription, readStatus } from '../engine/training/run-folder-reading.ts'
import { sendCommand } from '../engine/training/run-commands.ts'
import { newRunDirectory } from '../engine/training/run-folder.ts'
import { runTraining } from '../engine/training/run.ts'
import { tryLongestCase } from './cli-dry-run.ts'
import { describeFields } from './cli-fields.ts'
import { numberWithin, wholeNumber } from './cli-options.ts'
import { log, percent, table } from './cli-output.ts'
import type { CommandResult } from './cli-output.ts'
import { createProgressView } from './cli-progress.ts'
import { parseSetting, type ConfigChanges } from './config-settings.ts'
import { createCommandQueue, stopOnInterrupt } from './command-queue.ts'
import { exportRun } from './export-run.ts'
import { demoConfig, readRunConfigFile } from './run-config-file.ts'

interface TrainOptions extends ConfigChanges {
  readonly out?: string
  readonly runs: string
  readonly steps?: number
  readonly device?: RunConfig['device']
  readonly seed?: number
  readonly fields?: boolean
  readonly changes?: string
  readonly dryRun?: boolean
}

export type Answer = (command: Command, action: (...values: never[]) => Promise<CommandResult>) => void

/** Registers the commands. */
export function addTrainingCommands(program: Command, answer: Answer): void {
  const device = (): Option => new Option('--device <name>', 'where the arithmetic runs').choices(['auto', 'cpu', 'webgpu'])
  const presetOption = (): Option => new Option('--preset <name>', 'estimator and loss as the source has them, or with guards against their hazards').choices(presetNames)
  const train = program
    .command('train')
    .description('train a model as a configuration says')
    .argument('[run.json]', 'configuration of the run; the run.json of another run will do')
    .option('--out <dir>', 'folder of the run; a new one in --runs where left out')
    .option('--runs <dir>', 'folder that holds runs', 'runs')
    .option('--steps <n>', 'train so many steps instead of training.steps', wholeNumber(1))
    .option('--seed <n>', 'seed instead of the configuration\'s', wholeNumber(0))
    .addOption(device())
    .addOption(presetOption())
    .option('--set <field=value>', 'change one field of the configuration; may be given often', parseSetting)
    .option('--changes <file>', 'changes to make on the way, at their steps: changes.jsonl of a run that is to be done again')
    .option('--dry-run', 'try one step of the longest case - longest prompt, completions of full length - and say what memory and time it took; nothing is kept')
    .option('--fields', 'explain every field of the configuration, and train nothing')
  answer(train, async (file: string | undefined, options: TrainOptions) => {
    if (options.fields === true) return describeFields()
    if (file === undefined) throw new UserError({ code: 'usage', what: 'no configuration was named', expected: 'satchel train RUN.json', remedy: 'See satchel train --fields for what it may say.' })
    const config = overridden(await readRunConfigFile(file, options), options)
    return options.dryRun === true ? tryLongestCase(config) : runToEnd(config, options)
  })

  const resume = program
    .command('resume')
    .description('continue a run from its newest checkpoint')
    .argument('<run>', 'run folder')
    .option('--steps <n>', 'stop, with a checkpoint, after so many steps', wholeNumber(1))
  answer(resume, async (directory: string, options: { steps?: number }) => {
    const { config } = await readRunDescription(directory)
    const { state } = await watchRun({ start: { resume: true }, runDirectory: directory, ...(options.steps === undefined ? {} : { stepLimit: options.steps }) }, config.reward.recipe)
    return runResult(directory, state)
  })

  const demo = program
    .command('demo')
    .description('train the built-in model on the built-in prompts, and show what it learned')
    .option('--seed <n>', 'seed of all random streams', wholeNumber(0), 1)
    .option('--runs <dir>', 'folder that holds runs', 'runs')
    .option('--out <dir>', 'folder of the run')
    .option('--steps <n>', 'train so many steps only', wholeNumber(1))
    .option('--learning-rate <x>', 'learning rate instead of the demo\'s own', numberWithin(1e-9, 1))
    .addOption(device())
    .addOption(presetOption())
    .option('--set <field=value>', 'change one field of the configuration; may be given often', parseSetting)
  answer(demo, async (options: TrainOptions & { seed: number; learningRate?: number }) => {
    const config = overridden(await demoConfig(options.seed, options), options)
    return demoToEnd(options.learningRate === undefined ? config : { ...config, optimizer: { ...config.optimizer, learningRate: options.learningRate } }, options)
  })

  addSteeringCommands(program, answer)
}

function addSteeringCommands(program: Command, answer: Answer): void {
  const steer = (name: string, description: string, command: (options: { now?: boolean }) => EngineCommand, said: string): Command => {
    const built = program.command(name).description(description).argument('<run>', 'run folder')
    answer(built, async (directory: string, options: { now?: boolean }) => {
      await readRunDescription(directory)
      if (!(await isRunLocked(directory))) throw new UserError({ code: 'usage', what: 'this run is not in progress', place: { file: directory }, remedy: 'Continue it with satchel resume.' })
      await sendCommand(directory, command(options))
      return { json: { asked: command(options).type, runDirectory: resolve(directory) }, text: said }
    })
    return built
  }
  steer('pause', 'pause a run in progress, whoever started it', () => ({ type: 'pause' }), 'Asked it to pause.')
  steer('continue', 'let a paused run go on', () => ({ type: 'resume' }), 'Asked it to go on.')
  steer('checkpoint', 'write a checkpoint after the step in progress', () => ({ type: 'checkpoint' }), 'Asked it to write a checkpoint.')
  steer('stop', 'stop a run in progress after its step', ({ now }) => ({ type: now === true ? 'stop-now' : 'stop' }), 'Asked it to stop.').option('--now', 'drop the step in progress')
  const status = program.command('status').description('what a run is doing').argument('<run>', 'run folder')
  answer(status, async (directory: string) => {
    await readRunDescription(directory)
    return { ...(await runResult(directory, await stateOf(directory))), exitCode: 0 }
  })
}

async function stateOf(directory: string): Promise<string> {
  const told = await readStatus(directory)
  if (await isRunLocked(directory)) return told?.state ?? 'starting'
  return told?.state === 'done' || told?.state === 'failed' ? told.state : 'stopped'
}

function overridden(config: RunConfig, { steps, device, seed }: TrainOptions): RunConfig {
  return { ...config, device: device ?? config.device, seed: seed ?? config.seed, training: { ...config.training, steps: steps ?? config.training.steps } }
}

/** Runs with the bar on stderr and Ctrl-C obeyed; the report is written whenever the run ends in order. */
async function watchRun(run: Pick<Parameters<typeof runTraining>[0], 'start' | 'runDirectory' | 'stepLimit'>, recipe: Recipe): Promise<{ state: 'done' | 'stopped' }> {
  const view = createProgressView(process.stderr, recipe)
  const queue = createCommandQueue()
  const release = stopOnInterrupt(queue, (line) => view.onEvent({ type: 'warning', message: line }))
  try {
    const ended = await runTraining({ ...run, onEvent: view.onEvent, commands: queue })
    await writeRunReport(run.runDirectory)
    return ended
  } finally {
    release()
    view.close()
  }
}

async function runToEnd(config: RunConfig, options: TrainOptions): Promise<CommandResult> {
  const directory = options.out ?? newRunDirectory(options.runs, config.name)
  const changes = options.changes === undefined ? {} : { changes: await readChangesFile(options.changes) }
  const { state } = await watchRun({ start: { config, ...changes }, runDirectory: directory }, config.reward.recipe)
  return runResult(directory, state)
}

/** What a run has come to, from its folder. A run that was stopped ends the command with code 4. */
async function runResult(directory: string, state: string): Promise<CommandResult> {
  const [metrics, evaluations, checkpoint, { config }] = await Promise.all([readMetrics(directory), readEvaluations(directory), newestCheckpoint(directory), readRunDescription(directory)])
  const step = metrics.values.at(-1)?.step ?? 0
  const json = {
    state, step, totalSteps: config.training.steps, runDirectory: resolve(directory), checkpoint: checkpoint === undefined ? null : resolve(checkpoint.path), report: join(resolve(directory), 'report.html'),
    metrics: metrics.values.at(-1)?.values ?? null, evaluation: { first: evaluations.values[0] ?? null, last: evaluations.values.at(-1) ?? null },
  }
  const lines = [`${state}: step ${step} of ${config.training.steps}`, ...(evaluations.values.length === 0 ? [] : ['', stageTable(evaluations.values, config.reward.recipe)]), '', `run folder   ${json.runDirectory}`, `checkpoint   ${json.checkpoint ?? 'none yet'}`]
  return { json, text: lines.join('\n'), exitCode: state === 'stopped' ? 4 : 0 }
}

async function demoToEnd(config: RunConfig, options: TrainOptions): Promise<CommandResult> {
  const directory = options.out ?? newRunDirectory(options.runs, 'demo')
  log(`The built-in model learns the built-in React prompts: ${config.training.steps} steps, ${config.estimator.name}, seed ${config.seed}. Ctrl-C stops after a step.`)
  const { state } = await watchRun({ start: { config }, runDirectory: directory }, config.reward.recipe)
  const result = await runResult(directory, state)
  if (state === 'stopped') return { ...result, text: `${result.text}\n\nsatchel resume ${directory} continues it.` }
  const adapter = config.adapter.kind === 'lora' ? await exportRun(directory, { format: 'adapter' }) : undefined
  const { values } = await readEvaluations(directory)
  const lines = [
    '', ...(values.length === 0 ? [] : [sampleText(values), '', stageTable(values), '']),
    kernelReport(),
    `run folder   ${resolve(directory)}`,
    `checkpoint   ${(result.json as { checkpoint: string | null }).checkpoint ?? ''}`,
    ...(adapter === undefined ? [] : [`adapter      ${adapter.folder} (log-probabilities differ from the run's own by at most ${adapter.comparison.largestDifference.toExponential(1)})`]),
    `report       ${join(resolve(directory), 'report.html')}`,
  ]
  return { json: { ...(result.json as object), adapter: adapter ?? null, kernels: kernelReport() }, text: lines.join('\n') }
}

/** Held-out results, first and last, by gate, in the words of the recipe. */
export function stageTable(evaluations: readonly EvaluationResult[], recipe: Recipe = 'react'): string {
  const shown = evaluations.length === 1 ? [evaluations[0] as EvaluationResult] : [evaluations[0] as EvaluationResult, evaluations.at(-1) as EvaluationResult]
  const rate = ({ rate: value, low, high }: EvaluationResult['compile']): string => `${percent(value)} (${percent(low)} to ${percent(high)})`
  const row = (name: string, cell: (result: EvaluationResult) => string): string[] => [name, ...shown.map(cell)]
  const { prompts, samples, compile, temperature } = shown[0] as EvaluationResult
  const words = outcomeWords[recipe]
  return [
    table([
      row('held out', ({ step }) => (step === 0 ? 'before' : `step ${step}`)),
      ...(['parse', 'types', 'bundle', 'render'] as const).map((gate) => row(`  ${gateNames[recipe][gate]}`, (result) => rate(result.stages[gate]))),
      row(words.passes, (result) => rate(result.compile)),
      ...(words.detail === null ? [] : [row(words.detail.title.toLowerCase(), ({ requirementScore }) => percent(requirementScore))]),
      row('hack rate', (result) => rate(result.hackRate)),
    ]),
    `n ${compile.n}: ${prompts} prompts never trained on, ${samples} completions each, temperature ${temperature}; in brackets the 95 % Wilson interval`,
  ].join('\n')
}

/** Three completions of the same prompts, before and after. */
function sampleText(evaluations: readonly EvaluationResult[]): string {
  const first = evaluations[0] as EvaluationResult
  const last = evaluations.at(-1) as EvaluationResult
  const verdict = (sample: EvaluationResult['samplesShown'][number] | undefined): string =>
    sample === undefined ? '' : verdictText('react', sample.compiles, sample.requirementScore, percent)
  const indented = (text: string): string => text.split('\n').map((line) => `    ${line}`).join('\n')
  return first.samplesShown.slice(0, 3).map((before) => {
    const after = last.samplesShown.find(({ promptId }) => promptId === before.promptId)
    return [`"${before.prompt}"`, `  before: ${verdict(before)}`, indented(before.text), ...(after === undefined || last.step === first.step ? [] : [`  after: ${verdict(after)}`, indented(after.text)])].join('\n')
  }).join('\n\n')
}
