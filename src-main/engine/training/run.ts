// A whole run: opens or resumes its folder, trains, evaluates, checkpoints, obeys commands, and tells whoever watches.
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { UserError, describeError, toEnvelope } from '../../contract/errors.ts'
import type { EngineCommand, EngineEvent, EvaluationResult, Phase, RunState } from '../../contract/events.ts'
import { changesOf } from '../../contract/run-changes.ts'
import type { LiveSetting, RunChange } from '../../contract/run-changes.ts'
import { rewardFiles, withRewardPaths } from '../../contract/reward-config.ts'
import type { RunConfig, RunConfigInput } from '../../contract/run-config.ts'
import { hashFiles } from '../models/file-hash.ts'
import { kernelReport } from '../runtime/kernels.ts'
import { runtimeVersions } from '../runtime/ort.ts'
import { createThermometer } from '../runtime/temperature.ts'
import { newestCheckpoint, readCheckpoint, restoreParameters, writeCheckpoint } from './checkpoint.ts'
import { evaluate } from './evaluation.ts'
import { trainStep, type StepMachinery } from './loop.ts'
import { createOptimizer, type Optimizer } from './optimizer.ts'
import { gradientArrays } from './passes.ts'
import { parseRunConfig, readChanges, stepConfig } from './run-folder-reading.ts'
import { withFolderCommands, type CommandSource } from './run-commands.ts'
import { createRunFolder, describeRun, hashFile, openRunFolder, type RunFolder } from './run-folder.ts'
import { createRunPictures, type RunPictures } from './run-pictures.ts'
import { promptsPerStep } from './sample-step.ts'
import { openTrainingSession, type TrainingSession } from './session.ts'

export interface RunOptions {
  /** `changes`: what is to be changed on the way, as changes.jsonl of another run has it. */
  readonly start: { readonly config: RunConfigInput; readonly changes?: readonly RunChange[] } | { readonly resume: true }
  readonly runDirectory: string
  readonly onEvent: (event: EngineEvent) => void
  readonly commands: CommandSource
  /** Stop (with a checkpoint) after this many steps of this process. */
  readonly stepLimit?: number
}

/** Thrown between two calls into the runtime when the person stops the run at once. */
class StopNow extends Error {}

/** Runs until done or stopped. Events announce everything; a failure is announced and thrown. */
export async function runTraining(options: RunOptions): Promise<{ state: 'done' | 'stopped' }> {
  const tell = options.onEvent
  let folder: RunFolder | undefined
  let session: TrainingSession | undefined
  const directory = resolve(options.runDirectory)
  try {
    tell({ type: 'state', state: 'starting', step: 0, totalSteps: 0, secondsLeft: null, runDirectory: directory, message: kernelReport() })
    if ('resume' in options.start) folder = await openRunFolder(directory)
    const config = 'resume' in options.start ? (await (folder as RunFolder).readRunJson()).config : absolutePaths(parseRunConfig(options.start.config, 'run.json'))
    session = await openTrainingSession(config, directory)
    for (const message of session.warnings) tell({ type: 'warning', message })
    if (folder === undefined) {
      const hashes = { model: session.modelHash, data: await hashFile(config.data.prompts), ...(await rewardHash(config)) }
      folder = await createRunFolder(directory, describeRun(config, hashes, runtimeVersions().onnxruntime, session.lengths))
      if ('config' in options.start && options.start.changes !== undefined) await folder.appendChanges(options.start.changes)
    } else await refuseChangedInputs(folder, config, session.modelHash)
    const run = new Run(config, session, folder, options)
    return { state: await run.train((await readChanges(directory)).values) }
  } catch (error) {
    const envelope = toEnvelope(error)
    tell({ type: 'error', error: envelope })
    await folder?.setStatus({ state: 'failed', step: 0, totalSteps: 0, message: envelope.what }).catch(() => undefined)
    tell({ type: 'state', state: 'failed', step: 0, totalSteps: 0, secondsLeft: null, runDirectory: directory, message: envelope.what })
    throw error
  } finally {
    await session?.close()
    await folder?.close()
  }
}

