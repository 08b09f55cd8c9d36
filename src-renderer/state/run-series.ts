// The metrics of a run as the page holds them: thinned curves over the whole of it, and the rows that came since.
import type { MetricSeries } from '../../src-main/contract/calls/run-data.ts'
import type { MetricsRow } from '../../src-main/contract/events.ts'
import type { Point } from '../features/charts/decimate.ts'

export interface RunSeries {
  readonly base: ReadonlyMap<string, readonly Point[]>
  /** Rows after those of `base`, steps ascending. */
  readonly live: readonly MetricsRow[]
}

export const noSeries: RunSeries = { base: new Map(), live: [] }

/** More rows than this are worth asking for thinned curves again. */
export const manyLiveRows = 1_500

export function seriesOf(thinned: readonly MetricSeries[]): RunSeries {
  return { base: new Map(thinned.map(({ name, steps, values }) => [name, steps.map((x, at) => ({ x, y: values[at] as number }))])), live: [] }
}

/** The series with one more row. What stood from that step on was undone by a resume, unless it is the same row heard twice. */
export function withRow(series: RunSeries, row: MetricsRow): RunSeries {
  const before = series.live.findLastIndex(({ step }) => step < row.step) + 1
  const live = [...series.live.slice(0, before), row]
  const undone = [...series.base.values()].some((points) => (points.at(-1)?.x ?? -1) >= row.step)
  return { base: undone ? cutBefore(series.base, row.step) : series.base, live }
}

function cutBefore(base: RunSeries['base'], step: number): RunSeries['base'] {
  return new Map([...base].map(([name, points]) => {
    const end = points.findIndex(({ x }) => x >= step)
    return [name, end < 0 ? points : points.slice(0, end)]
  }))
}

/** The points of one metric over the whole run. */
export function pointsOf({ base, live }: RunSeries, name: string): readonly Point[] {
  const known = base.get(name) ?? []
  const since = live.flatMap(({ step, values }): Point[] => {
    const value = values[name]
    return value === null || value === undefined ? [] : [{ x: step, y: value }]
  })
  return since.length === 0 ? known : [...known, ...since]
}

/** How many points the longest curve has. */
export function lengthOf({ base, live }: RunSeries): number {
  return Math.max(0, ...[...base.values()].map((points) => points.length)) + live.length
}

/** Every metric there is, in the order they were first met. */
export function metricNames({ base, live }: RunSeries): string[] {
  return [...new Set([...base.keys(), ...live.flatMap(({ values }) => Object.keys(values))])]
}
