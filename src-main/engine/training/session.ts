// Opens what a run works with - device, model, tokenizer, prompts, sampler, passes, reward processes - and closes it again.
import { join } from 'node:path'
import { UserError } from '../../contract/errors.ts'
import type { PromptRow } from '../../contract/rewards.ts'
import type { RunConfig } from '../../contract/run-config.ts'
import type { RotaryRegime } from '../models/config.ts'
import { openFrozenLayers } from '../models/frozen-layers.ts'
import { openModelFolder, type ModelFolder } from '../models/model-folder.ts'
import { createPolicyWeights, type PolicyWeights } from '../models/policy-weights.ts'
import { createPromptEncoder } from '../models/prompt-encoder.ts'
import { rotaryRegime, withRotaryRegime } from '../models/rotary.ts'
import type { Tokenizer } from '../models/tokenizer.ts'
import { checkReward } from '../rewards/check-reward.ts'
import { judgeFileName, openRewards } from '../rewards/judge/open-rewards.ts'
import { openCamera, pixelsUnchecked, type PageCamera } from '../rewards/screenshots/camera.ts'
import { createSampler, type Sampler } from '../rollout/sampler.ts'
import { setKernelThreads } from '../runtime/kernels.ts'
import { createDevice, type Device, type DeviceKind } from '../runtime/ort.ts'
import { planLayout, planMemory, type MemoryPlan } from './memory-plan.ts'
import { createPass, type TrainingPass } from './passes.ts'
import { encodePrompts, longestSequence, readPromptFile, splitPrompts } from './prompts.ts'
import type { RunLengths } from './run-folder-reading.ts'
import type { RolloutSource } from './sample-groups.ts'

/** A model ready to sample and to compute log-probabilities. */
export interface ModelSession {
  readonly device: Device
  readonly config: RunConfig
  readonly modelHash: string
  readonly policy: PolicyWeights
  readonly tokenizer: Tokenizer
  readonly stopIds: ReadonlySet<number>
  /** Longest sequence the model can hold. */
  readonly contextTokens: number
  /** Makes the sampler for sequences of up to `longest` tokens, which also fixes the rotary regime. It is released with the session. */
  readonly openSampler: (longest: number) => Promise<Sampler>
  readonly encodePrompt: (row: PromptRow) => number[]
  readonly warnings: readonly string[]
  close(): Promise<void>
}

/** A model session with prompts, reward processes and training passes. */
export interface TrainingSession extends ModelSession {
  readonly train: readonly PromptRow[]
  readonly heldout: readonly PromptRow[]
  readonly source: RolloutSource
  readonly pass: TrainingPass
  readonly reference: TrainingPass | undefined
  /** What sampler and passes were made for; kept in run.json. */
  readonly lengths: RunLengths
  /** Takes pictures of pages; present where the configuration asks for some and the machine can. */
  readonly camera: PageCamera | undefined
  /** What the run will need in memory (on the CPU). */
  readonly plan: MemoryPlan
}

/** The device a configuration asks for. 'auto' is the CPU: it is exact, resumes bit by bit, and is there on every machine. */
export function chooseDevice(config: Pick<RunConfig, 'device'>): DeviceKind {
  return config.device === 'auto' ? 'cpu' : config.device
}

/**
 * Opens the model of a configuration. Prompts are encoded by its chat template where it has one.
 * @param regime rotary regime the weights were trained under; where left out the lengths at hand decide
 */
export async function openModelSession(config: RunConfig, regime?: RotaryRegime): Promise<ModelSession> {
  setKernelThreads(config.threads)
  const device = await createDevice(chooseDevice(config), { threads: config.threads })
  const folder = await openModelFolder(config.model)
  try {
    return await openModel(config, device, folder, regime)
  } catch (error) {
    await folder.close()
    await device.dispose()
    throw error
  }
}

/** @throws UserError for a combination of precision and streaming that means nothing */
function checkWeights({ weights, training }: RunConfig): void {
  const quantised = weights.precision === 'int8' || weights.precision === 'int4'
  if (weights.streamLayers && quantised) {
    throw new UserError({ code: 'bad-input', what: `weights.streamLayers reads layers as the file has them, not in ${weights.precision}`, place: { field: 'weights.streamLayers' }, remedy: 'Leave one of the two out: a quantised model is small enough to stay in memory, or set weights.precision to stored.' })
  }
  if ((weights.streamLayers || weights.precision !== 'fp32') && training.recompute === 'none') {
    throw new UserError({ code: 'bad-input', what: 'training.recompute "none" needs all layers in float32 at once', place: { field: 'training.recompute' }, expected: 'auto or layer with this weights.precision or with streamLayers', remedy: 'Set training.recompute to auto.' })
  }
}

