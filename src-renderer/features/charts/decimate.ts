// Two points a pixel: the lowest and the highest value of each column, in their order. Keeps every peak, and both ends.
// Chart.js's own decimation swallows points appended after it ran, so we do it before the chart sees them.

export interface Point {
  readonly x: number
  readonly y: number
}

/** `points` ordered by x. Returns at most 2 x `pixels` + 2 points; the same points when there are fewer. */
export function decimate(points: readonly Point[], pixels: number): Point[] {
  const columns = Math.max(1, Math.floor(pixels))
  const first = points[0]
  const last = points.at(-1)
  if (first === undefined || last === undefined || points.length <= columns * 2) return [...points]
  const width = (last.x - first.x) / columns
  const kept: Point[] = [first]
  let column: { low: Point; high: Point; index: number } | undefined
  const flush = (): void => {
    if (column === undefined) return
    const { low, high } = column
    for (const point of low === high ? [low] : low.x <= high.x ? [low, high] : [high, low]) {
      if (point !== first && point !== last) kept.push(point)
    }
  }
  for (const point of points) {
    const index = Math.min(columns - 1, Math.floor((point.x - first.x) / width))
    if (column === undefined || index !== column.index) {
      flush()
      column = { low: point, high: point, index }
    } else {
      if (point.y < column.low.y) column.low = point
      if (point.y > column.high.y) column.high = point
    }
  }
  flush()
  kept.push(last)
  return kept
}
