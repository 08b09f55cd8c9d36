import { expect, test } from 'vitest'
import type { ShownPage } from '../../../src-main/contract/calls/pages.ts'
import { zoomFor } from '../../../src-renderer/features/pages/page-zoom.ts'
import { pageFacts, pictureWords } from '../../../src-renderer/features/pages/page-words.ts'

const shown = (more: Partial<ShownPage>): ShownPage => ({ state: 'shown', picture: 'data:image/png;base64,AA', reason: '', errors: [], text: 'Counter\n\n0 Add', elements: 7, ...more })

test('a picture is told in the words that stand on it, shortened', () => {
  expect(pictureWords('rollout 3 of step 12', shown({}))).toBe('The page of rollout 3 of step 12. It says: Counter 0 Add')
  expect(pictureWords('a', shown({ text: '' }))).toBe('The page of a, without text.')
  expect(pictureWords('a', shown({ text: 'x'.repeat(300) })).length).toBeLessThan(160)
  expect(pictureWords('a', shown({ state: 'blank' }))).toBe('The page of a: nothing can be seen on it.')
})

test('what was counted stands beside it', () => {
  expect(pageFacts(shown({ elements: 1, errors: ['x'] }))).toBe('1 element, 1 error.')
  expect(pageFacts(shown({ state: 'blank' }))).toBe('7 elements, no errors. Its pixels are all of one colour.')
})

test('a small picture is enlarged until what stands on it fills it, from the corner every page begins at', () => {
  const page = (...marks: readonly (readonly [x: number, y: number])[]): Uint8ClampedArray => {
    const pixels = new Uint8ClampedArray(4 * 100 * 50).fill(255)
    for (const [x, y] of marks) pixels.fill(0, 4 * (y * 100 + x), 4 * (y * 100 + x) + 3)
    return pixels
  }
  expect(zoomFor(page(), 100, 50)).toBe(2.5)
  expect(zoomFor(page([3, 2]), 100, 50)).toBe(2.5)
  // Half of the width is used: 1 / (0.5 + 0.04).
  expect(zoomFor(page([3, 2], [49, 4]), 100, 50)).toBeCloseTo(1.852, 3)
  expect(zoomFor(page([3, 48]), 100, 50)).toBe(1)
})
