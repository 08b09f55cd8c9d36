// A reward as the page composes it: what the form shows of it, and how its parts are put together on the screen. Pure.
import { formOf } from '../../../src-main/contract/form.ts'
import type { FormBlock, FormNode } from '../../../src-main/contract/form.ts'
import type { Recipe } from '../../../src-main/contract/reward-config.ts'
import { runConfigSchema } from '../../../src-main/contract/run-config.ts'
import { checkDraft, valueAt, withValue } from '../setup/draft.ts'
import type { CheckedDraft, Draft } from '../setup/draft.ts'

export const recipes: readonly Recipe[] = ['react', 'maths', 'code', 'custom']

export type GroupName = 'sources' | 'combined' | 'judge' | 'measured' | 'limits'

export interface FormGroup {
  readonly name: GroupName
  readonly nodes: readonly FormNode[]
}

/** Fields of the bus: how scores become token rewards. */
const combined = new Set(['globalWeight', 'localWeight', 'localBound', 'windowLines', 'decayKernel', 'divideByFlaggedLines', 'gradedOutcome', 'gatedLadder'])
const limits = new Set(['audit', 'limits'])

/** A block that is a source: something that can be switched on and off and has weights. */
export function isSource(node: FormNode): node is FormBlock {
  return node.kind === 'block' && node.children.some(({ path }) => path.at(-1) === 'enabled')
}

function groupOf(node: FormNode): GroupName {
  const name = node.path.at(-1) ?? ''
  if (isSource(node)) return 'sources'
  if (combined.has(name)) return 'combined'
  if (name === 'judge') return 'judge'
  return limits.has(name) ? 'limits' : 'measured'
}

const groupOrder: readonly GroupName[] = ['sources', 'combined', 'judge', 'measured', 'limits']

/** The fields of a recipe, as they belong together; a field nobody has placed says what is measured. The file of one's own function is not among them. */
export function formGroups(recipe: Recipe): readonly FormGroup[] {
  const reward = formOf(runConfigSchema).find(({ path }) => path.join('.') === 'reward')
  if (reward?.kind !== 'variants') throw new Error('the configuration of a run has no reward of several recipes')
  const nodes = (reward.options.find(({ name }) => name === recipe)?.children ?? []).filter(({ path }) => path.at(-1) !== 'file')
  return groupOrder.map((name) => ({ name, nodes: nodes.filter((node) => groupOf(node) === name) })).filter(({ nodes: own }) => own.length > 0)
}

/** A composition: a reward inside a draft of a run, so that the form and its checks are those of Run setup. */
export function compositionOf(reward: unknown): Draft {
  return { reward }
}

export function rewardOf(composition: Draft): Draft {
  const reward = composition['reward']
  return typeof reward === 'object' && reward !== null ? (reward as Draft) : {}
}

const unsavedFile = '-'

/** Checks a composition as the engine will; what a run needs besides its reward is no problem here. */
export function checkComposition(composition: Draft): CheckedDraft {
  const recipe = valueAt(composition, ['reward', 'recipe'])
  const file = valueAt(composition, ['reward', 'file'])
  const tried = recipe === 'custom' && (typeof file !== 'string' || file === '') ? withValue(composition, ['reward', 'file'], unsavedFile) : composition
  const { complete, problems } = checkDraft(tried)
  const own = new Map([...problems].filter(([path]) => path === 'reward' || path.startsWith('reward.')))
  return { complete, problems: own, ready: own.size === 0 }
}

/** The reward as it is sent to be scored; without the file, because the function goes along as text. */
export function scoredReward(composition: Draft): Record<string, unknown> {
  const { file: _file, ...reward } = rewardOf(composition)
  return reward
}

/** What a source's heading says of its weights: both, one, or that it is off, for want of a judge too. */
export function weightWords(block: FormBlock, complete: unknown): string {
  const at = (name: string): unknown => valueAt(complete, [...block.path, name])
  if (at('enabled') === false) return 'off'
  if (/Judge$/.test(block.path.at(-1) ?? '') && valueAt(complete, ['reward', 'judge', 'kind']) === 'none') return 'no judge'
  const number = (value: unknown): string => (typeof value === 'number' ? String(value).replace('-', '\u2212') : '')
  const parts = [['G', number(at('globalWeight'))], ['S', number(at('localWeight'))]].filter(([, value]) => value !== '')
  return parts.map(([name, value]) => `${name} ${value}`).join(' · ')
}
