import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { firstRowAt, scrollTopFor, tableHeight } from '../../../src-renderer/ui/virtual-rows.ts'

const size = { rowHeight: 28, viewport: 400 }

describe('rows in sight', () => {
  it('move by their height while the table is short', () => {
    expect([0, 27, 28, 280].map((top) => firstRowAt(top, { ...size, rows: 1000 }))).toEqual([0, 0, 1, 10])
  })

  it('reach the first and the last row, however long the table is', () => {
    for (const rows of [1, 13, 14, 15, 1000, 10_000_000]) {
      const end = tableHeight(rows, size.rowHeight) - size.viewport
      expect(firstRowAt(0, { ...size, rows })).toBe(0)
      const first = firstRowAt(Math.max(0, end), { ...size, rows })
      // The last row may be cut by the edge while the bar is not scaled; the heading's height makes up for it.
      expect([Math.max(0, rows - 14), Math.max(0, rows - 15)]).toContain(first)
    }
  })

  it('hold a row that was asked for', () => {
    fc.assert(fc.property(fc.integer({ min: 1, max: 50_000_000 }), fc.double({ min: 0, max: 1, noNaN: true }), (rows, share) => {
      const row = Math.min(rows - 1, Math.floor(share * rows))
      const first = firstRowAt(scrollTopFor(row, { ...size, rows }), { ...size, rows })
      expect(first).toBeLessThanOrEqual(row)
      expect(row).toBeLessThan(first + 14)
    }))
  })

  it('never need an element higher than a browser draws', () => {
    expect(tableHeight(50_000_000, 28)).toBeLessThan(2 ** 24)
  })
})
