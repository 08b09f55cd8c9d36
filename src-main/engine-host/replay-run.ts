// A run's logged rollouts under another reward or estimator, step by step.
import { UserError } from '../contract/errors.ts'
import type { RunConfig } from '../contract/run-config.ts'
import { replaySteps, type ReplayedStep } from '../engine/rewards/bench/replay.ts'
import { readChanges, readMetrics, readRollouts, readRunDescription, stepConfig } from '../engine/training/run-folder-reading.ts'

export interface ReplayOptions {
  /** The configuration to try, from the one that held at a step: what was changed while the run was in progress held from its step on. */
  readonly changed: (before: RunConfig) => RunConfig
  /** Replays so many of the newest steps; all where left out. */
  readonly newest?: number
  /** Hears of every step before it is replayed; what it throws ends the work. */
  readonly onStep?: (step: number, done: number, total: number) => void
}

/**
 * Replays the steps of a run folder that have rollouts.
 * @returns what became of them, and how many older steps were left out
 * @throws UserError when there are no rollouts, or a change needs scoring again
 */
export async function replayRun(directory: string, { changed, newest, onStep }: ReplayOptions): Promise<{ steps: ReplayedStep[]; left: number }> {
  const { config } = await readRunDescription(directory)
  const changes = (await readChanges(directory)).values
  const rows = (await readMetrics(directory)).values
  const kept = newest === undefined ? rows : rows.slice(-newest)
  const steps: ReplayedStep[] = []
  for (const [index, { step }] of kept.entries()) {
    onStep?.(step, index, kept.length)
    const before = stepConfig(directory, config, changes, step)
    const records = (await readRollouts(directory, step)).values
    if (records.length > 0) steps.push(...replaySteps(records, before, changed(before)))
  }
  if (steps.length === 0) throw new UserError({ code: 'bad-input', what: 'this run has logged no rollouts yet', place: { file: directory } })
  return { steps, left: rows.length - kept.length }
}