/** Paths in run.json are absolute, so that a run can be resumed from anywhere on this machine. */
function absolutePaths(config: RunConfig): RunConfig {
  return { ...config, model: resolve(config.model), data: { ...config.data, prompts: resolve(config.data.prompts) }, reward: withRewardPaths(config.reward, (path) => resolve(path)) }
}

/** sha256 of the reward's file; of several, over all of them. */
async function rewardHash({ reward }: RunConfig): Promise<{ reward?: string }> {
  const files = rewardFiles(reward)
  const [only] = files
  return only === undefined ? {} : { reward: files.length === 1 ? await hashFile(only) : await hashFiles(files) }
}

/** A run resumed on another model or other prompts would be another run. */
async function refuseChangedInputs(folder: RunFolder, config: RunConfig, modelHash: string): Promise<void> {
  const { hashes } = await folder.readRunJson()
  const changed = (file: string, what: string): UserError =>
    new UserError({ code: 'bad-input', what: `the ${what} has changed since this run began`, place: { file }, expected: `the ${what} with the hash in run.json`, remedy: 'Put the original back, or start a new run.' })
  if (hashes.model !== modelHash) throw changed(config.model, 'base model')
  if (hashes.data !== (await hashFile(config.data.prompts))) throw changed(config.data.prompts, 'prompt file')
  if (hashes.reward !== (await rewardHash(config)).reward) throw changed(rewardFiles(config.reward).join(', '), 'reward file')
}

/** A run that is done waits so long for the pictures of its last step. */
const lastPicturesMilliseconds = 20_000

function picturesOf({ reward }: RunConfig, { camera }: TrainingSession, onProblem: (message: string) => void, directory: string): RunPictures | undefined {
  if (camera === undefined || reward.recipe !== 'react' || reward.screenshots.mode === 'off') return undefined
  return createRunPictures({ camera, directory, perStep: reward.screenshots.perStep, keep: reward.screenshots.keep, onProblem })
}

class Run {
  private readonly config: RunConfig
  private readonly session: TrainingSession
  private readonly folder: RunFolder
  private readonly options: RunOptions
  private readonly commands: CommandSource
  private readonly optimizer: Optimizer
  private readonly gradients: Map<string, Float32Array>
  private readonly pictures: RunPictures | undefined
  private readonly thermometer = createThermometer()
  private step = 0
  /** What was changed on the way, in the order it was. */
  private changes: readonly RunChange[] = []
  private inStep = false
  private lastCheckpoint = 0
  private stopAfterStep = false
  private checkpointAsked = false
  private badSteps = 0
  private secondsPerStep: number | undefined
  private lastProgress = 0

  constructor(config: RunConfig, session: TrainingSession, folder: RunFolder, options: RunOptions) {
    this.config = config
    this.session = session
    this.folder = folder
    this.options = options
    this.commands = withFolderCommands(folder.directory, options.commands)
    this.optimizer = createOptimizer(session.policy, config.optimizer, config.training.steps * config.training.miniBatches * config.training.epochs)
    this.gradients = gradientArrays(session.policy)
    this.pictures = picturesOf(config, session, (message) => options.onEvent({ type: 'warning', message }), folder.directory)
  }

