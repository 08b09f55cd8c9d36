import { describe, expect, it } from 'vitest'
import { compact, decimalsFor, duration, percent, plural, signed } from '../../../src-renderer/state/number-format.ts'

describe('numbers as written', () => {
  it.each<[number | null, string]>([[0, '0'], [1234.5, '1235'], [98.24, '98.2'], [0.30049, '0.3'], [-2.5, '−2.5'], [0.00001234, '1.23e−5'], [2.5e7, '2.50e+7'], [null, '–'], [Number.NaN, '–'], [Infinity, '–']])('compact %s is %s', (value, text) => {
    expect(compact(value)).toBe(text)
  })

  it.each<[number, string]>([[1, '+1.00'], [-0.126, '−0.13'], [0, '0.00'], [-0.001, '0.00'], [Number.NaN, '–']])('signed %s is %s', (value, text) => {
    expect(signed(value)).toBe(text)
  })

  it.each<[number | undefined, string]>([[0, '0\u202f%'], [0.0104, '1\u202f%'], [0.034, '3.4\u202f%'], [0.5, '50\u202f%'], [0.996, '99.6\u202f%'], [1, '100\u202f%'], [undefined, '–']])('percent %s is %s', (value, text) => {
    expect(percent(value)).toBe(text)
  })

  it.each<[number, string]>([[0, '1 second'], [7, '7 seconds'], [33, '35 seconds'], [58, '1 minute'], [130, '2 minutes'], [3600, '1 hour'], [4900, '1 hour 22 minutes']])('duration of %s seconds is %s', (value, text) => {
    expect(duration(value)).toBe(text)
  })

  it.each<[number, number]>([[5, 0], [0.5, 1], [0.25, 2], [0.1 + 0.2, 1], [0, 0], [Number.NaN, 0], [1 / 3, 6]])('a spacing of %s needs %s decimals', (spacing, decimals) => {
    expect(decimalsFor(spacing)).toBe(decimals)
  })

  it('counts things', () => {
    expect([plural(1, 'token'), plural(0, 'token'), plural(2, 'token')]).toEqual(['1 token', '0 tokens', '2 tokens'])
  })
})
