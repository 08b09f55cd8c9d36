// The one horizontal axis that the charts of a page share: which steps they show, and which step is pointed at.

export interface ChartAxis {
  /** First and last step of the whole run. */
  readonly whole: readonly [number, number]
  /** What is shown: the whole run unless it was zoomed. */
  readonly shown: readonly [number, number]
  readonly zoomed: boolean
  /** The step under the pointer, or chosen by keyboard; null when there is none. */
  readonly hover: number | null
  /** Grows with the run. */
  setWhole(last: number): void
  /** Shows the steps between two, in either order; fewer than two steps apart changes nothing. */
  zoom(one: number, other: number): void
  /** Shows all again. */
  reset(): void
  /** Shows half as much, or twice as much, around a step. */
  scale(factor: number, around: number): void
  point(step: number | null): void
}

export function createChartAxis(): ChartAxis {
  let last = $state(1)
  let zoomed = $state.raw<readonly [number, number] | null>(null)
  let hover = $state<number | null>(null)

  function zoom(one: number, other: number): void {
    const from = Math.max(0, Math.round(Math.min(one, other)))
    const to = Math.min(last, Math.round(Math.max(one, other)))
    if (to - from >= 2) zoomed = from === 0 && to === last ? null : [from, to]
  }

  return {
    get whole() {
      return [0, last] as const
    },
    get shown() {
      return zoomed ?? ([0, last] as const)
    },
    get zoomed() {
      return zoomed !== null
    },
    get hover() {
      return hover
    },
    setWhole(next) {
      if (next !== last) last = Math.max(1, next)
    },
    zoom,
    reset() {
      zoomed = null
    },
    scale(factor, around) {
      const [from, to] = zoomed ?? [0, last]
      zoom(around - (around - from) * factor, around + (to - around) * factor)
    },
    point(step) {
      hover = step
    },
  }
}