  async train(changes: readonly RunChange[]): Promise<'done' | 'stopped'> {
    const { steps, checkpointEvery, badStepsBeforeStop } = this.config.training
    this.changes = changes
    await this.restore()
    const firstStep = this.step
    const machinery = {
      policy: this.session.policy, pass: this.session.pass, reference: this.session.reference,
      optimizer: this.optimizer, gradients: this.gradients,
      // The plan knows the CPU only.
      plannedBytes: this.session.device.kind === 'cpu' ? this.session.plan.trainingPeak : undefined,
      checkpointForCommands: (phase: Phase, done: number, total: number) => this.between(phase, done, total),
    }
    try {
      await this.announce('running', this.step === 0 ? 'Evaluating the base model.' : `Continuing after step ${this.step}.`)
      await this.maybeEvaluate()
      while (this.step < steps && !this.stopAfterStep) {
        const started = performance.now()
        this.inStep = true
        const result = await trainStep({ ...machinery, ...this.changedParts(this.step + 1) }, this.session.train, this.step + 1)
        this.inStep = false
        this.step++
        this.learnPace((performance.now() - started) / 1000)
        const row = { step: this.step, values: { ...result.metrics.values, ...(await this.temperatures()) } }
        await this.folder.writeRollouts(this.step, result.records)
        this.pictures?.offer(result.records)
        await this.folder.appendMetrics(row)
        this.options.onEvent({ type: 'metrics', row })
        this.options.onEvent({ type: 'rollouts', rollouts: [...result.records] })
        this.badSteps = result.healthy ? 0 : this.badSteps + 1
        if (!result.healthy) this.options.onEvent({ type: 'warning', message: `Step ${this.step} was skipped: its loss or gradient was not finite. Its rollouts are kept in the run folder.` })
        if (this.badSteps >= badStepsBeforeStop) return await this.giveUp()
        await this.maybeEvaluate()
        if (this.step % checkpointEvery === 0 || this.step === steps || this.checkpointAsked) await this.checkpoint()
        if (this.options.stepLimit !== undefined && this.step - firstStep >= this.options.stepLimit) this.stopAfterStep = true
        await this.between('update', 1, 1)
        await this.announce('running', '')
      }
    } catch (error) {
      if (!(error instanceof StopNow)) throw error
      await this.announce('stopped', `Stopped at once; the newest checkpoint is of step ${this.lastCheckpoint}.`)
      return 'stopped'
    }
    const done = this.step >= steps
    if (this.lastCheckpoint < this.step) await this.checkpoint()
    await this.pictures?.settle(lastPicturesMilliseconds)
    await this.announce(done ? 'done' : 'stopped', done ? `All ${steps} steps are done.` : `Stopped after step ${this.step}.`)
    return done ? 'done' : 'stopped'
  }

  /** Degrees of processor and card after a step, where they are known. */
  private async temperatures(): Promise<Record<string, number>> {
    return Object.fromEntries(Object.entries(await this.thermometer.read()).map(([part, degrees]) => [`temperature/${part}`, degrees]))
  }

  /** What a step works with that may have been changed. Evaluation keeps the weights the run began with, so that its curve is one measure. */
  private changedParts(step: number): Pick<StepMachinery, 'config' | 'source'> {
    const config = stepConfig(this.folder.directory, this.config, this.changes, step)
    this.optimizer.configure(config.optimizer)
    return { config, source: { ...this.session.source, config, reweighed: config !== this.config } }
  }

  /** Writes the marks of a change and says so; what is refused is explained, and the run goes on as it was. */
  private async change(settings: readonly LiveSetting[]): Promise<void> {
    const step = this.step + (this.inStep ? 2 : 1)
    let changes: RunChange[]
    try {
      changes = changesOf(stepConfig(this.folder.directory, this.config, this.changes, step), settings, step, new Date().toISOString())
    } catch (error) {
      this.options.onEvent({ type: 'warning', message: `Nothing was changed. ${describeError(toEnvelope(error))}` })
      return
    }
    if (changes.length === 0) return
    await this.folder.appendChanges(changes)
    this.changes = [...this.changes, ...changes]
    this.options.onEvent({ type: 'changed', changes })
  }

  /** Takes up the newest checkpoint, or writes the first one (step 0), so that there is always a good one to go back to. */
  private async restore(): Promise<void> {
    const found = await newestCheckpoint(this.folder.directory)
    if (found === undefined) {
      await this.folder.cutAfter(0)
      await this.checkpoint()
      return
    }
    for (const message of found.warnings) this.options.onEvent({ type: 'warning', message })
    await this.load(found.path)
    await this.folder.cutAfter(this.step)
  }

  private async load(path: string): Promise<void> {
    const checkpoint = await readCheckpoint(path)
    restoreParameters(this.session.policy, checkpoint)
    await this.session.policy.refresh()
    this.optimizer.restore(checkpoint.optimizer)
    this.step = checkpoint.step
    this.lastCheckpoint = checkpoint.step
    for (const gradient of this.gradients.values()) gradient.fill(0)
  }

