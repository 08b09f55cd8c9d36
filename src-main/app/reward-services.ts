// Rewards for the page: what the tools process is asked, once every path in it was looked at, and the files a person opens and saves.
import { readFile } from 'node:fs/promises'
import { basename, dirname, resolve } from 'node:path'
import { z } from 'zod'
import type { RewardCode, rewardFileCalls, rewardToolCalls } from '../contract/calls/rewards.ts'
import type { HandlersOf } from '../contract/calls/shared.ts'
import { UserError } from '../contract/errors.ts'
import type { Desktop } from './desktop.ts'
import type { GrantedPaths } from './granted-paths.ts'
import type { LongWork } from './long-work.ts'
import type { ToolsClient } from './tools-client.ts'
import { writeText } from './write-text.ts'

export type RewardHandlers = HandlersOf<typeof rewardToolCalls & typeof rewardFileCalls>

export interface RewardServices {
  readonly tools: ToolsClient
  readonly paths: GrantedPaths
  readonly work: LongWork
  readonly desktop: Pick<Desktop, 'chooseFile' | 'choosePlace'>
  /** The run folder itself. @throws UserError for a folder that is none of the app's runs */
  readonly allowedRun: (directory: string) => string
}

const functionFilter = [{ name: 'Reward function', extensions: ['ts', 'js', 'mjs'] }]
const jsonFilter = [{ name: 'Reward', extensions: ['json'] }]
const longestFile = 1_000_000
const rewardSchema = z.record(z.string(), z.unknown())

export function createRewardHandlers({ tools, paths, work, desktop, allowedRun }: RewardServices): RewardHandlers {
  const checkedCode = (code: RewardCode): RewardCode => ({ text: code.text, path: code.path === null ? null : paths.require(code.path) })

  return {
    'rewards.samples': async ({ recipe, source }) => {
      const checked = source.kind === 'run' ? { ...source, directory: allowedRun(source.directory) } : source.kind === 'dataset' ? { ...source, path: paths.require(source.path) } : source
      return tools.ask('rewards.samples', { recipe, source: checked })
    },
    'rewards.score': ({ task, code, reward, ...rest }) => {
      // A function is scored as the editor has it; a path of the page's own making is never read.
      const { file: _file, ...fields } = reward
      return work.run(task, (options) => tools.ask('rewards.score', { ...rest, task, reward: fields, code: code === null ? null : checkedCode(code) }, options))
    },
    'rewards.check': async (code) => tools.ask('rewards.check', checkedCode(code)),
    'rewards.template': () => tools.ask('rewards.template', {}),
    'rewards.replay': ({ task, directory, reward, estimator }) => work.run(task, (options) => tools.ask('rewards.replay', { task, directory: allowedRun(directory), reward, estimator }, options)),
    'rewards.openFile': async () => {
      const path = await desktop.chooseFile('Open a reward function', functionFilter)
      if (path === null) return null
      const text = await readText(path)
      paths.grant(path)
      return { path: resolve(path), text }
    },
    'rewards.readFile': async ({ path }) => ({ text: await readText(paths.require(path)) }),
    'rewards.saveFile': async ({ text, path }) => {
      const place = path === null ? await desktop.choosePlace('Save the reward function', 'my-reward.ts', functionFilter) : paths.require(path)
      if (place === null) return null
      // Another ending would make it another language, or none.
      const file = /\.[cm]?[jt]s$/.test(place) ? place : `${place}.ts`
      await writeText(file, text)
      paths.grant(file)
      return { path: resolve(file) }
    },
    'rewards.import': async () => {
      const file = await desktop.chooseFile('Open a reward', jsonFilter)
      if (file === null) return null
      const reward = await readReward(file)
      if (typeof reward['file'] === 'string') paths.grant(reward['file'])
      return { file, reward }
    },
    'rewards.export': async ({ reward }) => {
      const file = await desktop.choosePlace('Save the reward', 'reward.json', jsonFilter)
      if (file !== null) await writeText(file, `${JSON.stringify(reward, null, 2)}\n`)
      return file === null ? null : { file }
    },
  }
}

/** A reward, or the one of a run's configuration; its own file is named relative to where it lies. */
async function readReward(file: string): Promise<Record<string, unknown>> {
  const refuse = (cause?: unknown): UserError => new UserError({ code: 'bad-input', what: 'This file holds no reward.', place: { file }, expected: 'JSON: a reward, or a run\'s configuration with one', remedy: 'Choose another file.' }, { cause })
  let json: unknown
  try {
    json = JSON.parse(await readText(file))
  } catch (error) {
    throw error instanceof UserError ? error : refuse(error)
  }
  const outer = rewardSchema.safeParse(json)
  const inner = outer.success && 'reward' in outer.data ? rewardSchema.safeParse(outer.data['reward']) : outer
  if (!inner.success) throw refuse()
  const own = inner.data['file']
  return typeof own === 'string' ? { ...inner.data, file: resolve(dirname(file), own) } : inner.data
}

async function readText(path: string): Promise<string> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    throw new UserError({ code: 'not-found', what: 'The file cannot be read.', place: { file: path }, remedy: 'Choose it again.' }, { cause: error })
  }
  if (text.length > longestFile) throw new UserError({ code: 'bad-input', what: `${basename(path)} is too long for a reward.`, place: { file: path }, expected: `at most ${longestFile} characters` })
  return text
}
