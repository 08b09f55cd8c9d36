// All charts of a page are drawn from one queue, a few in a frame: a dozen at once would hold the page up for several frames.

export interface DrawQueue {
  /** Draws in one of the next frames, in the order asked for. Asked again before its turn, a canvas is drawn once, as it was asked for last. */
  soon(canvas: object, draw: () => void): void
  /** A canvas that is gone is drawn no more. */
  forget(canvas: object): void
}

/** After this long in a frame the other charts wait for the next; one is drawn in any case. A frame lasts 16.7 ms. */
const frameMilliseconds = 5

/** @param nextFrame calls back before the next frame is drawn @param now milliseconds */
export function createDrawQueue(nextFrame: (draw: () => void) => void, now: () => number): DrawQueue {
  const waiting = new Map<object, () => void>()
  let asked = false

  function ask(): void {
    if (asked || waiting.size === 0) return
    asked = true
    nextFrame(drawSome)
  }

  function drawSome(): void {
    asked = false
    const begin = now()
    try {
      for (const [canvas, draw] of waiting) {
        waiting.delete(canvas)
        draw()
        if (now() - begin >= frameMilliseconds) break
      }
    } finally {
      ask()
    }
  }

  return {
    soon(canvas, draw) {
      waiting.set(canvas, draw)
      ask()
    },
    forget(canvas) {
      waiting.delete(canvas)
    },
  }
}

export const drawQueue = createDrawQueue((draw) => requestAnimationFrame(draw), () => performance.now())
