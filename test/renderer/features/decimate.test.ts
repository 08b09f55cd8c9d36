import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decimate } from '../../../src-renderer/features/charts/decimate.ts'
import type { Point } from '../../../src-renderer/features/charts/decimate.ts'

const series = (values: readonly number[]): Point[] => values.map((y, x) => ({ x, y }))

describe('decimate', () => {
  it('leaves few points alone', () => {
    const points = series([3, 1, 2])
    expect(decimate(points, 100)).toEqual(points)
    expect(decimate([], 100)).toEqual([])
  })

  it('keeps a single peak among a hundred thousand points', () => {
    const points = series(Array.from({ length: 100_000 }, (_, x) => (x === 54_321 ? 9 : x === 54_400 ? -9 : 0)))
    const kept = decimate(points, 300)
    expect(kept).toContainEqual({ x: 54_321, y: 9 })
    expect(kept).toContainEqual({ x: 54_400, y: -9 })
    expect(kept.length).toBeLessThanOrEqual(602)
  })

  it('keeps both ends, the order, the extremes and no more than two points a pixel', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: -1e6, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 500 }), fc.integer({ min: 1, max: 60 }), (values, pixels) => {
        const points = series(values)
        const kept = decimate(points, pixels)
        expect(kept[0]).toEqual(points[0])
        expect(kept.at(-1)).toEqual(points.at(-1))
        expect(kept.every((point, index) => index === 0 || point.x > (kept[index - 1]?.x ?? Infinity))).toBe(true)
        expect(Math.max(...kept.map((point) => point.y))).toBe(Math.max(...values))
        expect(Math.min(...kept.map((point) => point.y))).toBe(Math.min(...values))
        expect(kept.length).toBeLessThanOrEqual(2 * pixels + 2)
        expect(kept.every((point) => points[point.x] === point)).toBe(true)
      }),
    )
  })
})
