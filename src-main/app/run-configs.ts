// Configurations of runs for the page: the demo's, those of files, the paths in them, and what their longest case takes.
import { randomUUID } from 'node:crypto'
import { readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { z } from 'zod'
import { dryRunSchema } from '../contract/calls/runs.ts'
import { UserError } from '../contract/errors.ts'
import type { RunHandlers, RunServices } from './runs.ts'
import { writeText } from './write-text.ts'

type Config = Record<string, unknown>

const configSchema = z.record(z.string(), z.unknown())
/** What run.json says of its own making is no part of a configuration. */
export const originFields: ReadonlySet<string> = new Set(['environment', 'hashes', 'created', 'lengths'])

/**
 * A configuration from a file, its paths absolute.
 * @throws UserError when the file cannot be read or holds no object
 */
export async function readConfig(file: string): Promise<Config> {
  let json: unknown
  try {
    json = JSON.parse(await readFile(file, 'utf8'))
  } catch (error) {
    throw new UserError({ code: 'bad-input', what: 'This file holds no configuration.', place: { file }, expected: 'JSON, such as the run.json of a run', remedy: 'Choose another file.' }, { cause: error })
  }
  const parsed = configSchema.safeParse(json)
  if (!parsed.success) throw new UserError({ code: 'bad-input', what: 'This file holds no configuration.', place: { file }, expected: 'an object of fields', remedy: 'Choose another file.' })
  return withAbsolutePaths(Object.fromEntries(Object.entries(parsed.data).filter(([name]) => !originFields.has(name))), dirname(resolve(file)))
}

/** Paths in a file are relative to it. */
function withAbsolutePaths(config: Config, folder: string): Config {
  const moved = (block: unknown, field: string): unknown => {
    const parsed = configSchema.safeParse(block)
    const path = parsed.success ? parsed.data[field] : undefined
    return parsed.success && typeof path === 'string' ? { ...parsed.data, [field]: resolve(folder, path) } : block
  }
  return { ...(moved(config, 'model') as Config), ...(config['data'] === undefined ? {} : { data: moved(config['data'], 'prompts') }), ...(config['reward'] === undefined ? {} : { reward: moved(config['reward'], 'file') }) }
}

type ConfigCalls = 'runs.demoConfig' | 'runs.importConfig' | 'runs.readConfig' | 'runs.exportConfig' | 'runs.saveCsv' | 'runs.choosePath' | 'runs.add' | 'runs.dryRun'

/** The handlers about configurations and other files the person names. */
export function createConfigHandlers({ demoFile, granted, desktop, library, supervisor, commandLine, onProgress }: RunServices): Pick<RunHandlers, ConfigCalls> {
  const json = [{ name: 'Configuration', extensions: ['json'] }]
  return {
    'runs.demoConfig': async () => ({ config: { ...(await readConfig(demoFile)), name: 'demo' } }),
    'runs.importConfig': async () => {
      const file = await desktop.chooseFile('Choose a configuration', json)
      return file === null ? null : { file, config: await readConfig(file) }
    },
    'runs.readConfig': async ({ path }) => ({ file: granted(path), config: await readConfig(granted(path)) }),
    'runs.exportConfig': async ({ config }) => {
      const file = await desktop.choosePlace('Save the configuration', 'run.json', json)
      if (file !== null) await writeText(file, `${JSON.stringify(config, null, 2)}\n`)
      return file === null ? null : { file }
    },
    'runs.saveCsv': async ({ name, csv }) => {
      const file = await desktop.choosePlace('Save the numbers', name.replace(/[^\w.-]+/g, '-'), [{ name: 'Comma-separated values', extensions: ['csv'] }])
      if (file !== null) await writeText(file, csv)
      return file === null ? null : { file }
    },
    'runs.choosePath': async ({ what }) => {
      const path = await ({
        model: () => desktop.chooseFolder('Choose the folder of a base model'),
        prompts: () => desktop.chooseFile('Choose a prompt file', [{ name: 'Prompts', extensions: ['jsonl'] }]),
        reward: () => desktop.chooseFile('Choose a reward function', [{ name: 'Reward function', extensions: ['js', 'ts', 'mjs'] }]),
      })[what]()
      return path === null ? null : { path }
    },
    'runs.add': async () => {
      const folder = await desktop.chooseFolder('Choose a run folder')
      return folder === null ? null : library.add(folder)
    },
    'runs.dryRun': async ({ config, job }) => {
      if (supervisor.busy()) throw new UserError({ code: 'usage', what: 'A run is in progress, and would share memory and processor with the dry run.', expected: 'one at a time, so that what is measured is what the run will take', remedy: 'Try it when the run is done or stopped.' })
      const file = join(tmpdir(), `satchel-dry-run-${randomUUID()}.json`)
      await writeText(file, JSON.stringify(config))
      try {
        return dryRunSchema.parse(await commandLine.run(job, ['train', file, '--dry-run'], (line) => onProgress(job, line)))
      } finally {
        await rm(file, { force: true })
      }
    },
  }
}
