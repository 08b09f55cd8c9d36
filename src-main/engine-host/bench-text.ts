// The reward bench and the simulator as tables.
import type { BenchReport } from '../engine/rewards/bench/reward-bench.ts'
import type { ReplayedStep } from '../engine/rewards/bench/replay.ts'
import { percent, table } from './cli-output.ts'

/** The answer of `satchel score --bench`. */
export function describeBench(report: BenchReport): string {
  const { completions, groups, recipe, flatGroups, passed, hackRate, overturned, sources, cheats, honest, warnings } = report
  const number = (value: number | null): string => (value === null ? '-' : value.toFixed(3))
  return [
    `${completions} completions of ${groups} prompts, recipe ${recipe}: ${percent(passed)} pass, ${percent(hackRate)} of these fail the audit, ${percent(flatGroups)} of the groups are flat, ${percent(overturned)} of the pairs are overturned`,
    '',
    table([
      ['source', 'mean', 'spread in groups', 'between prompts', 'at its bound', 'silent', 'differs when repeated', 'correlation with outcome', 'ms', 'failures'],
      ...sources.map((source) => [source.source, number(source.mean), number(source.spreadInside), number(source.spreadBetween), percent(source.boundHits), percent(source.sparsity), percent(source.noisy), number(source.outcomeCorrelation), source.milliseconds.toFixed(1), percent(source.failures)]),
    ]),
    '',
    table([['mean token reward of', ''], ...(honest === undefined ? [] : [[`an honest failure: ${honest.name}`, number(honest.reward)]]), ...cheats.map(({ name, reward }) => [`a cheat: ${name}`, number(reward)])]),
    '',
    ...(warnings.length === 0 ? ['No warnings.'] : warnings.map((warning) => `warning: ${warning}`)),
  ].join('\n')
}

/** The answer of `satchel score --replay`. */
export function describeReplay(steps: readonly ReplayedStep[]): string {
  const number = (value: number | null): string => (value === null ? '-' : value.toFixed(3))
  return table([
    ['step', 'reward', 'would be', 'RMS of A', 'would be', 'flat groups', 'would be', 'change of A', 'correlation', 'tokens turned', 'rollouts turned'],
    ...steps.map(({ step, before, after, change, correlation, flippedTokens, flippedRollouts }) => [
      String(step), number(before.reward), number(after.reward), number(before.rootMeanSquare), number(after.rootMeanSquare), percent(before.flatGroups), percent(after.flatGroups), number(change), number(correlation), percent(flippedTokens), percent(flippedRollouts),
    ]),
  ])
}
