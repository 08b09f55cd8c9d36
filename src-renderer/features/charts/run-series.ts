// From what the page knows of a run to the lines of its charts.
import type { EvaluationResult, MetricsRow } from '../../../src-main/contract/events.ts'
import type { Point } from './decimate.ts'

/** Line styles differ in dash and mark as well as in colour. `tone` is one of the chart colours of tokens.css. */
export interface Series {
  readonly label: string
  readonly tone: 1 | 2 | 3 | 4 | 5
  readonly dash: readonly number[]
  readonly mark: 'circle' | 'rect' | 'triangle' | 'rectRot' | 'none'
  readonly points: readonly Point[]
}

/** A metric over the steps; steps where it is not known are left out. */
export function metricPoints(rows: readonly MetricsRow[], name: string): Point[] {
  return rows.flatMap((row) => {
    const value = row.values[name]
    return value === null || value === undefined ? [] : [{ x: row.step, y: value }]
  })
}

export function rewardSeries(rows: readonly MetricsRow[]): Series[] {
  return [{ label: 'Mean reward', tone: 1, dash: [], mark: 'none', points: metricPoints(rows, 'reward') }]
}

export function lengthSeries(rows: readonly MetricsRow[]): Series[] {
  return [{ label: 'Mean length', tone: 1, dash: [], mark: 'none', points: metricPoints(rows, 'completions/mean_length') }]
}

const stageStyles = [
  { stage: 'parse', label: 'Parse', tone: 2, dash: [2, 3], mark: 'circle' },
  { stage: 'types', label: 'Types', tone: 3, dash: [6, 3], mark: 'rect' },
  { stage: 'bundle', label: 'Bundle', tone: 4, dash: [8, 3, 2, 3], mark: 'triangle' },
  { stage: 'render', label: 'Render', tone: 1, dash: [], mark: 'rectRot' },
] as const

/** Held-out rates of each stage, in per cent. A later stage counts only what passed the earlier ones. */
export function stageSeries(evaluations: readonly EvaluationResult[]): Series[] {
  return stageStyles.map(({ stage, ...style }) => ({ ...style, points: evaluations.map((result) => ({ x: result.step, y: result.stages[stage].rate * 100 })) }))
}

/** Limits of an axis that spans at least `smallest`; none when the values span more, so that the chart chooses them. */
export function paddedRange(series: readonly Series[], smallest: number): { low?: number; high?: number } {
  const values = series.flatMap((line) => line.points.map((point) => point.y))
  if (values.length === 0) return {}
  const low = Math.min(...values)
  const high = Math.max(...values)
  if (high - low >= smallest) return {}
  const step = smallest / 2
  const bottom = Math.floor((low + high - smallest) / 2 / step) * step
  return { low: bottom, high: bottom + 2 * smallest }
}

/** A sentence for those who do not see the line. */
export function describeSeries(series: Series, format: (value: number) => string): string {
  const first = series.points[0]
  const last = series.points.at(-1)
  if (first === undefined || last === undefined) return `${series.label}: no values yet.`
  if (series.points.length === 1) return `${series.label}: ${format(last.y)} at step ${last.x}.`
  return `${series.label}: from ${format(first.y)} at step ${first.x} to ${format(last.y)} at step ${last.x}.`
}

/** Rows of the table view: one a step, a cell a series, newest first. */
export function tableRows(series: readonly Series[]): { step: number; cells: (number | undefined)[] }[] {
  const steps = [...new Set(series.flatMap((line) => line.points.map((point) => point.x)))].sort((a, b) => b - a)
  const byStep = series.map((line) => new Map(line.points.map((point) => [point.x, point.y])))
  return steps.map((step) => ({ step, cells: byStep.map((values) => values.get(step)) }))
}
