// What the person has composed stays while they look at other pages: one composition a recipe, the function and its file, the samples.
import type { RewardSample, SampleSource } from '../../../src-main/contract/calls/rewards.ts'
import type { Recipe } from '../../../src-main/contract/reward-config.ts'
import type { Draft } from '../setup/draft.ts'
import { recipeOf } from '../../state/recipe-of.ts'
import { compositionOf, rewardOf } from './composition.ts'

/** The function in the editor. `saved` is its text when it was last read or written. */
export interface EditedCode {
  readonly text: string
  readonly path: string | null
  readonly saved: string
}

/** Where samples come from; pasted ones are made on the page. */
export type ChosenSamples = SampleSource | { readonly kind: 'pasted' }

/** Stands for a run while there is none to choose. */
export const noRun = '-'

let recipe = $state<Recipe>('react')
let drafts = $state.raw<Readonly<Partial<Record<Recipe, Draft>>>>({})
let code = $state.raw<EditedCode | null>(null)
let source = $state.raw<ChosenSamples>({ kind: 'built-in' })
let pasted = $state.raw<readonly RewardSample[]>([])

export const rememberedReward = {
  get recipe(): Recipe {
    return recipe
  },
  /** The composition of the recipe that is shown. */
  get draft(): Draft {
    return drafts[recipe] ?? compositionOf({ recipe })
  },
  /** Nothing has been composed yet. */
  get untouched(): boolean {
    return Object.keys(drafts).length === 0
  },
  get code(): EditedCode | null {
    return code
  },
  get source(): ChosenSamples {
    return source
  },
  get pasted(): readonly RewardSample[] {
    return pasted
  },
  /** Shows a recipe as it was left. */
  show(next: Recipe): void {
    recipe = next
  },
  change(next: Draft): void {
    drafts = { ...drafts, [recipe]: next }
  },
  /** Takes a whole reward over, and shows its recipe; one that names none is React's. */
  take(reward: Draft): void {
    recipe = recipeOf({ reward })
    drafts = { ...drafts, [recipe]: compositionOf({ ...rewardOf({ reward }), recipe }) }
  },
  edit(next: EditedCode): void {
    code = next
  },
  choose(next: ChosenSamples): void {
    source = next
  },
  paste(next: readonly RewardSample[]): void {
    pasted = next
  },
}
