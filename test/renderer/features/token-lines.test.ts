import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { tokenLines, visibleTokenText } from '../../../src-renderer/features/rollouts/token-lines.ts'
import { rolloutOf } from '../samples.ts'

const shape = (pieces: readonly string[]): string[][] => tokenLines(rolloutOf(pieces)).map((line) => line.pieces.map((piece) => `${piece.token}:${piece.kind === 'text' ? piece.text : piece.kind}`))

describe('tokenLines', () => {
  it('cuts tokens at line ends', () => {
    expect(shape(['if', ' (a)\n  ', 'b', '\n'])).toEqual([['0:if', '1: (a)', '1:line-end'], ['1:  ', '2:b', '3:line-end'], []])
  })

  it('marks tokens that show nothing', () => {
    expect(shape(['a', ''])).toEqual([['0:a', '1:no-text']])
    expect(shape([''])).toEqual([['0:no-text']])
  })

  it('shows a character once that several tokens make together', () => {
    // A crab is two UTF-16 units and four bytes; byte tokens all cover both units.
    const rollout = rolloutOf(['🦀'], { ids: [1, 2, 3], starts: [0, 0, 0], ends: [2, 2, 2] })
    expect(tokenLines(rollout)[0]?.pieces.map((piece) => [piece.token, piece.text, piece.kind])).toEqual([[0, '🦀', 'text'], [1, '', 'no-text'], [2, '', 'no-text']])
  })

  it('draws every character exactly once and every token at least once', () => {
    fc.assert(
      fc.property(fc.array(fc.stringMatching(/^[a-c\n ]{0,4}$/), { minLength: 1, maxLength: 30 }), (pieces) => {
        const lines = tokenLines(rolloutOf(pieces))
        const drawn = lines.map((line) => line.pieces.map((piece) => (piece.kind === 'line-end' ? '\n' : piece.text)).join('')).join('')
        expect(drawn).toBe(pieces.join(''))
        expect(lines.flatMap((line) => line.pieces).filter((piece) => piece.first).map((piece) => piece.token)).toEqual(pieces.map((_, token) => token))
      }),
    )
  })

  it('puts flags on their line, with the column, also at the very end', () => {
    const flag = { value: -1, source: 'types', message: 'no' }
    const rollout = rolloutOf(['ab\n', 'cd'], { spans: [{ ...flag, start: 4, end: 5 }, { ...flag, start: 5, end: 5 }] })
    expect(tokenLines(rollout).map((line) => line.flags.map((entry) => entry.column))).toEqual([[], [2, 3]])
  })
})

describe('visibleTokenText', () => {
  it('makes spaces and line ends visible', () => {
    expect(visibleTokenText(rolloutOf([' a\n\t']), 0)).toBe('·a↵→')
  })

  it('names the end of the completion', () => {
    expect(visibleTokenText(rolloutOf(['a', '']), 1)).toBe('end of completion')
    expect(visibleTokenText(rolloutOf(['a', ''], { finish: 'length' }), 1)).toBe('no text')
  })
})
