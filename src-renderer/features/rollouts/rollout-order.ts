// In which order a list of rollouts stands, and what each group of a step has in common. Pure.
import type { RolloutHeader } from '../../../src-main/contract/calls/run-data.ts'

export const sortKeys = ['prompt', 'reward', 'advantage', 'length', 'entropy', 'flags'] as const
export type SortKey = (typeof sortKeys)[number]

function keyOf(header: RolloutHeader, key: Exclude<SortKey, 'prompt'>): number {
  switch (key) {
    case 'reward':
      return header.reward
    case 'advantage':
      return header.advantage
    case 'length':
      return header.tokens
    case 'entropy':
      return header.entropy
    case 'flags':
      return header.flags
  }
}

/** The list sorted, largest first unless `ascending`; by prompt it keeps the order of the file. Equal ones keep their order. */
export function sortRollouts(headers: readonly RolloutHeader[], key: SortKey, ascending: boolean): readonly RolloutHeader[] {
  if (key === 'prompt') return ascending ? headers : headers.toReversed()
  return headers.toSorted((a, b) => (keyOf(a, key) - keyOf(b, key)) * (ascending ? 1 : -1))
}

export interface GroupFacts {
  readonly meanReward: number
  /** Every rollout has the same outcome: the group does not tell good from bad as a whole. */
  readonly flat: boolean
}

const flatTolerance = 1e-9

/** What the rollouts of one prompt have in common, by step and prompt. */
export function groupFacts(headers: readonly RolloutHeader[]): ReadonlyMap<string, GroupFacts> {
  const groups = grouped(headers, groupKey)
  return new Map([...groups].map(([key, group]) => {
    const outcomes = group.map(({ outcome }) => outcome)
    return [key, { meanReward: group.reduce((sum, { reward }) => sum + reward, 0) / group.length, flat: group.length > 1 && Math.max(...outcomes) - Math.min(...outcomes) <= flatTolerance }]
  }))
}

/** Names the group a rollout belongs to. */
export function groupKey({ step, promptId }: RolloutHeader): string {
  return `${step} ${promptId}`
}

/** Items by a key, keys in the order they were first met. */
export function grouped<Item, Key>(items: readonly Item[], keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>()
  for (const item of items) {
    const group = groups.get(keyOf(item))
    if (group === undefined) groups.set(keyOf(item), [item])
    else group.push(item)
  }
  return groups
}
