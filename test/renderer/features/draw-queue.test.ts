import { describe, expect, it } from 'vitest'
import { createDrawQueue } from '../../../src-renderer/features/charts/draw-queue.ts'

/** A queue whose frames and clock are turned by hand; every drawing takes `cost` milliseconds. */
function queueByHand(cost: number) {
  let time = 0
  let frame: (() => void) | undefined
  const drawn: string[] = []
  const queue = createDrawQueue((draw) => (frame = draw), () => time)
  const draw = (name: string) => () => {
    time += cost
    drawn.push(name)
  }
  return {
    queue, drawn, draw,
    /** What was drawn in the next frame; undefined where none was asked for. */
    nextFrame(): string[] | undefined {
      const now = frame
      if (now === undefined) return undefined
      frame = undefined
      const before = drawn.length
      now()
      return drawn.slice(before)
    },
  }
}

describe('the queue of drawings', () => {
  it('draws a few in a frame, in their order, and asks for no frame when all are drawn', () => {
    const { queue, draw, nextFrame } = queueByHand(2)
    for (const name of ['a', 'b', 'c', 'd', 'e']) queue.soon({ name }, draw(name))
    expect(nextFrame()).toEqual(['a', 'b', 'c'])
    expect(nextFrame()).toEqual(['d', 'e'])
    expect(nextFrame()).toBeUndefined()
  })

  it('draws one in a frame, however long it takes', () => {
    const { queue, draw, nextFrame } = queueByHand(1000)
    queue.soon({}, draw('a'))
    queue.soon({}, draw('b'))
    expect(nextFrame()).toEqual(['a'])
    expect(nextFrame()).toEqual(['b'])
  })

  it('draws a canvas once, as it was asked for last, at its first place', () => {
    const { queue, draw, nextFrame } = queueByHand(1)
    const canvas = {}
    queue.soon(canvas, draw('old'))
    queue.soon({}, draw('other'))
    queue.soon(canvas, draw('new'))
    expect(nextFrame()).toEqual(['new', 'other'])
  })

  it('draws nothing on a canvas that is gone', () => {
    const { queue, drawn, draw, nextFrame } = queueByHand(1)
    const canvas = {}
    queue.soon(canvas, draw('a'))
    queue.forget(canvas)
    nextFrame()
    expect(drawn).toEqual([])
  })

  it('draws what is asked for while it draws in a later frame or this one, never twice', () => {
    const { queue, drawn, draw, nextFrame } = queueByHand(1)
    const canvas = {}
    queue.soon(canvas, () => queue.soon(canvas, draw('again')))
    while (nextFrame() !== undefined);
    expect(drawn).toEqual(['again'])
  })

  it('goes on after a drawing that failed', () => {
    const { queue, drawn, draw, nextFrame } = queueByHand(1)
    queue.soon({}, () => {
      throw new Error('no canvas')
    })
    queue.soon({}, draw('b'))
    expect(() => nextFrame()).toThrow('no canvas')
    nextFrame()
    expect(drawn).toEqual(['b'])
  })
})