  private async checkpoint(): Promise<void> {
    this.checkpointAsked = false
    const { policy, modelHash } = this.session
    const content = { policy, optimizer: this.optimizer.state, state: { step: this.step, seed: this.config.seed, policyHash: policy.hash(), promptsSeen: this.step * promptsPerStep(this.config) } }
    const path = await writeCheckpoint(this.folder, this.step, content, { keep: this.config.training.keepCheckpoints, baseModel: this.config.model, baseHash: modelHash })
    this.lastCheckpoint = this.step
    this.options.onEvent({ type: 'checkpoint', step: this.step, path })
  }

  private async maybeEvaluate(): Promise<void> {
    const { every } = this.config.evaluation
    if (every === 0 || (this.step % every !== 0 && this.step !== this.config.training.steps)) return
    if (existsSync(join(this.folder.directory, 'eval', `${String(this.step).padStart(6, '0')}.json`))) return
    const result: EvaluationResult = await evaluate(this.session.source, this.config, this.session.heldout, this.step, (done, total) => this.between('evaluate', done, total))
    await this.folder.writeEvaluation(result)
    this.pictures?.offerSamples(result.samplesShown.filter(({ compiles }) => compiles).map(({ text }) => text))
    this.options.onEvent({ type: 'evaluation', result })
  }

  /** After several steps without a finite gradient: back to the last good weights, and an explanation. */
  private async giveUp(): Promise<never> {
    const found = await newestCheckpoint(this.folder.directory)
    const back = found === undefined ? 'the base model' : `the checkpoint of step ${found.step}`
    if (found !== undefined) await this.load(found.path)
    throw new UserError({
      code: 'engine',
      what: `${this.badSteps} steps in a row had no finite gradient; the run went back to ${back} and stopped`,
      place: { file: this.folder.directory },
      remedy: 'Lower optimizer.learningRate or optimizer.clipNorm (satchel control RUN --set optimizer.learningRate=...) and resume; the rollouts of the skipped steps are in the run folder.',
    })
  }

  /** Between two calls into the runtime: progress, and whatever the person asked for. */
  private async between(phase: Phase, done: number, total: number): Promise<void> {
    const now = performance.now()
    if (now - this.lastProgress > 200) {
      this.lastProgress = now
      this.options.onEvent({ type: 'progress', phase, step: this.step + (phase === 'evaluate' ? 0 : 1), done, total })
    }
    for (let command = this.commands.take(); command !== undefined; command = this.commands.take()) await this.obey(command)
  }

  private async obey(command: EngineCommand): Promise<void> {
    switch (command.type) {
      case 'pause':
        return this.pause()
      case 'resume':
        return
      case 'stop':
        this.stopAfterStep = true
        return this.announce('stopping', 'Stopping after this step.')
      case 'stop-now':
        throw new StopNow()
      case 'checkpoint':
        this.checkpointAsked = true
        return
      case 'set':
        return this.change(command.settings)
    }
  }

  private async pause(): Promise<void> {
    await this.announce('paused', 'Paused.')
    for (;;) {
      await this.commands.wait()
      const command = this.commands.take()
      if (command === undefined || command.type === 'pause') continue
      if (command.type === 'resume') break
      await this.obey(command)
      if (this.stopAfterStep) return
    }
    await this.announce('running', 'Going on.')
  }

  private learnPace(seconds: number): void {
    this.secondsPerStep = this.secondsPerStep === undefined ? seconds : 0.7 * this.secondsPerStep + 0.3 * seconds
  }

  private async announce(state: RunState, message: string): Promise<void> {
    const totalSteps = this.config.training.steps
    const secondsLeft = this.secondsPerStep === undefined || state === 'done' ? null : this.secondsPerStep * (totalSteps - this.step)
    this.options.onEvent({ type: 'state', state, step: this.step, totalSteps, secondsLeft, runDirectory: this.folder.directory, message })
    await this.folder.setStatus({ state, step: this.step, totalSteps, message })
  }
}
