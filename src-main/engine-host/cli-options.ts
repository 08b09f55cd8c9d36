// Options every command shares, and how their values are read.
import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { InvalidArgumentError, Option } from 'commander'
import type { Command } from 'commander'
import { chatConfigSchema } from '../contract/chat-config.ts'
import type { ChatConfig } from '../contract/chat-config.ts'
import { UserError } from '../contract/errors.ts'
import type { RewardConfig } from '../contract/reward-config.ts'
import { rewardConfigSchema, withRewardPaths } from '../contract/reward-config.ts'
import type { RunConfig } from '../contract/run-config.ts'
import { checkFile, readJsonFile } from '../engine/models/json-file.ts'
import { resourcePath } from '../engine/runtime/paths.ts'
import { modelBeside } from './model-names.ts'

export interface DeviceOptions {
  readonly device: RunConfig['device']
  readonly threads: number
}

/** A whole number of at least `least`. */
export function wholeNumber(least: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (text.trim() === '' || !Number.isInteger(value) || value < least) throw new InvalidArgumentError(`It must be a whole number of at least ${least}.`)
    return value
  }
}

/** A finite number within bounds. */
export function numberWithin(low: number, high: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (text.trim() === '' || !Number.isFinite(value) || value < low || value > high) throw new InvalidArgumentError(high === Infinity ? `It must be a number of at least ${low}.` : `It must be a number from ${low} to ${high}.`)
    return value
  }
}

/** Whole numbers separated by commas: `1,2,4`. */
export function numberList(text: string): number[] {
  const values = text.split(',').map(Number)
  if (values.some((value) => !Number.isInteger(value) || value < 1)) throw new InvalidArgumentError('It must be whole numbers separated by commas, such as 1,2,4.')
  return values
}

/** Adds --device and --threads. */
export function withDevice(command: Command): Command {
  return command
    .addOption(new Option('--device <name>', 'where the arithmetic runs').choices(['auto', 'cpu', 'webgpu']).default('auto'))
    .option('--threads <n>', 'processor threads, 0 for all', wholeNumber(0), 0)
}

/** Adds --base, for commands that take a run or an adapter. */
export function withBase(command: Command): Command {
  return command.option('--base <dir>', 'base model of the run or adapter, where it has moved')
}

/** Adds --thinking, --date and --system, for commands that put prompts to a model. */
export function withChat(command: Command): Command {
  return command
    .addOption(new Option('--thinking <switch>', 'whether a model that can think before it answers does so; as the run or the model has it where left out').choices(['on', 'off']))
    .option('--date <day>', 'day the chat template believes it is, such as 2025-01-01', day)
    .option('--system <text>', 'system text of prompts that carry none of their own')
}

/** What {@link withChat} adds. */
export interface ChatOptions {
  readonly thinking?: 'on' | 'off'
  readonly date?: string
  readonly system?: string
}

/** The part of a configuration the options say; what is left out stays as it is. */
export function chatOf({ thinking, date, system }: ChatOptions): Partial<ChatConfig> {
  return { ...(thinking === undefined ? {} : { thinking }), ...(date === undefined ? {} : { date }), ...(system === undefined ? {} : { system }) }
}

function day(text: string): string {
  if (!chatConfigSchema.shape.date.safeParse(text).success) throw new InvalidArgumentError('It must be a day such as 2025-01-01.')
  return text
}

/** The presets --reward knows: recipes as they are, and compositions that lie in resources/rewards. */
export const rewardPresets = ['react', 'maths', 'code', 'react-judged', 'maths-judged'] as const

/**
 * A reward by preset name, or from a JSON file that holds a reward configuration (or a run's configuration with one).
 * @throws UserError naming file and field
 */
export async function readReward(presetOrFile: string): Promise<RewardConfig> {
  if ((rewardPresets as readonly string[]).includes(presetOrFile)) {
    return presetOrFile.endsWith('-judged') ? readReward(resourcePath('rewards', `${presetOrFile}.json`)) : rewardConfigSchema.parse({ recipe: presetOrFile })
  }
  if (!existsSync(presetOrFile)) {
    throw new UserError({ code: 'not-found', what: 'this is neither a reward preset nor a file', place: { file: presetOrFile, field: '--reward' }, expected: `one of the presets (${rewardPresets.join(', ')}), or a JSON, .js or .ts file` })
  }
  if (/\.[cm]?[jt]s$/.test(presetOrFile)) return rewardConfigSchema.parse({ recipe: 'custom', file: resolve(presetOrFile) })
  const value = await readJsonFile(presetOrFile, 'Name a JSON file with a reward configuration.')
  const own = typeof value === 'object' && value !== null && 'reward' in value ? value.reward : value
  return rewardBeside(checkFile(rewardConfigSchema, own, presetOrFile, 'Correct the field.'), presetOrFile)
}

/** A reward whose files are named relative to the configuration that names it; a judge's model may be a name that `satchel models list` shows. */
export async function rewardBeside(reward: RewardConfig, configuration: string): Promise<RewardConfig> {
  const folder = dirname(resolve(configuration))
  const placed = withRewardPaths(reward, (path) => resolve(folder, path))
  return reward.judge.kind === 'model' ? { ...placed, judge: { ...reward.judge, model: await modelBeside(folder, reward.judge.model) } } : placed
}
