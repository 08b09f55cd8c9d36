import { describe, expect, it } from 'vitest'
import { tokenLines } from '../../../src-renderer/features/rollouts/token-lines.ts'
import { nextToken } from '../../../src-renderer/features/rollouts/token-walk.ts'
import { rolloutOf } from '../samples.ts'

//                                  0      1    2       3   4     5    6
const lines = tokenLines(rolloutOf(['abc', 'd', '\n\n', 'x', 'yz', '\n', 'end']))
const walk = (from: number | null, ...keys: string[]): (number | null)[] => {
  let at = from
  return keys.map((key) => (at = nextToken(lines, at, key)))
}

describe('nextToken', () => {
  it('walks along the tokens and stops at both ends', () => {
    expect(walk(0, 'ArrowRight', 'ArrowRight', 'ArrowLeft', 'ArrowLeft', 'ArrowLeft')).toEqual([1, 2, 1, 0, 0])
    expect(walk(6, 'ArrowRight')).toEqual([6])
    expect(walk(3, 'End', 'Home')).toEqual([6, 0])
  })

  it('goes to the token below or above, at about the same column', () => {
    expect(walk(4, 'ArrowDown')).toEqual([6])
    expect(walk(6, 'ArrowUp', 'ArrowUp')).toEqual([3, 2])
  })

  it('is not caught by a token that fills lines of its own', () => {
    // Token 2 holds the line ends of lines 1 and 2; it starts at column 4, and line 3 is shorter.
    expect(walk(0, 'ArrowDown', 'ArrowDown', 'ArrowDown')).toEqual([2, 5, 6])
  })

  it('starts at the first token', () => {
    expect(walk(null, 'ArrowDown')).toEqual([0])
  })

  it('leaves other keys alone', () => {
    expect(walk(1, 'Tab')).toEqual([null])
    expect(nextToken([], null, 'ArrowRight')).toBeNull()
  })
})
