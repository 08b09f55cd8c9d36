import { describe, expect, it } from 'vitest'
import { passAtK, wilson } from '../../../src-main/engine/training/evaluation.ts'

describe('pass@k', () => {
  it('has the golden values of eight samples with two correct', () => {
    expect([1, 2, 4, 8].map((k) => passAtK(8, 2, k))).toEqual([0.25, expect.closeTo(0.464286, 6), expect.closeTo(0.785714, 6), 1])
  })

  it('equals the mean over all subsets of size k', () => {
    const n = 6
    const correct = 2
    for (let k = 1; k <= n; k++) {
      let hits = 0
      let subsets = 0
      for (let set = 0; set < 1 << n; set++) {
        if (set.toString(2).replaceAll('0', '').length !== k) continue
        subsets++
        if ((set & ((1 << correct) - 1)) !== 0) hits++
      }
      expect(passAtK(n, correct, k)).toBeCloseTo(hits / subsets, 12)
    }
  })

  it('refuses more draws than there are samples', () => {
    expect(() => passAtK(2, 1, 4)).toThrow(/pass@4 needs at least 4 samples/)
  })
})

describe('the Wilson interval', () => {
  it('has the textbook values', () => {
    // 81 of 263, z = 1.96: 0.2553 to 0.3662 (Newcombe 1998, table I, method 3)
    const { rate, low, high } = wilson(81, 263)
    expect(rate).toBeCloseTo(0.308, 3)
    expect(low).toBeCloseTo(0.2553, 4)
    expect(high).toBeCloseTo(0.3662, 4)
    // 0 of 20: 0 to 0.1611
    expect(wilson(0, 20)).toMatchObject({ rate: 0, low: 0, high: expect.closeTo(0.1611, 4) as number })
  })

  it('is everything without a sample', () => {
    expect(wilson(0, 0)).toEqual({ rate: 0, low: 0, high: 1, n: 0 })
  })
})
