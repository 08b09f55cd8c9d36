// What the person has said in the form stays while they look at other pages.
import { withValue, withVariant } from './draft.ts'
import type { Draft } from './draft.ts'
import type { Recipe } from '../../../src-main/contract/reward-config.ts'

let draft = $state.raw<Draft>({})
let takenModel = ''
let takenPrompts = ''
let takenRecipe: Recipe | null = null
let takenConfig: Draft | null = null
let takenComputing = ''

export const rememberedSetup = {
  get draft(): Draft {
    return draft
  },
  /** The model and prompts that came from other pages last: they are taken over once, and may be changed afterwards. */
  get takenModel(): string {
    return takenModel
  },
  get takenPrompts(): string {
    return takenPrompts
  },
  /** Takes a configuration from elsewhere over, once. */
  takeConfig(config: Draft): void {
    if (config === takenConfig) return
    takenConfig = config
    draft = config
  },
  change(next: Draft): void {
    draft = next
  },
  takeModel(path: string): void {
    takenModel = path
    draft = withValue(draft, ['model'], path)
  },
  /** The recipe the prompts are made for comes with them, unless the person has said another. */
  takePrompts(path: string, recipe: Recipe | null): void {
    takenPrompts = path
    draft = withValue(draft, ['data', 'prompts'], path)
    const said = JSON.stringify(draft['reward'] ?? null)
    if (recipe === null || (said !== 'null' && said !== JSON.stringify({ recipe: takenRecipe }))) return
    takenRecipe = recipe
    draft = withVariant(draft, ['reward'], 'recipe', recipe)
  },
  /** Device and threads of the settings: taken over when they change, and may be changed afterwards. Usual values need not be said. */
  takeComputing(device: string, threads: number): void {
    const said = `${device} ${threads}`
    if (said === takenComputing) return
    const first = takenComputing === ''
    takenComputing = said
    if (!first || device !== 'auto') draft = withValue(draft, ['device'], device)
    if (!first || threads !== 0) draft = withValue(draft, ['threads'], threads)
  },
}
