// The colour scales of token values. Reward, advantage and the logarithm of the ratio have two hues around zero, the same reach on both sides; probability and entropy have
// one, the stronger the less sure the model was. Steps have names, so that style sheets can paint them.
import type { RolloutRecord } from '../../../src-main/contract/events.ts'

export const measures = ['advantage', 'reward', 'probability', 'entropy', 'ratio'] as const
export type Measure = (typeof measures)[number]

/** Whether a measure has a sign. */
export function isSigned(measure: Measure): boolean {
  return measure === 'reward' || measure === 'advantage' || measure === 'ratio'
}

/** Shades on each side of zero. */
export const shades = 6

/** The token values a measure paints; none where they were not kept. */
export function measureValues(rollout: RolloutRecord, measure: Measure): readonly number[] {
  switch (measure) {
    case 'reward':
      return rollout.tokenRewards
    case 'advantage':
      return rollout.advantages
    case 'probability':
      return rollout.logprobs.map((logprob) => Math.exp(logprob))
    case 'entropy':
      return rollout.entropies
    case 'ratio':
      return (rollout.ratios ?? []).map((ratio) => Math.log(ratio))
  }
}

/**
 * How far the scale reaches: the largest size among all rollouts shown, rounded up to a readable number, so that colours compare
 * between them. 1 when there is nothing but zero, and for probabilities.
 */
export function scaleReach(rollouts: readonly RolloutRecord[], measure: Measure): number {
  if (measure === 'probability') return 1
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

/** Class of a token's value in a measure. Measures without a sign leave what is certain unpainted. */
export function paintClass(measure: Measure, value: number, reach: number): string {
  if (isSigned(measure)) return shadeClass(value, reach)
  const doubt = measure === 'probability' ? 1 - value : value / reach
  const level = Math.min(shades, Math.floor(doubt * (shades + 1)))
  return Number.isFinite(level) && level > 0 ? `shade-p${level}` : 'shade-0'
}
