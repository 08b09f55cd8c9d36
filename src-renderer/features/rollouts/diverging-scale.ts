// The colour scale of token values: two hues around zero, the same reach on both sides, in steps that style sheets can name.
import type { RolloutRecord } from '../../../src-main/contract/events.ts'

export type Measure = 'reward' | 'advantage'

/** Shades on each side of zero. */
export const shades = 6

/** The token values a measure paints. */
export function measureValues(rollout: RolloutRecord, measure: Measure): readonly number[] {
  return measure === 'reward' ? rollout.tokenRewards : rollout.advantages
}

/**
 * How far the scale reaches: the largest size among all rollouts shown, rounded up to a readable number, so that colours compare
 * between them. 1 when there is nothing but zero.
 */
export function scaleReach(rollouts: readonly RolloutRecord[], measure: Measure): number {
  let largest = 0
  for (const rollout of rollouts) for (const value of measureValues(rollout, measure)) if (Number.isFinite(value)) largest = Math.max(largest, Math.abs(value))
  return largest === 0 ? 1 : roundUp(largest)
}

function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value))
  const steps = [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10]
  const step = steps.find((candidate) => candidate * power >= value * (1 - 1e-9)) ?? 10
  return Number((step * power).toPrecision(3))
}

/** Class of a value: 'shade-0' around zero, 'shade-p1'..'shade-p6' above, 'shade-n1'..'shade-n6' below. */
export function shadeClass(value: number, reach: number): string {
  if (!Number.isFinite(value) || value === 0) return 'shade-0'
  // A value that is not zero is never painted as zero, however small: its sign is information.
  const level = Math.max(1, Math.min(shades, Math.ceil((Math.abs(value) / reach) * shades - 1e-9)))
  return `shade-${value < 0 ? 'n' : 'p'}${level}`
}
