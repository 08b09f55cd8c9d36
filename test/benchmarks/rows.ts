// What a benchmark reports: one row a number, with its unit and, where there is a goal, whether it is met. Nothing here fails a build.

export interface BenchmarkRow {
  readonly name: string
  readonly value: number
  readonly unit: string
  /** The goal as a sentence, and whether this run met it. */
  readonly goal?: string
  readonly met?: boolean
}

/** Median seconds of `runs` calls after one warm-up call. */
export async function medianSeconds(run: () => unknown, runs: number): Promise<number> {
  await run()
  const times: number[] = []
  for (let i = 0; i < runs; i++) {
    const before = performance.now()
    await run()
    times.push((performance.now() - before) / 1000)
  }
  return medianOf(times)
}

export function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] as number
}

function format(value: number): string {
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3)
}

/** The rows as lines of text. */
export function rowsTable(rows: readonly BenchmarkRow[]): string {
  const width = Math.max(...rows.map(({ name }) => name.length))
  return rows
    .map(({ name, value, unit, goal, met }) => `${name.padEnd(width)}  ${format(value).padStart(9)} ${unit.padEnd(9)}${goal === undefined ? '' : ` ${goal}: ${met === true ? 'met' : 'NOT MET'}`}`)
    .join('\n')
}
