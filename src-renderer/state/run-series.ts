// The metrics of a run as the page holds them: thinned curves over the whole of it, and the rows that came since.
import type { MetricSeries } from '../../src-main/contract/calls/run-data.ts'
import type { MetricsRow } from '../../src-main/contract/events.ts'
import type { Point } from '../features/charts/decimate.ts'

export interface RunSeries {
  readonly base: ReadonlyMap<string, MetricSeries>
  /** Rows after those of `base`, steps ascending. */
  readonly live: readonly MetricsRow[]
}

export const noSeries: RunSeries = { base: new Map(), live: [] }

/** More rows than this are worth asking for thinned curves again. */
export const manyLiveRows = 1_500

export function seriesOf(thinned: readonly MetricSeries[]): RunSeries {
  return { base: new Map(thinned.map((series) => [series.name, series])), live: [] }
}

/** The series with one more row. What stood from that step on was undone by a resume, unless it is the same row heard twice. */
export function withRow(series: RunSeries, row: MetricsRow): RunSeries {
  const before = series.live.findLastIndex(({ step }) => step < row.step) + 1
  const live = [...series.live.slice(0, before), row]
  const undone = [...series.base.values()].some(({ steps }) => (steps.at(-1) ?? -1) >= row.step)
  return { base: undone ? cutBefore(series.base, row.step) : series.base, live }
}

function cutBefore(base: RunSeries['base'], step: number): RunSeries['base'] {
  return new Map([...base].map(([name, { steps, values }]) => {
    const end = steps.findIndex((other) => other >= step)
    return [name, end < 0 ? { name, steps, values } : { name, steps: steps.slice(0, end), values: values.slice(0, end) }]
  }))
}

/** The points of one metric over the whole run. */
export function pointsOf({ base, live }: RunSeries, name: string): Point[] {
  const known = base.get(name)
  const points: Point[] = known === undefined ? [] : known.steps.map((x, at) => ({ x, y: known.values[at] as number }))
  for (const { step, values } of live) {
    const value = values[name]
    if (value !== null && value !== undefined) points.push({ x: step, y: value })
  }
  return points
}

/** Every metric there is, in the order they were first met. */
export function metricNames({ base, live }: RunSeries): string[] {
  return [...new Set([...base.keys(), ...live.flatMap(({ values }) => Object.keys(values))])]
}
