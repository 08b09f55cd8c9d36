// Which charts a run has: every metric group of the specification, then whatever else the run reports.
import type { EvaluationResult } from '../../../src-main/contract/events.ts'
import { outcomeWords } from '../../../src-main/contract/outcome-words.ts'
import type { Recipe } from '../../../src-main/contract/reward-config.ts'
import { compact, decimalsFor, percent, signed } from '../../state/number-format.ts'
import { metricNames } from '../../state/run-series.ts'
import type { RunSeries } from '../../state/run-series.ts'
import { metricLines, paddedRange, stageSeries, styleOf } from './run-series.ts'
import type { Series } from './run-series.ts'

export interface ChartSpec {
  readonly id: string
  readonly title: string
  readonly unit: string
  readonly series: readonly Series[]
  readonly low?: number
  readonly high?: number
  readonly format: (value: number) => string
  readonly formatTick: (value: number, spacing: number) => string
  readonly empty: string
}

export interface ChartGroup {
  readonly title: string
  /** Closed until somebody opens it. */
  readonly closed?: boolean
  readonly charts: readonly ChartSpec[]
}

const everyStep = 'A point for every step.'
const plain = { format: (value: number) => compact(value, 6), formatTick: plainTick, empty: everyStep }
const measured = { low: 0, format: (value: number) => compact(value), formatTick: plainTick, empty: everyStep }
const share = { low: 0, high: 100, format: (value: number) => percent(value / 100), formatTick: (value: number) => percent(value / 100), empty: everyStep }
const gain = { format: (value: number) => signed(value, 3), formatTick: (value: number, spacing: number) => signed(value, decimalsFor(spacing)), empty: everyStep }
/** Less than this is noise, and is not blown up to the height of the chart. */
const smallestRewardRange = 0.5

/** Numbers of an axis that can be told apart, however close they are. */
function plainTick(value: number, spacing: number): string {
  const decimals = decimalsFor(spacing)
  return spacing < 1e-5 || decimals === 0 ? compact(value, 8) : value.toFixed(decimals).replace('-', '\u2212')
}

interface Plan {
  readonly id: string
  readonly title: string
  readonly unit: string
  readonly kind: 'plain' | 'share' | 'gain' | 'amount'
  /** Names of metrics with what the legend calls them. */
  readonly metrics: readonly (readonly [name: string, label: string])[]
  /** Left out where the run has none of them, instead of standing there empty. */
  readonly optional?: boolean
}

const plans: Readonly<Record<'Groups' | 'Policy' | 'Completions' | 'Machine', readonly Plan[]>> = {
  Groups: [
    { id: 'spread', title: 'Spread of rewards', unit: 'standard deviation', kind: 'amount', metrics: [['reward_std', 'Inside groups'], ['reward_std_between', 'Between prompts']] },
    { id: 'flat', title: 'Flat groups', unit: '% of groups', kind: 'share', metrics: [['frac_reward_zero_std', 'All outcomes the same'], ['frac_groups_skipped', 'Left out']] },
    { id: 'advantage', title: 'Largest advantage', unit: 'absolute', kind: 'amount', metrics: [['advantage_max', 'Largest']] },
  ],
  Policy: [
    { id: 'kl', title: 'KL divergence', unit: 'nats', kind: 'amount', metrics: [['kl', 'To the reference'], ['approx_kl', 'Within the step']] },
    { id: 'entropy', title: 'Entropy', unit: 'nats a token', kind: 'amount', metrics: [['entropy', 'Mean']] },
    { id: 'ratio', title: 'Probability ratio', unit: 'new to old', kind: 'plain', metrics: [['ratio', 'Mean']] },
    { id: 'clip', title: 'Clipped tokens', unit: '% of tokens', kind: 'share', metrics: [['clip_ratio/region_mean', 'Clipped'], ['clip_ratio/low_mean', 'Below'], ['clip_ratio/high_mean', 'Above']] },
    { id: 'gradient', title: 'Gradient norm', unit: 'before clipping', kind: 'amount', metrics: [['grad_norm', 'Norm']] },
    { id: 'rate', title: 'Learning rate', unit: '', kind: 'amount', metrics: [['learning_rate', 'Rate']] },
  ],
  Completions: [
    { id: 'length', title: 'Completion length', unit: 'tokens', kind: 'amount', metrics: [['completions/mean_length', 'Mean'], ['completions/max_length', 'Longest']] },
    { id: 'truncated', title: 'Cut off', unit: '% of completions', kind: 'share', metrics: [['completions/clipped_ratio', 'Cut off']] },
    { id: 'stages', title: 'Stages in training', unit: '% of completions', kind: 'share', metrics: [['stages/render', 'All stages'], ['stages/bundle', 'Third'], ['stages/types', 'Second'], ['stages/parse', 'First']] },
  ],
  Machine: [
    { id: 'time', title: 'Time of a step', unit: 'seconds by phase', kind: 'amount', metrics: [['time/step', 'Whole step'], ['time/generate', 'Generate'], ['time/score_wait', 'Wait for scores'], ['time/update', 'Update'], ['time/layers', 'Layers']] },
    { id: 'speed', title: 'Generation speed', unit: 'tokens a second', kind: 'amount', metrics: [['tokens_per_second/generate', 'Generate']] },
    { id: 'memory', title: 'Memory against plan', unit: 'GiB', kind: 'amount', metrics: [['memory/resident_gib', 'Resident'], ['memory/peak_gib', 'Peak'], ['memory/planned_gib', 'Planned peak']] },
    { id: 'temperature', title: 'Temperature', unit: '°C', kind: 'plain', optional: true, metrics: [['temperature/processor', 'Processor'], ['temperature/card', 'Graphics card']] },
  ],
}

