// How the form of a run is divided, and which fields it shows at first.
import type { FormNode } from '../../../src-main/contract/form.ts'
import { words } from '../../words.ts'

export interface FormSection {
  readonly id: string
  readonly title: string
  readonly nodes: readonly FormNode[]
}

const titles = words.setup.sections
const sections: readonly (readonly [id: keyof typeof titles, names: readonly string[]])[] = [
  ['base', ['model', 'data', 'name', 'seed', 'chat']],
  ['reward', ['reward']],
  ['method', ['estimator', 'loss']],
  ['rollout', ['rollout']],
  ['learning', ['adapter', 'weights', 'optimizer']],
  ['schedule', ['training', 'evaluation']],
  ['machine', ['device', 'threads', 'rewardWorkers']],
]

/** Fields a first run is decided by. */
const basic = new Set([
  'model', 'data.prompts', 'data.heldoutShare', 'name', 'seed',
  'reward', 'reward.requirementWeight', 'reward.globalWeight', 'reward.localWeight', 'reward.file', 'reward.answerKind',
  'estimator', 'estimator.flatGroups', 'loss.klCoefficient',
  'rollout.promptsPerStep', 'rollout.groupSize', 'rollout.maxNewTokens', 'rollout.temperature',
  'adapter', 'adapter.rank', 'adapter.targets', 'weights.precision', 'optimizer.learningRate', 'optimizer.schedule',
  'training.steps', 'training.checkpointEvery', 'evaluation.every', 'evaluation.prompts', 'evaluation.samples',
  'device',
])

/** The sections in their order, their fields in that of the list above. Fields nobody has placed come last. */
export function formSections(nodes: readonly FormNode[]): FormSection[] {
  const placed = sections.map(([id, names]) => ({ id, title: titles[id], nodes: names.flatMap((name) => nodes.filter(({ path }) => path[0] === name)) }))
  const rest = nodes.filter(({ path }) => !sections.some(([, names]) => names.includes(path[0] ?? '')))
  return rest.length === 0 ? placed : [...placed, { id: 'rest', title: titles.rest, nodes: rest }]
}

/** Whether a node stands in the short form: it is basic, or something below it is. */
export function isBasic(node: FormNode): boolean {
  const name = node.path.join('.')
  if (basic.has(name)) return true
  return node.kind === 'block' && node.children.some(isBasic)
}

/** `promptsPerStep` as people read it: `Prompts per step`. */
export function labelOf(path: readonly string[]): string {
  const label = (path.at(-1) ?? '').replace(/([a-z0-9])([A-Z])/g, '$1 $2').toLowerCase().replace(/\bkl\b/g, 'KL').replace(/^k$/, 'pass@k for k').replace(/\bcarm\b/g, 'CARM').replace(/^top k$/, 'top-k').replace(/^top p$/, 'top-p').replace(/^min p$/, 'min-p').replace('heldout', 'held-out')
  return label.charAt(0).toUpperCase() + label.slice(1)
}
