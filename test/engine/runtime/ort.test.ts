// What a device does with memory.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { Graph, op } from '../../../src-main/engine/graph/index.ts'
import { cpu } from '../../support/evaluate.ts'

describe('a device', () => {
  it('gives the memory of discarded tensors back at once, given ones and made ones', async () => {
    const device = await cpu()
    const graph = new Graph('double')
    const x = graph.input('x', 'float32', ['N'])
    graph.output('y', op.add(x, x))
    const program = await device.compile(graph)
    const count = 4_000_000
    const given = device.tensor(new Float32Array(count).fill(3), [count])
    const made = (await program.run({ x: given }))['y']!
    expect((made.data as Float32Array).at(-1)).toBe(6)
    const before = process.memoryUsage().arrayBuffers
    device.discard([given, made])
    await nextTurn()
    expect(before - process.memoryUsage().arrayBuffers).toBeGreaterThan(1.5 * 4 * count)
    expect([(given.data as Float32Array).length, (made.data as Float32Array).length]).toEqual([0, 0])
    await program.release()
  })
})