function chartOf({ id, title, unit, kind, metrics }: Plan, series: RunSeries): ChartSpec {
  const scale = kind === 'share' ? 100 : 1
  const lines = metricLines(series, metrics.map(([name, label]) => ({ name, label, scale })))
  const look = { plain, gain, share, amount: measured }[kind]
  return { id, title, unit, series: lines, ...look }
}

/** Mean rewards: all together, then each source. */
function rewardChart(series: RunSeries, names: readonly string[]): ChartSpec {
  const sources = names.flatMap((name) => /^rewards\/(.+)\/mean$/.exec(name)?.[1] ?? [])
  const lines = metricLines(series, [{ name: 'reward', label: 'Reward' }, ...sources.map((source) => ({ name: `rewards/${source}/mean`, label: source }))])
  return { id: 'reward', title: 'Reward', unit: 'mean of a step, by source', series: lines, ...paddedRange(lines, smallestRewardRange), ...gain }
}

function heldOutCharts(evaluations: readonly EvaluationResult[], recipe: Recipe): ChartSpec[] {
  const rate = (label: string, index: number, value: (result: EvaluationResult) => number): Series => ({ label, ...styleOf(index), points: evaluations.map((result) => ({ x: result.step, y: 100 * value(result) })) })
  const { detail } = outcomeWords[recipe]
  const met = detail === null ? [] : [rate(detail.title, 0, ({ requirementScore }) => requirementScore)]
  const passes = Object.keys(evaluations.at(-1)?.passAtK ?? {})
  return [
    { id: 'heldout', title: 'Held-out score', unit: '% of completions, by stage', series: stageSeries(evaluations, recipe), ...share, empty: 'The first evaluation runs before the first step.' },
    {
      id: 'honest', title: detail === null ? 'Hacks and pass@k' : `${detail.title}, and hacks`, unit: '% held out', ...share, empty: 'The first evaluation runs before the first step.',
      series: [...met, rate('Hack rate', 1, ({ hackRate }) => hackRate.rate), ...passes.filter((k) => k !== '1').map((k, index) => rate(`pass@${k}`, index + 2, ({ passAtK }) => passAtK[k] ?? 0))],
    },
  ]
}

/** Times and failures of sources, and metrics nobody planned for, one chart each. */
function otherCharts(series: RunSeries, names: readonly string[]): ChartSpec[] {
  const sources = names.flatMap((name) => /^rewards\/(.+)\/mean$/.exec(name)?.[1] ?? [])
  const perSource = (id: string, title: string, unit: string, kind: Plan['kind'], ending: string): Plan => ({ id, title, unit, kind, metrics: sources.map((source) => [`rewards/${source}/${ending}`, source] as const) })
  const sourcePlans = sources.length === 0 ? [] : [perSource('source-time', 'Time of rewards', 'milliseconds a completion', 'amount', 'milliseconds'), perSource('source-failures', 'Rewards that failed', '% of completions', 'share', 'failures')]
  const planned = new Set(Object.values(plans).flatMap((group) => group.flatMap(({ metrics }) => metrics.map(([name]) => name))))
  const rest = names.filter((name) => !planned.has(name) && !/^rewards\/.+\/(mean|milliseconds|failures)$/.test(name) && name !== 'reward')
  return [...sourcePlans.map((plan) => chartOf(plan, series)), ...rest.map((name) => ({ id: `other-${name}`, title: name, unit: '', series: metricLines(series, [{ name, label: name }]), ...plain }))]
}

/** All charts of a run, the most telling first. */
export function chartGroups(series: RunSeries, evaluations: readonly EvaluationResult[], recipe: Recipe): ChartGroup[] {
  const names = metricNames(series)
  const planned = Object.entries(plans).map(([title, group]) => ({ title, charts: group.filter(({ optional, metrics }) => optional !== true || metrics.some(([name]) => names.includes(name))).map((plan) => chartOf(plan, series)) }))
  return [{ title: 'Learning', charts: [rewardChart(series, names), ...heldOutCharts(evaluations, recipe)] }, ...planned, { title: 'Everything else', closed: true, charts: otherCharts(series, names) }]
}
