// A small chart as SVG: lines over steps, and dots with intervals for what was measured now and then.

export interface Point {
  readonly x: number
  readonly y: number
}

export interface Dot extends Point {
  readonly low?: number
  readonly high?: number
}

export interface Series {
  readonly label: string
  readonly colour: string
  readonly line: readonly Point[]
  readonly dots: readonly Dot[]
}

/** Colours that stay apart on light and dark ground and for most kinds of colour blindness (Okabe and Ito). */
export const seriesColours = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9'] as const

const width = 420
const height = 220
const margin = { left: 46, right: 10, top: 8, bottom: 24 }

/**
 * Draws a chart; axes fit the data. A line of more than two points a pixel column is thinned to its extremes.
 * @param marks steps at which something was changed, as dashed vertical lines
 */
export function lineChart(title: string, series: readonly Series[], marks: readonly number[] = []): string {
  const xs = series.flatMap(({ line, dots }) => [...line, ...dots].map(({ x }) => x))
  const ys = series.flatMap(({ line, dots }) => [...line.map(({ y }) => y), ...dots.flatMap(({ y, low, high }) => [y, low ?? y, high ?? y])])
  const xTicks = niceTicks(Math.min(...xs), Math.max(...xs), 5).filter(Number.isInteger)
  const yTicks = niceTicks(Math.min(...ys), Math.max(...ys), 4)
  const xRange = [Math.min(...xs), Math.max(Math.min(...xs) + 1, ...xs)] as const
  const yRange = [Math.min(yTicks[0] as number, ...ys), Math.max(yTicks.at(-1) as number, ...ys)] as const
  const toX = (x: number): number => margin.left + ((x - xRange[0]) / (xRange[1] - xRange[0])) * (width - margin.left - margin.right)
  const toY = (y: number): number => height - margin.bottom - ((y - yRange[0]) / (yRange[1] - yRange[0] || 1)) * (height - margin.top - margin.bottom)
  const at = ({ x, y }: Point): string => `${toX(x).toFixed(1)},${toY(y).toFixed(1)}`
  const grid = yTicks.map((tick) => `<line class="grid" x1="${margin.left}" x2="${width - margin.right}" y1="${toY(tick).toFixed(1)}" y2="${toY(tick).toFixed(1)}"/><text class="tick" x="${margin.left - 6}" y="${(toY(tick) + 4).toFixed(1)}" text-anchor="end">${format(tick)}</text>`)
  const steps = xTicks.map((tick) => `<text class="tick" x="${toX(tick).toFixed(1)}" y="${height - 6}" text-anchor="middle">${format(tick)}</text>`)
  const marked = marks.filter((step) => step >= xRange[0] && step <= xRange[1]).map((step) => `<line class="mark" x1="${toX(step).toFixed(1)}" x2="${toX(step).toFixed(1)}" y1="${margin.top}" y2="${height - margin.bottom}"><title>changed from step ${step} on</title></line>`)
  const drawn = series.map(({ colour, line, dots }) => [
    line.length === 0 ? '' : `<polyline fill="none" stroke="${colour}" stroke-width="1.6" stroke-linejoin="round" points="${thin(line, 2 * width).map(at).join(' ')}"/>`,
    ...dots.map((dot) => {
      const interval = dot.low === undefined || dot.high === undefined ? '' : `<line stroke="${colour}" stroke-width="1.2" x1="${toX(dot.x).toFixed(1)}" x2="${toX(dot.x).toFixed(1)}" y1="${toY(dot.low).toFixed(1)}" y2="${toY(dot.high).toFixed(1)}"/>`
      return `${interval}<circle class="dot" stroke="${colour}" cx="${toX(dot.x).toFixed(1)}" cy="${toY(dot.y).toFixed(1)}" r="3.4"/>`
    }),
  ].join(''))
  return `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${title} over steps; dots are held-out results">${[...grid, ...steps, ...marked, ...drawn].join('')}</svg>`
}

/** Round numbers that span a range, about `count` of them. */
export function niceTicks(low: number, high: number, count: number): number[] {
  if (!(high > low)) return [low]
  const raw = (high - low) / count
  const magnitude = 10 ** Math.floor(Math.log10(raw))
  const step = ([1, 2, 5, 10].find((factor) => factor * magnitude >= raw) ?? 10) * magnitude
  const first = Math.floor(low / step)
  const last = Math.ceil(high / step)
  return Array.from({ length: last - first + 1 }, (_, index) => (first + index) * step)
}

/** Keeps the lowest and the highest point of each stretch, so that no spike is lost. */
export function thin(points: readonly Point[], most: number): readonly Point[] {
  if (points.length <= most) return points
  const stretch = Math.ceil(points.length / (most / 2))
  const kept: Point[] = []
  for (let from = 0; from < points.length; from += stretch) {
    const part = points.slice(from, from + stretch)
    const lowest = part.reduce((least, point) => (point.y < least.y ? point : least))
    const highest = part.reduce((top, point) => (point.y > top.y ? point : top))
    kept.push(...(lowest === highest ? [lowest] : lowest.x < highest.x ? [lowest, highest] : [highest, lowest]))
  }
  return kept
}

function format(value: number): string {
  const rounded = Number(value.toPrecision(4))
  return Math.abs(rounded) >= 10_000 ? rounded.toExponential(1) : String(rounded)
}
