// What a command may name as its model: a Hugging Face folder, a PEFT adapter with its base, or a run with its newest checkpoint.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { ChatConfig } from '../contract/chat-config.ts'
import { UserError } from '../contract/errors.ts'
import { loraTargets, runConfigSchema } from '../contract/run-config.ts'
import type { LoraTarget, RunConfig, WeightsConfig } from '../contract/run-config.ts'
import { adapterScale, readAdapter } from '../engine/models/adapter.ts'
import { readJsonFile } from '../engine/models/json-file.ts'
import { openModelFolder } from '../engine/models/model-folder.ts'
import { newestCheckpoint, readCheckpoint, restoreParameters } from '../engine/training/checkpoint.ts'
import { readRunDescription } from '../engine/training/run-folder-reading.ts'
import { openModelSession } from '../engine/training/session.ts'
import type { ModelSession } from '../engine/training/session.ts'

export interface OpenOptions {
  readonly device: RunConfig['device']
  readonly threads?: number
  /** Base model of an adapter or run, where it is not at the place they name. */
  readonly base?: string
  /** How a run's frozen weights lie in memory, where that shall differ from how it was trained. */
  readonly weights?: WeightsConfig
  /** How prompts are put to it; what is left out is as the run has it, otherwise the default. */
  readonly chat?: Partial<ChatConfig>
}

/** An opened model: where it came from, and a session ready to sample. Close it when done. */
export interface OpenedModel {
  readonly kind: 'model' | 'adapter' | 'run'
  readonly session: ModelSession
  /** Set for a run: the step of the checkpoint in use. */
  readonly step?: number
  readonly warnings: readonly string[]
}

/**
 * Opens a model for use.
 * @throws UserError naming what is missing or does not fit
 */
export async function openModel(path: string, options: OpenOptions): Promise<OpenedModel> {
  if (!existsSync(path)) throw new UserError({ code: 'not-found', what: 'there is no such folder', place: { file: path }, expected: 'a model folder, an adapter folder or a run folder' })
  if (existsSync(join(path, 'run.json'))) return openRun(path, options)
  if (existsSync(join(path, 'adapter_config.json'))) return openAdapter(path, options)
  const session = await openModelSession(plainConfig(path, options, { kind: 'full' }))
  return { kind: 'model', session, warnings: session.warnings }
}

function plainConfig(model: string, options: OpenOptions, adapter: RunConfig['adapter']): RunConfig {
  return runConfigSchema.parse({ model, data: { prompts: '-' }, device: options.device, threads: options.threads ?? 0, adapter, chat: options.chat ?? {} })
}

async function openRun(directory: string, options: OpenOptions): Promise<OpenedModel> {
  const { config, lengths } = await readRunDescription(directory)
  const found = await newestCheckpoint(directory)
  if (found === undefined) throw new UserError({ code: 'not-found', what: 'this run has no checkpoint yet', place: { file: directory }, remedy: 'Wait for its first checkpoint, or name the base model instead.' })
  const session = await openModelSession({ ...config, model: options.base ?? baseOf(config.model), device: options.device, threads: options.threads ?? config.threads, weights: options.weights ?? config.weights, chat: { ...config.chat, ...options.chat } }, lengths?.rotaryRegime)
  return closingOnFailure(session, async () => {
    restoreParameters(session.policy, await readCheckpoint(found.path))
    await session.policy.refresh()
    return { kind: 'run', session, step: found.step, warnings: [...session.warnings, ...found.warnings] }
  })
}

async function openAdapter(path: string, options: OpenOptions): Promise<OpenedModel> {
  const named = options.base ?? (await namedBase(path))
  const base = await openModelFolder(named)
  const adapter = await base.hash().then((hash) => readAdapter(path, base.config, hash)).finally(() => base.close())
  const { rank } = adapter.config
  const targets = adapter.config.targetModules.filter((target): target is LoraTarget => (loraTargets as readonly string[]).includes(target))
  const session = await openModelSession(plainConfig(named, options, { kind: 'lora', rank, alpha: adapterScale(adapter.config) * rank, dropout: 0, targets }))
  return closingOnFailure(session, async () => {
    // A layer the adapter leaves out keeps B = 0, which changes nothing.
    for (const { name, data } of session.policy.trainable) {
      const layer = adapter.layers.get(name.replace(/\.lora_[AB]\.weight$/, ''))
      if (layer !== undefined) data.set(name.endsWith('.lora_A.weight') ? layer.a : layer.b)
    }
    await session.policy.refresh()
    return { kind: 'adapter', session, warnings: session.warnings }
  })
}

async function namedBase(path: string): Promise<string> {
  const config = z.object({ base_model_name_or_path: z.string() }).safeParse(await readJsonFile(join(path, 'adapter_config.json')))
  if (config.success && existsSync(config.data.base_model_name_or_path)) return config.data.base_model_name_or_path
  throw new UserError({ code: 'usage', what: 'the base model of this adapter is not where adapter_config.json says', place: { file: path, field: 'base_model_name_or_path' }, remedy: 'Name its folder with --base.' })
}

function baseOf(model: string): string {
  if (existsSync(model)) return model
  throw new UserError({ code: 'not-found', what: 'the base model of this run is not where run.json says', place: { file: model, field: 'model' }, remedy: 'Put it back, or name its folder with --base.' })
}

async function closingOnFailure(session: ModelSession, use: () => Promise<OpenedModel>): Promise<OpenedModel> {
  try {
    return await use()
  } catch (error) {
    await session.close()
    throw error
  }
}
