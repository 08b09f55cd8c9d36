// A memory plan in words.
import type { MemoryPlanData } from '../../../src-main/contract/calls/runs.ts'

const labels: Readonly<Record<string, string>> = {
  process: 'The process itself',
  weights: 'Weights',
  programs: 'Copies packed inside programs',
  layerInUse: 'The layer in use',
  adapters: 'Adapters',
  gradients: 'Gradients',
  optimizer: 'Optimizer',
  cache: 'Key/value cache',
  generation: 'Generation: logits, activations',
  activations: 'Activations of the step',
  logits: 'Logits of the step',
}

/** Bytes as people read them. */
export function sizeWords(bytes: number): string {
  const mebibytes = bytes / 2 ** 20
  return mebibytes < 1024 ? `${mebibytes < 10 ? mebibytes.toFixed(1) : Math.round(mebibytes)} MiB` : `${(mebibytes / 1024).toFixed(1)} GiB`
}

/** Parts that need any memory, in the order of the plan. */
export function planParts({ plan }: MemoryPlanData): { readonly label: string; readonly bytes: number }[] {
  return Object.entries(labels).flatMap(([part, label]) => {
    const bytes = plan[part]
    return typeof bytes === 'number' && bytes > 0 ? [{ label, bytes }] : []
  })
}

/** The largest of the three peaks, bytes. */
export function peakOf({ plan }: MemoryPlanData): number {
  return Math.max(0, ...['generationPeak', 'trainingPeak', 'resumePeak'].map((name) => plan[name]).filter((value) => typeof value === 'number'))
}

export function planVerdict(plan: MemoryPlanData): string {
  const peak = peakOf(plan)
  if (plan.fits) return `Fits: at most ${sizeWords(peak)} of ${sizeWords(plan.memory)}.`
  return `Does not fit: ${sizeWords(peak)} of ${sizeWords(plan.memory)}, ${sizeWords(peak - plan.memory)} are missing.`
}
