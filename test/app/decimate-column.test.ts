import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decimateColumn } from '../../src-main/app/decimate-column.ts'

const column = (values: readonly number[]): [Float64Array, Float64Array] => [Float64Array.from(values, (_, at) => at + 1), Float64Array.from(values)]

describe('decimateColumn', () => {
  it('leaves few points alone, and leaves out what is not known', () => {
    const [steps, values] = column([1, Number.NaN, 3])
    expect(decimateColumn(steps, values, { from: 0, to: 9, parts: 10 })).toEqual({ steps: [1, 3], values: [1, 3] })
  })

  it('takes the steps that were asked for, both ends included', () => {
    const [steps, values] = column([10, 20, 30, 40, 50])
    expect(decimateColumn(steps, values, { from: 2, to: 4, parts: 10 })).toEqual({ steps: [2, 3, 4], values: [20, 30, 40] })
    expect(decimateColumn(steps, values, { from: 7, to: 9, parts: 10 })).toEqual({ steps: [], values: [] })
  })

  it('keeps every extreme and stays within two points a part and the ends, for any column', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.double({ noNaN: true, min: -1e6, max: 1e6 }), fc.constant(Number.NaN)), { maxLength: 400 }), fc.integer({ min: 1, max: 20 }), (numbers, parts) => {
        const [steps, values] = column(numbers)
        const thinned = decimateColumn(steps, values, { from: 0, to: numbers.length, parts })
        const known = numbers.filter((value) => !Number.isNaN(value))
        if (numbers.length > 2 * parts) expect(thinned.steps.length).toBeLessThanOrEqual(2 * parts + 2)
        if (known.length > 0) expect([Math.min(...thinned.values), Math.max(...thinned.values)]).toEqual([Math.min(...known), Math.max(...known)])
        expect(thinned.steps).toEqual([...new Set(thinned.steps)].sort((a, b) => a - b))
        thinned.steps.forEach((step, at) => expect(thinned.values[at]).toBe(numbers[step - 1]))
      }),
      { numRuns: 200 },
    )
  })
})
