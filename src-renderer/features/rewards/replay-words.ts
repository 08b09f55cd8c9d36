// A replayed run in a sentence and in curves. Pure.
import type { ReplayedStep } from '../../../src-main/contract/calls/rewards.ts'
import { compact, percent, plural, signed } from '../../state/number-format.ts'
import type { ChartSpec } from '../charts/chart-catalogue.ts'
import { styleOf } from '../charts/run-series.ts'

const meanOf = (steps: readonly ReplayedStep[], value: (step: ReplayedStep) => number): number => steps.reduce((sum, step) => sum + value(step), 0) / Math.max(1, steps.length)

/** How much would have been different, over all steps. */
export function replaySentence(steps: readonly ReplayedStep[]): string {
  const tokens = meanOf(steps, ({ flippedTokens }) => flippedTokens)
  const rollouts = meanOf(steps, ({ flippedRollouts }) => flippedRollouts)
  const flat = [meanOf(steps, ({ before }) => before.flatGroups), meanOf(steps, ({ after }) => after.flatGroups)] as const
  if (meanOf(steps, ({ change }) => change) < 1e-9) return `Nothing would have been different in ${plural(steps.length, 'step')}.`
  return `In ${plural(steps.length, 'step')}, ${percent(tokens)} of the tokens and ${percent(rollouts)} of the rollouts would have been pushed the other way; ${percent(flat[0])} of the groups were flat, ${percent(flat[1])} would have been.`
}

/** The run's curves beside those it would have had. */
export function replayCharts(steps: readonly ReplayedStep[]): ChartSpec[] {
  const pair = (value: (side: ReplayedStep['before']) => number, scale = 1): ChartSpec['series'] => [
    { label: 'as it was', ...styleOf(4), mark: 'rect', points: steps.map(({ step, before }) => ({ x: step, y: scale * value(before) })) },
    { label: 'as it would be', ...styleOf(0), points: steps.map(({ step, after }) => ({ x: step, y: scale * value(after) })) },
  ]
  const empty = 'A point for every step.'
  return [
    { id: 'replayed-reward', title: 'Reward', unit: 'global score, mean of a step', series: pair(({ reward }) => reward), format: (value) => signed(value, 3), formatTick: (value) => compact(value), empty },
    { id: 'replayed-advantage', title: 'Size of the advantages', unit: 'root mean square', series: pair(({ rootMeanSquare }) => rootMeanSquare), low: 0, format: (value) => compact(value), formatTick: (value) => compact(value), empty },
    { id: 'replayed-flat', title: 'Flat groups', unit: '% of groups', series: pair(({ flatGroups }) => flatGroups, 100), low: 0, high: 100, format: (value) => percent(value / 100), formatTick: (value) => percent(value / 100), empty },
    {
      id: 'replayed-turned', title: 'Pushed the other way', unit: '%', low: 0, high: 100, format: (value) => percent(value / 100), formatTick: (value) => percent(value / 100), empty,
      series: [
        { label: 'tokens', ...styleOf(1), points: steps.map(({ step, flippedTokens }) => ({ x: step, y: 100 * flippedTokens })) },
        { label: 'rollouts', ...styleOf(2), points: steps.map(({ step, flippedRollouts }) => ({ x: step, y: 100 * flippedRollouts })) },
      ],
    },
  ]
}
