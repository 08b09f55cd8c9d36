// The built-in prompt set: the same number of rows of every kind, four fifths to train on and one fifth held out.
import type { PromptRow, Requirement } from '../../contract/rewards.ts'
import type { RandomStream } from '../../engine/runtime/random.ts'
import { createStream } from '../../engine/runtime/random.ts'
import type { AppKind, Slots } from './grammar.ts'
import { choose, combinationKey, layouts } from './grammar.ts'
import { appKinds } from './kinds.ts'

/** Fixes the rows of the built-in prompt set and their split. */
export const demoSeed = 20260

const rowsOfEachKind = 25
const heldoutOfEachKind = 5

/** A built-in row: always with requirements, a reference and its side of the split. */
export interface DemoRow extends PromptRow {
  readonly requirements: readonly Requirement[]
  readonly reference: string
  readonly split: 'train' | 'heldout'
}

interface Drawn {
  readonly kind: AppKind
  readonly slots: Slots
  readonly row: DemoRow
}

/** Rows of different combinations of words; phrasings take turns so that each occurs on both sides of the split. */
function drawKind(kind: AppKind, stream: RandomStream): readonly Drawn[] {
  const seen = new Set<string>()
  const sides = stream.shuffle(Array.from({ length: rowsOfEachKind }, (_, index): DemoRow['split'] => (index < heldoutOfEachKind ? 'heldout' : 'train')))
  const drawn: Drawn[] = []
  while (drawn.length < rowsOfEachKind) {
    const slots = kind.draw(stream)
    const key = combinationKey(kind, slots)
    if (seen.has(key)) continue
    seen.add(key)
    const split = sides[drawn.length] ?? 'train'
    const ordinal = drawn.filter((other) => other.row.split === split).length
    const phrasing = kind.phrasings[ordinal % kind.phrasings.length] ?? choose(stream, kind.phrasings)
    const row: DemoRow = {
      id: `${kind.name}-${String(drawn.length + 1).padStart(2, '0')}`,
      prompt: phrasing(slots),
      requirements: kind.requirements(slots),
      reference: kind.program(slots, layouts[0]),
      split,
    }
    drawn.push({ kind, slots, row })
  }
  return drawn
}

let cached: { readonly rows: readonly DemoRow[]; readonly heldoutKeys: ReadonlySet<string> } | undefined

function demoSet(): { readonly rows: readonly DemoRow[]; readonly heldoutKeys: ReadonlySet<string> } {
  if (cached !== undefined) return cached
  const drawn = appKinds.flatMap((kind, index) => drawKind(kind, createStream(demoSeed, 'demo-prompts', index)))
  const heldout = drawn.filter((entry) => entry.row.split === 'heldout')
  cached = {
    rows: drawn.map((entry) => entry.row),
    heldoutKeys: new Set(heldout.map((entry) => combinationKey(entry.kind, entry.slots))),
  }
  return cached
}

/** Every row of `resources/demo/prompts.jsonl`, in file order. */
export function demoPrompts(): readonly DemoRow[] {
  return demoSet().rows
}

/** `combinationKey` of every held-out row: what the supervised corpus must leave out. */
export function heldoutCombinations(): ReadonlySet<string> {
  return demoSet().heldoutKeys
}
