// How every chart of the page is drawn: quiet grid, no animation, colours from the style sheet.
import type { ChartConfiguration, ChartDataset } from 'chart.js'
import { decimate } from './decimate.ts'
import type { Point } from './decimate.ts'
import { within } from './run-series.ts'
import type { Series } from './run-series.ts'

/** Colours and type of the present theme, read from the style sheet. */
export interface ChartTheme {
  readonly ink: string
  readonly grid: string
  readonly panel: string
  readonly rule: string
  readonly family: string
  readonly tones: readonly string[]
}

export function readChartTheme(): ChartTheme {
  const style = getComputedStyle(document.documentElement)
  const read = (name: string): string => style.getPropertyValue(name).trim()
  return {
    ink: read('--ink-2'),
    grid: read('--chart-grid'),
    panel: read('--panel'),
    rule: read('--rule-strong'),
    family: read('--sans'),
    tones: [1, 2, 3, 4, 5, 6].map((tone) => read(`--chart-${tone}`)),
  }
}

export interface ChartFrame {
  /** First and last step shown. */
  readonly shown: readonly [number, number]
  readonly low: number | undefined
  readonly high: number | undefined
  /** Writes a number of the axis; `spacing` is the distance between two of them. */
  readonly formatTick: (value: number, spacing: number) => string
}

export interface LinePoint {
  readonly x: number
  readonly y: number
}

export type LineData = ChartDataset<'line', LinePoint[]>

/** Distance between the first two numbers of an axis; 1 when there are fewer. */
function tickSpacing(ticks: readonly { readonly value: number }[]): number {
  const [first, second] = ticks
  return first === undefined || second === undefined ? 1 : Math.abs(second.value - first.value)
}

/** Points shown, with the nearest on either side, so that a line leaves the chart where it would. */
function shownPoints(points: readonly Point[], [from, to]: readonly [number, number]): readonly Point[] {
  const before = points.findLast(({ x }) => x < from)
  const after = points.find(({ x }) => x > to)
  return [...(before === undefined ? [] : [before]), ...within(points, from, to), ...(after === undefined ? [] : [after])]
}

/** Fresh plain arrays on every call: the chart keeps and changes what it is given. */
export function datasetsOf(series: readonly Series[], shown: readonly [number, number], theme: ChartTheme, pixels: number): LineData[] {
  return series.flatMap((line): LineData[] => {
    const colour = theme.tones[line.tone - 1] ?? theme.ink
    const points = decimate(shownPoints(line.points, shown), pixels).map(({ x, y }) => ({ x, y }))
    const marked = line.mark !== 'none' && points.length <= 40
    const drawn: LineData = {
      label: line.label,
      data: points,
      borderColor: colour,
      backgroundColor: theme.panel,
      pointBorderColor: colour,
      pointBackgroundColor: theme.panel,
      borderWidth: 1.75,
      borderDash: [...line.dash],
      borderJoinStyle: 'round',
      pointStyle: line.mark === 'none' ? 'circle' : line.mark,
      pointRadius: marked ? 3.5 : points.length === 1 ? 3 : 0,
      pointBorderWidth: 1.5,
      // Marks at the edges are drawn whole.
      clip: marked ? 8 : 0,
    }
    return line.band === undefined ? [drawn] : [...bandOf(line, line.band, colour), drawn]
  })
}

/** The band as two lines without ink, the upper one filled down to the lower. */
function bandOf({ label, points }: Series, { low, high }: NonNullable<Series['band']>, colour: string): LineData[] {
  const edge = (values: readonly number[], fill: string | boolean): LineData => ({
    label: `${label} band`,
    data: points.map(({ x }, index) => ({ x, y: values[index] ?? Number.NaN })),
    borderWidth: 0,
    pointRadius: 0,
    fill,
    backgroundColor: `color-mix(in srgb, ${colour} 18%, transparent)`,
  })
  return [edge(low, false), edge(high, '-1')]
}

/** Everything about a line chart over steps but its lines. */
export function chartOptions(frame: ChartFrame, theme: ChartTheme): NonNullable<ChartConfiguration<'line', LinePoint[]>['options']> {
  const font = { family: theme.family, size: 11 }
  const [from, to] = frame.shown
  return {
    animation: false,
    responsive: true,
    maintainAspectRatio: false,
    parsing: false,
    normalized: true,
    events: [],
    layout: { padding: { top: 6, right: 8 } },
    scales: {
      x: {
        type: 'linear',
        min: from,
        max: Math.max(from + 1, to),
        border: { color: theme.rule },
        grid: { display: false },
        ticks: { color: theme.ink, font, maxRotation: 0, maxTicksLimit: 6, precision: 0, includeBounds: false, callback: (value) => (value === 0 ? 'step 0' : String(value)) },
      },
      y: {
        ...(frame.low === undefined ? {} : { min: frame.low }),
        ...(frame.high === undefined ? {} : { max: frame.high }),
        border: { display: false },
        grid: { color: theme.grid, tickLength: 0 },
        grace: '5%',
        ticks: { color: theme.ink, font, padding: 6, maxTicksLimit: 5, callback: (value, _index, all) => frame.formatTick(Number(value), tickSpacing(all)) },
        // Charts under each other begin at the same place.
        afterFit: (scale) => {
          scale.width = Math.max(scale.width, 44)
        },
      },
    },
    plugins: { tooltip: { enabled: false } },
  }
}
