// Changes to a configuration from the command line: a preset and single fields, laid over what the file says before it is checked.
import { resolve } from 'node:path'
import { InvalidArgumentError } from 'commander'
import { estimatorNames } from '../contract/estimator-config.ts'
import type { EstimatorName } from '../contract/estimator-config.ts'
import { isRecord, methodDefaults, presetFragment } from '../contract/methods.ts'
import type { PresetName } from '../contract/methods.ts'
import { lossConfigSchema, rolloutConfigSchema } from '../contract/run-config.ts'

/** One `--set path=value`. */
export interface Setting {
  readonly path: readonly string[]
  readonly value: unknown
}

export interface ConfigChanges {
  readonly preset?: PresetName
  readonly set?: readonly Setting[]
}

/** Reads `path.to.field=value`; the value is JSON where it can be read as such, otherwise text. */
export function parseSetting(text: string, before: readonly Setting[] = []): Setting[] {
  const at = text.indexOf('=')
  const path = text.slice(0, at).split('.')
  if (at < 1 || path.some((name) => !/^[A-Za-z][A-Za-z0-9]*$/.test(name))) throw new InvalidArgumentError('It must be a field and its value, such as loss.clipHigh=0.28; satchel train --fields lists the fields.')
  return [...before, { path, value: readValue(text.slice(at + 1)) }]
}

function readValue(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}

/**
 * The configuration with the changes laid over it, unchecked. Another estimator brings its own fields and its method's loss along; what
 * stood at the defaults of the method before does not stay behind. Then the preset, then the other fields in their order. Model and
 * prompt file given here are relative to where the command runs.
 */
export function withChanges(value: unknown, { preset, set = [] }: ConfigChanges): unknown {
  if (!isRecord(value)) return value
  const isName = ({ path }: Setting): boolean => path.join('.') === 'estimator.name'
  const named = set.filter(isName).reduce((config, { value: name }) => withEstimator(config, name), value)
  const laid = preset === undefined ? named : merged(named, presetFragment(preset, estimatorOf(named)))
  return set.filter((setting) => !isName(setting)).reduce((config, { path, value: given }) => withField(config, path, pathOf(path, given)), laid)
}

function estimatorOf(config: Record<string, unknown>): EstimatorName {
  const name = isRecord(config['estimator']) ? config['estimator']['name'] : undefined
  return estimatorNames.find((known) => known === name) ?? 'bot-grpo'
}

function withEstimator(config: Record<string, unknown>, name: unknown): Record<string, unknown> {
  if (isRecord(config['estimator']) && config['estimator']['name'] === name) return config
  const before = methodDefaults(estimatorOf(config))
  const after = methodDefaults(estimatorNames.find((known) => known === name) ?? 'bot-grpo')
  return {
    ...config,
    estimator: { name },
    loss: withoutDefaults(config['loss'], { ...lossConfigSchema.parse({}), ...before.loss }, { ...before.loss, ...after.loss }),
    rollout: withoutDefaults(config['rollout'], { ...rolloutConfigSchema.parse({}), ...before.rollout }, { ...before.rollout, ...after.rollout }),
  }
}

/** Leaves out the fields that either method speaks of and that stand at the old one's default. */
function withoutDefaults(block: unknown, defaults: Readonly<Record<string, unknown>>, spokenOf: Readonly<Record<string, unknown>>): unknown {
  if (!isRecord(block)) return block ?? {}
  return Object.fromEntries(Object.entries(block).filter(([field, value]) => !(field in spokenOf) || !startsLike(value, defaults[field])))
}

/** Equal, or an object with the same fields and possibly more of them: defaults that were spelled out. */
function startsLike(value: unknown, model: unknown): boolean {
  if (!isRecord(value) || !isRecord(model)) return value === model
  return Object.entries(model).every(([field, wanted]) => startsLike(value[field], wanted))
}

function merged(config: Record<string, unknown>, fragment: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const blocks = Object.entries(fragment).map(([name, block]) => [name, name === 'estimator' || !isRecord(config[name]) ? block : { ...config[name], ...(block as object) }])
  return { ...config, ...(Object.fromEntries(blocks) as Record<string, unknown>) }
}

function withField(config: Record<string, unknown>, path: readonly string[], value: unknown): Record<string, unknown> {
  const [name, ...rest] = path as [string, ...string[]]
  if (rest.length === 0) return { ...config, [name]: value }
  const block = isRecord(config[name]) ? config[name] : {}
  const [field] = rest
  // A block of another kind has other fields: those of the old kind would be refused.
  if (rest.length === 1 && (field === 'kind' || field === 'recipe') && block[field] !== value) return { ...config, [name]: { [field]: value } }
  return { ...config, [name]: withField(block, rest, value) }
}

function pathOf(path: readonly string[], value: unknown): unknown {
  const isPath = ['model', 'data.prompts'].includes(path.join('.'))
  return isPath && typeof value === 'string' ? resolve(value) : value
}