async function openModel(config: RunConfig, device: Device, folder: ModelFolder, regime: RotaryRegime | undefined): Promise<ModelSession> {
  const tokenizer = await folder.tokenizer()
  const encodePrompt = createPromptEncoder(tokenizer, folder.chatTemplate, config.chat)
  const decoder = regime === undefined ? folder.config : withRotaryRegime(folder.config, regime)
  checkWeights(config)
  const layers = await openFrozenLayers(decoder, folder, config.weights)
  const policy = await createPolicyWeights(device, decoder, (name) => folder.readTensor(name), config.adapter, config.seed, layers)
  const samplers: Sampler[] = []
  return {
    device,
    config,
    modelHash: await folder.hash(),
    policy,
    tokenizer,
    stopIds: new Set(folder.config.eosIds),
    contextTokens: folder.config.maxPositions,
    async openSampler(longest) {
      const sampler = await createSampler(device, policy, longest)
      samplers.push(sampler)
      return sampler
    },
    encodePrompt,
    warnings: folder.warnings,
    async close() {
      for (const sampler of samplers) await sampler.release()
      await folder.close()
      await device.dispose()
    },
  }
}

/**
 * Opens everything a training run needs. Every prompt is checked before the first token is sampled.
 * @param directory the run folder, where judges find again what they said
 */
export async function openTrainingSession(config: RunConfig, directory?: string): Promise<TrainingSession> {
  const rows = await readPromptFile(config.data.prompts)
  await checkReward(config.reward, rows, config.data.prompts)
  const { train, heldout } = splitPrompts(rows, { seed: config.seed, heldoutShare: config.data.heldoutShare, file: config.data.prompts })
  if (config.evaluation.every > 0 && heldout.length === 0) {
    throw new UserError({ code: 'bad-input', what: 'no prompt is held out, so there is nothing to evaluate on', place: { file: config.data.prompts, field: 'data.heldoutShare' }, remedy: 'Raise data.heldoutShare, mark rows with "split": "heldout", or set evaluation.every to 0.' })
  }
  const { camera, notices } = await openRunCamera(config.reward)
  const pool = await openRewards({ workers: config.rewardWorkers, config: config.reward, camera: camera ?? null, ...(directory === undefined ? {} : { judgeFile: join(directory, judgeFileName) }) }).catch((error: unknown) => {
    camera?.dispose()
    throw error
  })
  const closeRewards = (): void => {
    pool.dispose()
    camera?.dispose()
  }
  const model = await openModelSession(config).catch((error: unknown) => {
    closeRewards()
    throw error
  })
  try {
    const prompts = encodePrompts(rows, model.encodePrompt, { contextTokens: model.contextTokens, maxNewTokens: config.rollout.maxNewTokens, file: config.data.prompts })
    // Its start takes seconds of another core; the session goes on meanwhile, and a failure shows at the first score.
    pool.warmUp().catch(() => undefined)
    const longest = longestSequence(prompts, config.rollout.maxNewTokens)
    const { source, pass, reference, releasePasses } = await openPasses(model, pool, longest)
    return {
      ...model,
      warnings: [...notices, ...model.warnings],
      camera,
      train,
      heldout,
      source,
      pass,
      reference,
      plan: planMemory(model.policy.config, config, { promptTokens: longest - config.rollout.maxNewTokens, longest }),
      lengths: { longest, rotaryRegime: rotaryRegime(model.policy.config, longest) },
      async close() {
        closeRewards()
        await releasePasses()
        await model.close()
      },
    }
  } catch (error) {
    closeRewards()
    await model.close()
    throw error
  }
}

/** Where pictures are wished for and cannot be had, the run goes on without and says so. */
async function openRunCamera(reward: RunConfig['reward']): Promise<{ readonly camera: PageCamera | undefined; readonly notices: readonly string[] }> {
  if (reward.recipe !== 'react' || reward.screenshots.mode === 'off') return { camera: undefined, notices: [] }
  const opened = await openCamera(reward.limits)
  return 'camera' in opened ? { camera: opened.camera, notices: [] } : { camera: undefined, notices: [pixelsUnchecked(opened.unavailable)] }
}

async function openPasses(model: ModelSession, scorer: RolloutSource['scorer'], longest: number): Promise<{ source: RolloutSource; pass: TrainingPass; reference: TrainingPass | undefined; releasePasses: () => Promise<void> }> {
  const { config, device, policy } = model
  const options = {
    layout: planLayout(policy.config, config),
    temperature: config.rollout.temperature,
    loss: { kind: 'policy', loss: config.loss } as const,
    maxLength: longest,
    headChunkTokens: config.training.headChunkTokens,
    dropoutSeed: config.seed,
  }
  const pass = createPass(device, policy, options)
  const reference = config.loss.klCoefficient === 0 ? undefined : createPass(device, await referencePolicy(model), { ...options, adapters: false })
  return {
    source: { config, sampler: await model.openSampler(longest), tokenizer: model.tokenizer, scorer, stopIds: model.stopIds, encodePrompt: model.encodePrompt },
    pass,
    reference,
    async releasePasses() {
      await pass.release()
      await reference?.release()
    },
  }
}

/** Under LoRA the reference is the same weights without adapters; a fully trained policy keeps a frozen copy of where it began. */
async function referencePolicy({ config, device, policy }: ModelSession): Promise<PolicyWeights> {
  if (policy.adapter.kind === 'lora') return policy
  const folder = await openModelFolder(config.model)
  try {
    return await createPolicyWeights(device, folder.config, (name) => folder.readTensor(name), { kind: 'full' }, config.seed)
  } finally {
    await folder.close()
  }
}
