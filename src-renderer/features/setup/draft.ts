// The configuration a person is putting together: only what they have said, over the defaults of the schema. Pure.
import { estimatorNames } from '../../../src-main/contract/estimator-config.ts'
import type { EstimatorName } from '../../../src-main/contract/estimator-config.ts'
import type { JudgeServer } from '../../../src-main/contract/judge-config.ts'
import { isRecord, presetFragment } from '../../../src-main/contract/methods.ts'
import type { PresetName } from '../../../src-main/contract/methods.ts'
import { runConfigSchema } from '../../../src-main/contract/run-config.ts'
import type { RunConfig } from '../../../src-main/contract/run-config.ts'
import { words } from '../../words.ts'
import { issueWords } from './issue-words.ts'

export type Draft = Readonly<Record<string, unknown>>
export type Path = readonly string[]

export interface CheckedDraft {
  /** Every field with its value; fields in error stand at their defaults. */
  readonly complete: RunConfig
  /** What is wrong, by path; the first thing where there are several. */
  readonly problems: ReadonlyMap<string, string>
  /** Whether a run could start with it. */
  readonly ready: boolean
}

export function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((inner, name) => (isRecord(inner) ? inner[name] : undefined), value)
}

export function withValue(draft: Draft, path: Path, value: unknown): Draft {
  const [name, ...rest] = path
  if (name === undefined) return draft
  if (rest.length === 0) return { ...draft, [name]: value }
  const inner = draft[name]
  return { ...draft, [name]: withValue(isRecord(inner) ? inner : {}, rest, value) }
}

/** The draft without what it says at a path: the default holds again. Blocks that become empty go with it. */
export function withoutValue(draft: Draft, path: Path): Draft {
  const [name, ...rest] = path
  if (name === undefined || !(name in draft)) return draft
  const inner = draft[name]
  const kept = rest.length > 0 && isRecord(inner) ? withoutValue(inner, rest) : {}
  if (Object.keys(kept).length > 0) return { ...draft, [name]: kept }
  return Object.fromEntries(Object.entries(draft).filter(([other]) => other !== name))
}

/**
 * Another kind of a block has other fields: what was said of the old kind goes.
 * @param server the judge's server of the settings, which a judge begins with
 */
export function withVariant(draft: Draft, path: Path, by: string, name: string, server?: JudgeServer): Draft {
  const begins = path.join('.') === 'reward.judge' && name === 'server' ? server : undefined
  return withValue(draft, path, { [by]: name, ...begins })
}

/** Which estimator a draft asks for. */
export function estimatorOf(draft: Draft): EstimatorName {
  const name = valueAt(draft, ['estimator', 'name'])
  return estimatorNames.find((known) => known === name) ?? 'bot-grpo'
}

/** Lays a preset over a draft; it is complete for estimator and loss, and overrules them. */
export function withPreset(draft: Draft, preset: PresetName): Draft {
  const fragment = presetFragment(preset, estimatorOf(draft))
  const loss = isRecord(draft['loss']) ? draft['loss'] : {}
  const rollout = isRecord(draft['rollout']) ? draft['rollout'] : {}
  return { ...draft, ...(fragment.estimator === undefined ? {} : { estimator: fragment.estimator }), loss: { ...loss, ...fragment.loss }, rollout: { ...rollout, ...fragment.rollout } }
}

const placeholder = '-'
/** Fields that have no default: the form is complete without them, a run is not. */
const required: readonly (readonly [path: Path, sentence: string])[] = [
  [['model'], words.setup.problems.noModel],
  [['data', 'prompts'], words.setup.problems.noPrompts],
]

/** Paths of those fields. */
export const requiredFields: ReadonlySet<string> = new Set(required.map(([path]) => path.join('.')))

/** Checks a draft as the engine will. */
export function checkDraft(draft: Draft): CheckedDraft {
  const problems = new Map<string, string>()
  let tried = draft
  for (const [path, sentence] of required) {
    const value = valueAt(draft, path)
    if (typeof value === 'string' && value !== '') continue
    problems.set(path.join('.'), sentence)
    tried = withValue(tried, path, placeholder)
  }
  // Fields in error are left out one round after another, until the rest can be completed.
  for (let round = 0; round < 8; round += 1) {
    const parsed = runConfigSchema.safeParse(tried)
    if (parsed.success) return { complete: parsed.data, problems, ready: problems.size === 0 }
    for (const issue of parsed.error.issues) {
      const names = issue.path.map(String)
      const unknown = issue.code === 'unrecognized_keys' ? issue.keys : []
      for (const place of unknown.length > 0 ? unknown.map((key) => [...names, key]) : [names]) {
        if (!problems.has(place.join('.'))) problems.set(place.join('.'), issueWords(issue))
        tried = place.length === 0 ? {} : withoutValue(tried, place)
      }
    }
    for (const [path] of required) if (valueAt(tried, path) === undefined) tried = withValue(tried, path, placeholder)
  }
  return { complete: runConfigSchema.parse({ model: placeholder, data: { prompts: placeholder } }), problems, ready: false }
}

/** Whether a person has said anything at or below a path. */
export function isSaid(draft: Draft, path: Path): boolean {
  return valueAt(draft, path) !== undefined
}
