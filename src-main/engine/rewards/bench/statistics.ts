// The few statistics the reward bench and the simulator speak of.

export const mean = (values: readonly number[]): number => (values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length)

/** Population deviation. */
export function deviation(values: readonly number[]): number {
  const centre = mean(values)
  return Math.sqrt(mean(values.map((value) => (value - centre) ** 2)))
}

/** Pearson's correlation; null where either side does not vary or there are fewer than two pairs. */
export function correlation(a: readonly number[], b: readonly number[]): number | null {
  const [x, y] = [mean(a), mean(b)]
  const [sx, sy] = [deviation(a), deviation(b)]
  if (a.length < 2 || sx < 1e-12 || sy < 1e-12) return null
  return mean(a.map((value, index) => (value - x) * ((b[index] as number) - y))) / (sx * sy)
}
