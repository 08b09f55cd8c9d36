import { expect, test } from 'vitest'
import { createMemory } from '../../../src-main/engine/rewards/bounded-memory.ts'

test('the oldest entry leaves first; what is asked for or said again counts as new', () => {
  const memory = createMemory<number>(2)
  memory.set('a', 1)
  memory.set('b', 2)
  expect(memory.get('a')).toBe(1)
  memory.set('c', 3)
  expect([memory.get('a'), memory.get('b'), memory.get('c')]).toEqual([1, undefined, 3])
  memory.set('a', 4)
  memory.set('d', 5)
  expect([memory.get('a'), memory.get('c'), memory.get('d')]).toEqual([4, undefined, 5])
})
