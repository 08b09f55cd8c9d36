// Two points a part: the lowest and the highest value of each, in their order, and both ends. Keeps every peak of a column of any length.

export interface Thinned {
  readonly steps: number[]
  readonly values: number[]
}

/** First index of ascending `steps` that is not below `step`. */
export function indexOfStep(steps: Float64Array, step: number): number {
  let low = 0
  let high = steps.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((steps[middle] as number) < step) low = middle + 1
    else high = middle
  }
  return low
}

/**
 * Values of the steps `from`..`to`, both included; unknown ones (NaN) are left out.
 * @param steps ascending @param values at least as long @returns at most 2 x `parts` + 2 points
 */
export function decimateColumn(steps: Float64Array, values: Float64Array, { from, to, parts }: { readonly from: number; readonly to: number; readonly parts: number }): Thinned {
  const first = indexOfStep(steps, from)
  const end = indexOfStep(steps, to + 1)
  const kept: Thinned = { steps: [], values: [] }
  const keep = (index: number): void => {
    const value = values[index] as number
    if (Number.isNaN(value) || kept.steps.at(-1) === steps[index]) return
    kept.steps.push(steps[index] as number)
    kept.values.push(value)
  }
  if (end - first <= 2 * parts) {
    for (let index = first; index < end; index += 1) keep(index)
    return kept
  }
  keep(first)
  for (let part = 0; part < parts; part += 1) {
    const begin = first + Math.floor(((end - first) * part) / parts)
    const stop = first + Math.floor(((end - first) * (part + 1)) / parts)
    const [low, high] = extremes(values, begin, stop)
    keep(Math.min(low, high))
    keep(Math.max(low, high))
  }
  keep(end - 1)
  return kept
}

/** Indices of the smallest and the largest known value in begin..stop; `begin` twice where none is known. */
function extremes(values: Float64Array, begin: number, stop: number): [number, number] {
  let low = begin
  let high = begin
  for (let index = begin; index < stop; index += 1) {
    const value = values[index] as number
    if (Number.isNaN(value)) continue
    if (!(value >= (values[low] as number))) low = index
    if (!(value <= (values[high] as number))) high = index
  }
  return [low, high]
}
