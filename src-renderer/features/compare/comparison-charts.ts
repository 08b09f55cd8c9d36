// Charts of several runs: a line a run, or a line a group of seeds with the range of its members around it.
import type { RunSnapshot } from '../../../src-main/contract/calls/run-data.ts'
import { outcomeWords } from '../../../src-main/contract/outcome-words.ts'
import { recipeOf } from '../../state/recipe-of.ts'
import { compact, decimalsFor, percent, signed } from '../../state/number-format.ts'
import { pointsOf, seriesOf } from '../../state/run-series.ts'
import type { ChartGroup, ChartSpec } from '../charts/chart-catalogue.ts'
import type { Point } from '../charts/decimate.ts'
import { styleOf } from '../charts/run-series.ts'
import type { Series } from '../charts/run-series.ts'
import { medianBand } from './compare-runs.ts'
import type { SeedGroup } from './compare-runs.ts'
import { words } from '../../words.ts'

/** The curves of a run that are compared, by name. */
export function comparisonCurves(run: RunSnapshot): Readonly<Record<'heldOut' | 'requirements' | 'hacks' | 'reward' | 'spread' | 'entropy' | 'kl' | 'length' | 'gradient' | 'time', readonly Point[]>> {
  const series = seriesOf(run.series)
  const rate = (value: (result: RunSnapshot['evaluations'][number]) => number): Point[] => run.evaluations.map((result) => ({ x: result.step, y: 100 * value(result) }))
  return {
    heldOut: rate(({ compile }) => compile.rate),
    requirements: rate(({ requirementScore }) => requirementScore),
    hacks: rate(({ hackRate }) => hackRate.rate),
    reward: pointsOf(series, 'reward'),
    spread: pointsOf(series, 'reward_std'),
    entropy: pointsOf(series, 'entropy'),
    kl: pointsOf(series, 'kl'),
    length: pointsOf(series, 'completions/mean_length'),
    gradient: pointsOf(series, 'grad_norm'),
    time: pointsOf(series, 'time/step'),
  }
}

type CurveName = keyof ReturnType<typeof comparisonCurves>

const amount = { low: 0, format: (value: number) => compact(value), formatTick: (value: number) => compact(value), empty: words.charts.everyStep }
const share = { low: 0, high: 100, format: (value: number) => percent(value / 100), formatTick: (value: number) => percent(value / 100), empty: words.charts.everyEvaluation }
const gain = { format: (value: number) => signed(value, 3), formatTick: (value: number, spacing: number) => signed(value, decimalsFor(spacing)), empty: words.charts.everyStep }

const charts: readonly (readonly [curve: CurveName, look: Omit<ChartSpec, 'id' | 'title' | 'unit' | 'series'>])[] = [
  ['heldOut', share],
  ['requirements', share],
  ['hacks', share],
  ['reward', gain],
  ['spread', amount],
  ['entropy', amount],
  ['kl', amount],
  ['length', amount],
  ['gradient', amount],
  ['time', amount],
]

/** What is met of what was asked for, in the words of the runs' recipe; undefined where no run grades that. */
function detailTitle(groups: readonly SeedGroup[]): string | undefined {
  const titles = new Set(groups.flatMap(({ members }) => members.flatMap(({ description }) => outcomeWords[recipeOf(description)].detail?.title ?? [])))
  return titles.size > 1 ? words.compare.shareMet : [...titles][0]
}

/** One chart a curve; those that no run has are left out. */
export function comparisonCharts(groups: readonly SeedGroup[]): ChartGroup[] {
  const curves = groups.map(({ members }) => members.map(comparisonCurves))
  const specs = charts.flatMap(([curve, look]): ChartSpec[] => {
    const { title, unit } = words.compare.curves[curve]
    const named = curve === 'requirements' ? detailTitle(groups) : title
    if (named === undefined) return []
    const series = groups.map(({ label }, index): Series => {
      const own = (curves[index] ?? []).map((run) => run[curve])
      if (own.length === 1) return { label, ...styleOf(index), points: own[0] ?? [] }
      const { points, low, high } = medianBand(own)
      return { label, ...styleOf(index), points, band: { low, high } }
    })
    return series.some(({ points }) => points.length > 0) ? [{ id: curve, title: named, unit, series, ...look }] : []
  })
  return [{ title: words.compare.curvesTitle, charts: specs }]
}
