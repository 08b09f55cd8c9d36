import { describe, expect, it } from 'vitest'
import { bytesText, memoryText, parametersText } from '../../../src-renderer/state/byte-format.ts'

describe('bytes', () => {
  it.each([[0, '0\u202fbytes'], [999, '999\u202fbytes'], [999.6, '1.0\u202fKB'], [14_500, '14.5\u202fKB'], [6_171_877_376, '6.2\u202fGB'], [123_456_789, '123\u202fMB']])('%d is %j', (bytes, text) => {
    expect(bytesText(bytes)).toBe(text)
  })

  it.each([[300 * 2 ** 20, '300\u202fMiB'], [2 ** 34, '16.0\u202fGiB']])('memory of %d is %j', (bytes, text) => {
    expect(memoryText(bytes)).toBe(text)
  })

  it.each([[3_085_938_688, '3.09\u202fB'], [3_556_000, '3.6\u202fM']])('%d parameters are %j', (count, text) => {
    expect(parametersText(count)).toBe(text)
  })
})
