// How every chart of the page is drawn: quiet grid, no animation, colours from the style sheet.
import type { ChartConfiguration, ChartDataset } from 'chart.js'
import { decimate } from './decimate.ts'
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
    tones: [1, 2, 3, 4, 5].map((tone) => read(`--chart-${tone}`)),
  }
}

export interface ChartFrame {
  /** Last step of the run: the axis shows the whole run from the start. */
  readonly lastStep: number
  readonly low: number | undefined
  readonly high: number | undefined
  readonly format: (value: number) => string
  /** Writes a number of the axis; `spacing` is the distance between two of them. */
  readonly formatTick: (value: number, spacing: number) => string
}

/** Distance between the first two numbers of an axis; 1 when there are fewer. */
function tickSpacing(ticks: readonly { readonly value: number }[]): number {
  const [first, second] = ticks
  return first === undefined || second === undefined ? 1 : Math.abs(second.value - first.value)
}

/** Fresh plain arrays on every call: the chart keeps and changes what it is given. */
export function datasetsOf(series: readonly Series[], theme: ChartTheme, pixels: number): ChartDataset<'line', { x: number; y: number }[]>[] {
  return series.map((line) => {
    const colour = theme.tones[line.tone - 1] ?? theme.ink
    const points = decimate(line.points, pixels).map(({ x, y }) => ({ x, y }))
    const marked = line.mark !== 'none' && points.length <= 60
    return {
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
      pointHoverRadius: 4,
      pointHitRadius: 8,
      // Marks at the edges are drawn whole.
      clip: 8,
    }
  })
}

/** The configuration of a line chart over steps. */
export function chartConfiguration(series: readonly Series[], frame: ChartFrame, theme: ChartTheme, pixels: number): ChartConfiguration<'line', { x: number; y: number }[]> {
  const font = { family: theme.family, size: 11 }
  return {
    type: 'line',
    data: { datasets: datasetsOf(series, theme, pixels) },
    options: {
      animation: false,
      responsive: true,
      maintainAspectRatio: false,
      parsing: false,
      normalized: true,
      interaction: { mode: 'nearest', axis: 'x', intersect: false },
      layout: { padding: { top: 6, right: 8 } },
      scales: {
        x: {
          type: 'linear',
          min: 0,
          max: Math.max(1, frame.lastStep),
          border: { color: theme.rule },
          grid: { display: false },
          ticks: { color: theme.ink, font, maxRotation: 0, maxTicksLimit: 7, precision: 0, includeBounds: false, callback: (value) => (value === 0 ? 'step 0' : String(value)) },
        },
        y: {
          ...(frame.low === undefined ? {} : { min: frame.low }),
          ...(frame.high === undefined ? {} : { max: frame.high }),
          border: { display: false },
          grid: { color: theme.grid, tickLength: 0 },
          grace: '5%',
          ticks: { color: theme.ink, font, padding: 6, maxTicksLimit: 5, callback: (value, _index, all) => frame.formatTick(Number(value), tickSpacing(all)) },
        },
      },
      plugins: {
        tooltip: {
          backgroundColor: theme.panel,
          borderColor: theme.rule,
          borderWidth: 1,
          cornerRadius: 4,
          padding: 8,
          titleColor: theme.ink,
          bodyColor: theme.ink,
          titleFont: { ...font, weight: 'bold' },
          bodyFont: font,
          usePointStyle: true,
          boxPadding: 4,
          callbacks: {
            title: (items) => (items[0] === undefined ? '' : `Step ${items[0].parsed.x ?? ''}`),
            label: (item) => `${item.dataset.label ?? ''}  ${frame.format(item.parsed.y ?? Number.NaN)}`,
          },
        },
      },
    },
  }
}
