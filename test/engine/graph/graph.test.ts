import { describe, expect, it } from 'vitest'
import { Graph, dumpGraph, op } from '../../../src-main/engine/graph/index.ts'
import { multiplyDimensions, resolveShape } from '../../../src-main/engine/graph/shape.ts'
import { evaluate, numbers } from '../../support/evaluate.ts'

describe('building a graph', () => {
  it('names the scope and both shapes of a product that does not fit', () => {
    const graph = new Graph('model')
    const x = graph.input('x', 'float32', ['N', 8])
    const w = graph.input('w', 'float32', [4, 8])
    expect(() => graph.within('layers.3', () => graph.within('q_proj', () => op.matMul(x, w)))).toThrow(/^\/layers\.3\/q_proj: MatMul: x \[N, 8\] and w \[4, 8\] do not fit/)
  })

  it('does not take two symbols for the same size', () => {
    const graph = new Graph('model')
    expect(() => op.add(graph.input('a', 'float32', ['B', 4]), graph.input('b', 'float32', ['T', 4]))).toThrow(/do not broadcast/)
  })

  it('refuses a type that does not fit', () => {
    const graph = new Graph('model')
    expect(() => op.gather(graph.input('t', 'float32', [4, 2]), graph.input('i', 'float32', ['N']))).toThrow(/i is float32, expected int32 or int64/)
  })

  it('shares equal constants and names values by path', () => {
    const graph = new Graph('model')
    const x = graph.input('x', 'float32', [2])
    graph.output('y', graph.within('layer', () => op.mul(op.add(x, 0.5), 0.5)))
    expect(graph.initializers).toHaveLength(1)
    expect(dumpGraph(graph)).toBe(
      ['graph model', '  input x: float32 [2]', '  /layer/Add: float32 [2] = Add(x, /constants/float32_0.5)', '  /layer/Mul: float32 [2] = Mul(/layer/Add, /constants/float32_0.5)', '  output y = /layer/Mul: float32 [2]', ''].join('\n'),
    )
  })

  it('reads symbolic sizes off the inputs when it runs', async () => {
    const graph = new Graph('reshape')
    const x = graph.input('x', 'float32', ['B', 'T', 6])
    const flat = op.reshape(x, ['B*T', 6])
    graph.output('y', op.transpose(op.reshape(flat, ['B', 'T', 2, 3]), [0, 2, 1, 3]))
    graph.output('ones', op.full(graph, ['T', 'B'], 1))
    const { y, ones } = await evaluate(graph, { x: [numbers(2 * 5 * 6, 1), [2, 5, 6]] })
    expect(y!.dims).toEqual([2, 2, 5, 3])
    expect(ones!.dims).toEqual([5, 2])
    expect(y!.data[0]).toBe(numbers(60, 1)[0])
    expect(y!.data[15]).toBe(numbers(60, 1)[3]) // head 1, time 0: after two heads' worth of 3 in row 0
  })

  it('says when a symbol cannot be known', () => {
    const graph = new Graph('unknown')
    expect(() => op.full(graph, ['B', 2], 0)).toThrow(/no input has B as a dimension/)
  })
})

describe('dimension algebra', () => {
  it('multiplies monomials in canonical form', () => {
    expect(multiplyDimensions('T', 2, 'B', 3)).toBe('6*B*T')
    expect(resolveShape(['4*B*T', 3], { B: 2, T: 5 })).toEqual([40, 3])
  })
})
