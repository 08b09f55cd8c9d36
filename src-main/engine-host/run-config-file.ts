// Configurations of runs as files: a person's own, and the one of the built-in demo.
import { dirname, resolve } from 'node:path'
import type { RunConfig } from '../contract/run-config.ts'
import { readJsonFile } from '../engine/models/json-file.ts'
import { resourcePath } from '../engine/runtime/paths.ts'
import { parseRunConfig } from '../engine/training/run-folder-reading.ts'
import { withChanges } from './config-settings.ts'
import { rewardBeside } from './cli-options.ts'
import { modelBeside } from './model-names.ts'
import type { ConfigChanges } from './config-settings.ts'

/**
 * Reads a configuration, lays changes over it and fills in every default. Paths in it are relative to the file; where nothing lies there, `model`
 * may be a name that `satchel models list` shows.
 * @throws UserError `not-found`, `newer-version` or `bad-input` naming the field
 */
export async function readRunConfigFile(path: string, changes: ConfigChanges = {}): Promise<RunConfig> {
  const value = await readJsonFile(path, 'Name a JSON file with the configuration of a run.')
  const config = parseRunConfig(withChanges(withoutOrigin(value), changes), path)
  const folder = dirname(resolve(path))
  return { ...config, model: await modelBeside(folder, config.model), data: { ...config.data, prompts: resolve(folder, config.data.prompts) }, reward: await rewardBeside(config.reward, path) }
}

/** The configuration of the built-in demo: a small model, React prompts, minutes on a CPU. */
export async function demoConfig(seed: number, changes: ConfigChanges = {}): Promise<RunConfig> {
  return { ...(await readRunConfigFile(resourcePath('demo', 'run.json'), changes)), name: 'demo', seed }
}

/** The run.json of a run serves as a configuration for the next: what it says about its own making is left out. */
function withoutOrigin(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).filter(([name]) => !['environment', 'hashes', 'created', 'lengths'].includes(name)))
}
