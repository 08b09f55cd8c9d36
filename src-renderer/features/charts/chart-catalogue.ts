// Which charts a run has: every metric group of the specification, then whatever else the run reports.
import type { EvaluationResult } from '../../../src-main/contract/events.ts'
import { outcomeWords } from '../../../src-main/contract/outcome-words.ts'
import type { Recipe } from '../../../src-main/contract/reward-config.ts'
import { compact, decimalsFor, percent, signed } from '../../state/number-format.ts'
import { metricNames } from '../../state/run-series.ts'
import type { RunSeries } from '../../state/run-series.ts'
import { metricLines, paddedRange, stageSeries, styleOf } from './run-series.ts'
import type { Series } from './run-series.ts'
import { words } from '../../words.ts'

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

const say = words.charts
type PlanId = keyof typeof say.plans

const everyStep = say.everyStep
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
  /** Names its words, too. */
  readonly id: PlanId
  readonly kind: 'plain' | 'share' | 'gain' | 'amount'
  /** Names of metrics, in the order of their words. */
  readonly metrics: readonly string[]
  /** Left out where the run has none of them, instead of standing there empty. */
  readonly optional?: boolean
}

const plans: Readonly<Record<'groups' | 'policy' | 'completions' | 'machine', readonly Plan[]>> = {
  groups: [
    { id: 'spread', kind: 'amount', metrics: ['reward_std', 'reward_std_between'] },
    { id: 'flat', kind: 'share', metrics: ['frac_reward_zero_std', 'frac_groups_skipped'] },
    { id: 'advantage', kind: 'amount', metrics: ['advantage_max'] },
  ],
  policy: [
    { id: 'kl', kind: 'amount', metrics: ['kl', 'approx_kl'] },
    { id: 'entropy', kind: 'amount', metrics: ['entropy'] },
    { id: 'ratio', kind: 'plain', metrics: ['ratio'] },
    { id: 'clip', kind: 'share', metrics: ['clip_ratio/region_mean', 'clip_ratio/low_mean', 'clip_ratio/high_mean'] },
    { id: 'gradient', kind: 'amount', metrics: ['grad_norm'] },
    { id: 'rate', kind: 'amount', metrics: ['learning_rate'] },
  ],
  completions: [
    { id: 'length', kind: 'amount', metrics: ['completions/mean_length', 'completions/max_length'] },
    { id: 'truncated', kind: 'share', metrics: ['completions/clipped_ratio'] },
    { id: 'stages', kind: 'share', metrics: ['stages/render', 'stages/bundle', 'stages/types', 'stages/parse'] },
  ],
  machine: [
    { id: 'time', kind: 'amount', metrics: ['time/step', 'time/generate', 'time/score_wait', 'time/update', 'time/layers'] },
    { id: 'speed', kind: 'amount', metrics: ['tokens_per_second/generate'] },
    { id: 'memory', kind: 'amount', metrics: ['memory/resident_gib', 'memory/peak_gib', 'memory/planned_gib'] },
    { id: 'temperature', kind: 'plain', optional: true, metrics: ['temperature/processor', 'temperature/card'] },
  ],
}

interface Labelled extends Pick<ChartSpec, 'id' | 'title' | 'unit'> {
  readonly kind: Plan['kind']
  /** Names of metrics with what the legend calls them. */
  readonly metrics: readonly (readonly [name: string, label: string])[]
}

function labelled({ id, kind, metrics }: Plan): Labelled {
  const { title, unit, lines } = say.plans[id]
  return { id, title, unit, kind, metrics: metrics.map((name, at) => [name, lines[at] ?? name]) }
}

function chartOf({ id, title, unit, kind, metrics }: Labelled, series: RunSeries): ChartSpec {
  const scale = kind === 'share' ? 100 : 1
  const lines = metricLines(series, metrics.map(([name, label]) => ({ name, label, scale })))
  const look = { plain, gain, share, amount: measured }[kind]
  return { id, title, unit, series: lines, ...look }
}

/** Mean rewards: all together, then each source. */
function rewardChart(series: RunSeries, names: readonly string[]): ChartSpec {
  const sources = names.flatMap((name) => /^rewards\/(.+)\/mean$/.exec(name)?.[1] ?? [])
  const lines = metricLines(series, [{ name: 'reward', label: say.reward.title }, ...sources.map((source) => ({ name: `rewards/${source}/mean`, label: source }))])
  return { id: 'reward', ...say.reward, series: lines, ...paddedRange(lines, smallestRewardRange), ...gain }
}

function heldOutCharts(evaluations: readonly EvaluationResult[], recipe: Recipe): ChartSpec[] {
  const rate = (label: string, index: number, value: (result: EvaluationResult) => number): Series => ({ label, ...styleOf(index), points: evaluations.map((result) => ({ x: result.step, y: 100 * value(result) })) })
  const { detail } = outcomeWords[recipe]
  const met = detail === null ? [] : [rate(detail.title, 0, ({ requirementScore }) => requirementScore)]
  const passes = Object.keys(evaluations.at(-1)?.passAtK ?? {})
  return [
    { id: 'heldout', ...say.heldOut, series: stageSeries(evaluations, recipe), ...share, empty: say.beforeFirst },
    {
      id: 'honest', title: detail === null ? say.hacks.alone : say.hacks.with(detail.title), unit: say.hacks.unit, ...share, empty: say.beforeFirst,
      series: [...met, rate(say.hacks.rate, 1, ({ hackRate }) => hackRate.rate), ...passes.filter((k) => k !== '1').map((k, index) => rate(`pass@${k}`, index + 2, ({ passAtK }) => passAtK[k] ?? 0))],
    },
  ]
}

/** Times and failures of sources, and metrics nobody planned for, one chart each. */
function otherCharts(series: RunSeries, names: readonly string[]): ChartSpec[] {
  const sources = names.flatMap((name) => /^rewards\/(.+)\/mean$/.exec(name)?.[1] ?? [])
  const perSource = (id: string, { title, unit }: { title: string; unit: string }, kind: Plan['kind'], ending: string): Labelled => ({ id, title, unit, kind, metrics: sources.map((source) => [`rewards/${source}/${ending}`, source] as const) })
  const sourcePlans = sources.length === 0 ? [] : [perSource('source-time', say.sourceTime, 'amount', 'milliseconds'), perSource('source-failures', say.sourceFailures, 'share', 'failures')]
  const planned = new Set(Object.values(plans).flatMap((group) => group.flatMap(({ metrics }) => metrics)))
  const rest = names.filter((name) => !planned.has(name) && !/^rewards\/.+\/(mean|milliseconds|failures)$/.test(name) && name !== 'reward')
  return [...sourcePlans.map((plan) => chartOf(plan, series)), ...rest.map((name) => ({ id: `other-${name}`, title: name, unit: '', series: metricLines(series, [{ name, label: name }]), ...plain }))]
}

const groupNames = ['groups', 'policy', 'completions', 'machine'] as const

/** All charts of a run, the most telling first. */
export function chartGroups(series: RunSeries, evaluations: readonly EvaluationResult[], recipe: Recipe): ChartGroup[] {
  const names = metricNames(series)
  const planned = groupNames.map((name) => ({ title: say.groups[name], charts: plans[name].filter(({ optional, metrics }) => optional !== true || metrics.some((metric) => names.includes(metric))).map((plan) => chartOf(labelled(plan), series)) }))
  return [{ title: say.groups.learning, charts: [rewardChart(series, names), ...heldOutCharts(evaluations, recipe)] }, ...planned, { title: say.groups.rest, closed: true, charts: otherCharts(series, names) }]
}
