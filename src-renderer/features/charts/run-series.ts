// From what the page knows of a run to the lines of its charts.
import type { EvaluationResult } from '../../../src-main/contract/events.ts'
import type { Recipe } from '../../../src-main/contract/reward-config.ts'
import { gateNames } from '../../../src-main/contract/rewards.ts'
import { pointsOf } from '../../state/run-series.ts'
import type { RunSeries } from '../../state/run-series.ts'
import type { Point } from './decimate.ts'
import { words } from '../../words.ts'

export type Tone = 1 | 2 | 3 | 4 | 5 | 6
export type Mark = 'circle' | 'rect' | 'triangle' | 'rectRot' | 'none'

/** Line styles differ in dash and mark as well as in colour. `tone` is one of the chart colours of tokens.css. */
export interface LineStyle {
  readonly tone: Tone
  readonly dash: readonly number[]
  readonly mark: Mark
}

export interface Series extends LineStyle {
  readonly label: string
  readonly points: readonly Point[]
  /** A band around the line: the lowest and highest of several runs, or an interval; same steps as `points`. */
  readonly band?: { readonly low: readonly number[]; readonly high: readonly number[] }
}

/** Styles in the order in which the lines of a chart take them. */
export const lineStyles: readonly LineStyle[] = [
  { tone: 1, dash: [], mark: 'circle' },
  { tone: 3, dash: [6, 3], mark: 'rect' },
  { tone: 4, dash: [8, 3, 2, 3], mark: 'triangle' },
  { tone: 5, dash: [2, 3], mark: 'rectRot' },
  { tone: 2, dash: [10, 4], mark: 'circle' },
  { tone: 6, dash: [4, 2], mark: 'rect' },
]

export function styleOf(index: number): LineStyle {
  return lineStyles[index % lineStyles.length] as LineStyle
}

/** Lines of named metrics; those that the run does not have are left out, unless none is there. */
export function metricLines(series: RunSeries, metrics: readonly { readonly name: string; readonly label: string; readonly scale?: number }[]): Series[] {
  const lines = metrics.map(({ name, label, scale = 1 }, index) => ({ label, ...styleOf(index), points: scaled(pointsOf(series, name), scale) }))
  const known = lines.filter(({ points }) => points.length > 0)
  return known.length > 0 ? known : lines.slice(0, 1)
}

function scaled(points: readonly Point[], scale: number): readonly Point[] {
  return scale === 1 ? points : points.map(({ x, y }) => ({ x, y: y * scale }))
}

const stageStyles = [
  { stage: 'parse', tone: 2, dash: [2, 3], mark: 'circle' },
  { stage: 'types', tone: 3, dash: [6, 3], mark: 'rect' },
  { stage: 'bundle', tone: 4, dash: [8, 3, 2, 3], mark: 'triangle' },
  { stage: 'render', tone: 1, dash: [], mark: 'rectRot' },
] as const

/** Held-out rates of each stage, in per cent. A later stage counts only what passed the earlier ones. */
export function stageSeries(evaluations: readonly EvaluationResult[], recipe: Recipe = 'react'): Series[] {
  const named = stageStyles.map(({ stage, ...style }) => ({ stage, label: capital(gateNames[recipe][stage]), ...style }))
  // Recipes with fewer gates call several of them the same.
  const distinct = named.filter(({ label }, index) => named.findIndex((other) => other.label === label) === index)
  return distinct.map(({ stage, ...style }) => ({ ...style, points: evaluations.map((result) => ({ x: result.step, y: result.stages[stage].rate * 100 })) }))
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** Limits of an axis that spans at least `smallest`; none when the values span more, so that the chart chooses them. */
export function paddedRange(series: readonly Series[], smallest: number): { low?: number; high?: number } {
  let low = Infinity
  let high = -Infinity
  for (const { points } of series) {
    for (const { y } of points) {
      low = Math.min(low, y)
      high = Math.max(high, y)
    }
  }
  if (low > high || high - low >= smallest) return {}
  const step = smallest / 2
  const bottom = Math.floor((low + high - smallest) / 2 / step) * step
  return { low: bottom, high: bottom + 2 * smallest }
}

/** A sentence for those who do not see the line. */
export function describeSeries(series: Series, format: (value: number) => string): string {
  const first = series.points[0]
  const last = series.points.at(-1)
  if (first === undefined || last === undefined) return words.charts.spoken.none(series.label)
  if (series.points.length === 1) return words.charts.spoken.one(series.label, format(last.y), last.x)
  return words.charts.spoken.went(series.label, [format(first.y), first.x], [format(last.y), last.x])
}

/** The value of a line at a step, or at the last one before it that has a value. */
export function valueAt(points: readonly Point[], step: number): number | undefined {
  let low = 0
  let high = points.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((points[middle] as Point).x <= step) low = middle + 1
    else high = middle
  }
  return points[low - 1]?.y
}

/** The points of the steps `from`..`to`. */
export function within(points: readonly Point[], from: number, to: number): readonly Point[] {
  return points.filter(({ x }) => x >= from && x <= to)
}

/** Rows of the table view: one a step, a cell a series, newest first. */
export function tableRows(series: readonly Series[]): { step: number; cells: (number | undefined)[] }[] {
  const steps = [...new Set(series.flatMap((line) => line.points.map((point) => point.x)))].sort((a, b) => b - a)
  const byStep = series.map((line) => new Map(line.points.map((point) => [point.x, point.y])))
  return steps.map((step) => ({ step, cells: byStep.map((values) => values.get(step)) }))
}

/** The same as CSV (RFC 4180): full precision, steps ascending, empty where nothing is known. */
export function csvOf(series: readonly Series[]): string {
  const quoted = (text: string): string => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
  const rows = tableRows(series).reverse().map(({ step, cells }) => [step, ...cells.map((cell) => cell ?? '')].join(','))
  return `${[['step', ...series.map(({ label }) => quoted(label))].join(','), ...rows].join('\r\n')}\r\n`
}
