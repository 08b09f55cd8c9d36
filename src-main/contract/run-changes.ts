// What may be changed while a run is in progress, and the mark such a change leaves: changes.jsonl of the run folder, one row a change.
//
// run.json stays what the run began with. The configuration of step n is run.json with every change laid over it whose step is at most n, in the
// order they were made. So a run that is resumed, or done again with the same changes at the same steps, is the same run.
import { z } from 'zod'
import { UserError } from './errors.ts'
import { isRecord } from './methods.ts'
import { runConfigSchema } from './run-config.ts'
import type { RunConfig } from './run-config.ts'

/** A field and what it shall be, such as `optimizer.learningRate` and 0.0001. */
export const liveSettingSchema = z.strictObject({ field: z.string().min(1).max(200), value: z.number() })
export type LiveSetting = z.infer<typeof liveSettingSchema>

/** One request: fields that change together, at the same step. */
export const liveSettingsSchema = z.array(liveSettingSchema).min(1).max(50)

/** A row of changes.jsonl. */
export const runChangeSchema = z.object({
  /** The first step that was done with the new value. */
  step: z.int().positive(),
  field: z.string().min(1),
  from: z.number(),
  to: z.number(),
  /** ISO 8601, UTC. */
  time: z.string(),
})
export type RunChange = z.infer<typeof runChangeSchema>

const optimizerFields: readonly string[] = ['optimizer.learningRate', 'optimizer.clipNorm', 'optimizer.weightDecay']
/** Names of weights and bounds in a reward: they weigh what sources said, so that no source has to be started anew. */
const weights: readonly string[] = ['globalWeight', 'localWeight', 'localBound', 'requirementWeight']

/** Fields of a run that may change while it is in progress, with their present values. */
export function liveSettings(config: Readonly<Record<string, unknown>>): LiveSetting[] {
  return [...optimizerFields.flatMap((field) => settingAt(config, field)), ...weightFields(config['reward'], 'reward').flatMap((field) => settingAt(config, field))]
}

/** Weights of what takes part: a source that is switched off, and a judge nobody plays, say nothing that could be weighed. */
function weightFields(block: unknown, path: string): string[] {
  if (!isRecord(block) || block['enabled'] === false) return []
  const unjudged = isRecord(block['judge']) && block['judge']['kind'] === 'none'
  return Object.entries(block).filter(([name]) => !(unjudged && name.endsWith('Judge'))).flatMap(([name, value]) => (weights.includes(name) ? [`${path}.${name}`] : weightFields(value, `${path}.${name}`)))
}

function settingAt(config: unknown, field: string): LiveSetting[] {
  const value = field.split('.').reduce((block: unknown, name) => (isRecord(block) ? block[name] : undefined), config)
  return typeof value === 'number' ? [{ field, value }] : []
}

/** The configuration with fields laid over it, unchecked. */
function withSettings<Config extends Readonly<Record<string, unknown>>>(config: Config, settings: readonly LiveSetting[]): Config {
  return settings.reduce((before, { field, value }) => withField(before, field.split('.'), value) as Config, config)
}

function withField(block: Readonly<Record<string, unknown>>, [name = '', ...rest]: readonly string[], value: number): Record<string, unknown> {
  const inner = block[name]
  return { ...block, [name]: rest.length === 0 ? value : withField(isRecord(inner) ? inner : {}, rest, value) }
}

/** The configuration a step is done with, unchecked: what it began with and every change up to that step. */
export function configAtStep<Config extends Readonly<Record<string, unknown>>>(config: Config, changes: readonly RunChange[], step: number): Config {
  return withSettings(config, changes.filter((change) => change.step <= step).map(({ field, to }) => ({ field, value: to })))
}

/**
 * The changes a request makes from a step on; fields that have the wanted value already are left out.
 * @param config what step `step` would be done with otherwise
 * @throws UserError naming the field that may not be changed, or whose value is refused, and why
 */
export function changesOf(config: RunConfig, settings: readonly LiveSetting[], step: number, time: string): RunChange[] {
  if (step > config.training.steps) {
    throw new UserError({ code: 'usage', what: 'a change takes effect with the step after the one in progress, and there is none', expected: `a change before the last step, ${config.training.steps}`, remedy: 'Start a new run with the changed configuration.' })
  }
  const live = liveSettings(config)
  const rows = settings.flatMap(({ field, value }): RunChange[] => {
    const present = live.find((setting) => setting.field === field)
    if (present === undefined) throw refused(field, live)
    return present.value === value ? [] : [{ step, field, from: present.value, to: value, time }]
  })
  const checked = runConfigSchema.safeParse(withSettings(config, settings))
  const [issue] = checked.error?.issues ?? []
  if (issue !== undefined) {
    throw new UserError({ code: 'bad-input', what: issue.message, place: { field: issue.path.join('.') }, remedy: 'The run goes on as it was. See satchel train --fields for what the field may be.' })
  }
  return rows
}

function refused(field: string, live: readonly LiveSetting[]): UserError {
  const near = live.filter((setting) => setting.field.startsWith(field.split('.')[0] ?? '')).map((setting) => setting.field)
  return new UserError({
    code: 'usage',
    what: 'this field cannot be changed while a run is in progress',
    place: { field },
    expected: `a rate or a weight this run has: ${(near.length === 0 ? live.map((setting) => setting.field) : near).join(', ')}`,
    remedy: 'Anything else is fixed when the model is opened: stop the run and start another one.',
  })
}

/** A change in words, as the log and the report have it. */
export function describeChange({ field, from, to, step }: RunChange): string {
  return `${field} changed from ${from} to ${to}, from step ${step} on.`
}
