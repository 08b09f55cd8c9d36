// Which reward a run has.
import type { Recipe } from '../../src-main/contract/reward-config.ts'
import { gateNames } from '../../src-main/contract/rewards.ts'

/** The recipe of a configuration; React's where it names none. */
export function recipeOf(description: Readonly<Record<string, unknown>>): Recipe {
  const { reward } = description
  const named = typeof reward === 'object' && reward !== null && 'recipe' in reward ? reward.recipe : undefined
  return typeof named === 'string' && Object.hasOwn(gateNames, named) ? (named as Recipe) : 'react'
}
