// A memory plan, and what was measured of the longest case, in words.
import type { MemoryPlanView } from '../../../src-main/contract/calls/models.ts'
import type { DryRunData } from '../../../src-main/contract/calls/runs.ts'
import { duration } from '../../state/number-format.ts'

/** Bytes as people read them. */
export function sizeWords(bytes: number): string {
  const mebibytes = bytes / 2 ** 20
  return mebibytes < 1024 ? `${mebibytes < 10 ? mebibytes.toFixed(1) : Math.round(mebibytes)} MiB` : `${(mebibytes / 1024).toFixed(1)} GiB`
}

/** The largest of the three peaks, bytes. */
function peakOf({ peaks }: MemoryPlanView): number {
  return Math.max(peaks.generation, peaks.training, peaks.resume)
}

export function planVerdict(plan: MemoryPlanView): string {
  const peak = peakOf(plan)
  if (plan.fits) return `Fits: at most ${sizeWords(peak)} of ${sizeWords(plan.memory)}.`
  return `Does not fit: ${sizeWords(peak)} of ${sizeWords(plan.memory)}, ${sizeWords(peak - plan.memory)} are missing.`
}

/** Which prompts the plan was made for. */
export function planLength({ promptTokens, promptsRead }: Pick<MemoryPlanView, 'promptTokens' | 'promptsRead'>): string {
  return promptsRead ? `For the longest of its prompts, ${promptTokens} tokens.` : `For prompts of up to ${promptTokens} tokens, until there are some that can be read.`
}

/** A plan this far from what was measured is worth a word. */
const tolerance = 0.2

/** What the longest case took against what was planned, and how long the run would take at most. */
export function dryRunWords({ rollouts, promptTokens, newTokens, seconds, peakBytes, plannedBytes }: DryRunData, steps: number): string[] {
  const off = plannedBytes === null ? 0 : plannedBytes / peakBytes - 1
  const planned = plannedBytes === null ? '' : `, planned ${sizeWords(plannedBytes)}${Math.abs(off) > tolerance ? ` (${Math.round(100 * Math.abs(off))} % too ${off > 0 ? 'high' : 'low'})` : ''}`
  return [
    `Memory: ${sizeWords(peakBytes)} at most${planned}.`,
    `A step: ${seconds.step.toFixed(1)} s at most, ${seconds.generate.toFixed(1)} s of it writing, ${seconds.update.toFixed(1)} s updating; scoring comes beside it. ${steps} steps: at most ${duration(seconds.step * steps)}.`,
    `${rollouts} completions of ${newTokens} tokens after ${promptTokens} of prompt. Nothing was kept.`,
  ]
}
