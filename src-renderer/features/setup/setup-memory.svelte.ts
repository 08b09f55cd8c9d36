// What the person has said in the form stays while they look at other pages.
import { withValue } from './draft.ts'
import type { Draft } from './draft.ts'

let draft = $state.raw<Draft>({})
let takenModel = ''
let takenPrompts = ''
let jobs = 0

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
  change(next: Draft): void {
    draft = next
  },
  takeModel(path: string): void {
    takenModel = path
    draft = withValue(draft, ['model'], path)
  },
  takePrompts(path: string): void {
    takenPrompts = path
    draft = withValue(draft, ['data', 'prompts'], path)
  },
  nextJob(): number {
    jobs += 1
    return jobs
  },
}
