// Every derivative of the table against central finite differences of the operator itself.
import { describe, expect, it } from 'vitest'
import { derivatives } from '../../../src-main/engine/graph/derivatives.ts'
import { Graph, gradients, op, type Value } from '../../../src-main/engine/graph/index.ts'
import type { OperatorName } from '../../../src-main/engine/graph/operator-types.ts'
import { evaluate, numbers, type Feed } from '../../support/evaluate.ts'

interface Case {
  readonly operator: OperatorName
  readonly title: string
  /** Shapes of the differentiated inputs. */
  readonly shapes: readonly (readonly number[])[]
  readonly build: (inputs: Value[], graph: Graph) => Value
  /** Maps (-1, 1) to where the operator is defined and smooth. */
  readonly domain?: (x: number) => number
}

const positive = (x: number): number => 1.5 + x
const indices = (graph: Graph, name: string, values: readonly number[], shape: readonly number[]): Value => graph.initializer(name, shape, BigInt64Array.from(values, BigInt))
const cos = Float32Array.from({ length: 6 * 2 }, (_, i) => Math.cos(i * 0.3))
const sin = Float32Array.from({ length: 6 * 2 }, (_, i) => Math.sin(i * 0.3))
const away = (x: number): number => (x >= 0 ? 0.3 + x : -0.3 + x)

const cases: readonly Case[] = [
  { operator: 'Add', title: 'broadcast', shapes: [[2, 3], [3]], build: ([a, b]) => op.add(a!, b!) },
  { operator: 'Add', title: 'same shape', shapes: [[2, 3], [2, 3]], build: ([a, b]) => op.add(a!, b!) },
  { operator: 'Sub', title: 'broadcast', shapes: [[2, 1], [2, 3]], build: ([a, b]) => op.sub(a!, b!) },
  { operator: 'Mul', title: 'broadcast', shapes: [[2, 3], [1, 3]], build: ([a, b]) => op.mul(a!, b!) },
  { operator: 'Div', title: 'broadcast', shapes: [[2, 3], [3]], build: ([a, b]) => op.div(a!, b!), domain: positive },
  { operator: 'Neg', title: '', shapes: [[4]], build: ([a]) => op.neg(a!) },
  { operator: 'Exp', title: '', shapes: [[4]], build: ([a]) => op.exp(a!) },
  { operator: 'Log', title: '', shapes: [[4]], build: ([a]) => op.log(a!), domain: positive },
  { operator: 'Sqrt', title: '', shapes: [[4]], build: ([a]) => op.sqrt(a!), domain: positive },
  { operator: 'Sigmoid', title: '', shapes: [[4]], build: ([a]) => op.sigmoid(a!) },
  { operator: 'Abs', title: '', shapes: [[6]], build: ([a]) => op.abs(a!), domain: away },
  { operator: 'Min', title: 'broadcast', shapes: [[3, 4], [4]], build: ([a, b]) => op.min(a!, b!) },
  { operator: 'Max', title: 'broadcast', shapes: [[3, 4], [4]], build: ([a, b]) => op.max(a!, b!) },
  { operator: 'Where', title: '', shapes: [[5], [5]], build: ([a, b], g) => op.where(op.less(g.initializer('c', [5], Float32Array.of(-1, 1, -1, 1, 1)), 0), a!, b!) },
  { operator: 'Identity', title: '', shapes: [[3]], build: ([a]) => op.identity(a!) },
  ...[false, true].flatMap((transposeA) =>
    [false, true].flatMap((transposeB): Case[] => [
      {
        operator: 'MatMul',
        title: `matrices, transposeA ${transposeA}, transposeB ${transposeB}`,
        shapes: [transposeA ? [3, 2] : [2, 3], transposeB ? [4, 3] : [3, 4]],
        build: ([a, b]) => op.matMul(a!, b!, { transposeA, transposeB, scale: 0.7 }),
      },
      {
        operator: 'MatMul',
        title: `batches, transposeA ${transposeA}, transposeB ${transposeB}`,
        shapes: [transposeA ? [2, 2, 3, 2] : [2, 2, 2, 3], transposeB ? [2, 2, 4, 3] : [2, 2, 3, 4]],
        build: ([a, b]) => op.matMul(a!, b!, { transposeA, transposeB, scale: 1.3 }),
      },
    ]),
  ),
  { operator: 'Softmax', title: '', shapes: [[3, 5]], build: ([a]) => op.softmax(a!, -1) },
  { operator: 'ReduceSum', title: 'one axis', shapes: [[2, 3, 4]], build: ([a]) => op.reduceSum(a!, [1]) },
  { operator: 'ReduceMean', title: 'kept', shapes: [[2, 3, 4]], build: ([a]) => op.reduceMean(a!, [0, 2], true) },
  { operator: 'ReduceLogSumExp', title: '', shapes: [[3, 5]], build: ([a]) => op.reduceLogSumExp(a!, [1]) },
  { operator: 'Transpose', title: '', shapes: [[2, 3, 4]], build: ([a]) => op.transpose(a!, [2, 0, 1]) },
  { operator: 'Reshape', title: '', shapes: [[2, 6]], build: ([a]) => op.reshape(a!, [3, 4]) },
  { operator: 'Expand', title: '', shapes: [[2, 1]], build: ([a]) => op.expand(a!, [3, 2, 4]) },
  { operator: 'Concat', title: '', shapes: [[2, 3], [2, 2]], build: ([a, b]) => op.concat([a!, b!], 1) },
  { operator: 'Slice', title: 'middle', shapes: [[2, 5]], build: ([a]) => op.slice(a!, 1, 1, 3) },
  { operator: 'Slice', title: 'start', shapes: [[4, 2]], build: ([a]) => op.slice(a!, 0, 0, 3) },
  { operator: 'Gather', title: 'repeated rows', shapes: [[4, 3]], build: ([a], g) => op.gather(a!, indices(g, 'i', [1, 3, 1, 0, 2, 1], [2, 3])) },
  { operator: 'GatherElements', title: 'repeated columns', shapes: [[3, 4]], build: ([a], g) => op.gatherElements(a!, indices(g, 'i', [1, 1, 0, 3, 2, 2], [3, 2])) },
  { operator: 'ScatterElements', title: 'adds', shapes: [[3, 4], [3, 1]], build: ([a, b], g) => op.scatterElements(a!, indices(g, 'i', [1, 0, 3], [3, 1]), b!) },
  { operator: 'RmsNormalization', title: '', shapes: [[3, 4], [4]], build: ([a, b]) => op.rmsNormalization(a!, b!, 1e-6).y },
  {
    operator: 'Rotary',
    title: 'whole head',
    shapes: [[2, 3, 8]],
    build: ([a], g) => op.rotary(a!, indices(g, 'p', [0, 1, 2, 3, 4, 5], [2, 3]), g.initializer('cos', [6, 2], cos), g.initializer('sin', [6, 2], sin), { heads: 2, headSize: 4, rotaryDimensions: 4 }),
  },
  {
    operator: 'Rotary',
    title: 'part of a head',
    shapes: [[2, 3, 16]],
    build: ([a], g) => op.rotary(a!, indices(g, 'p', [0, 1, 2, 3, 4, 5], [2, 3]), g.initializer('cos', [6, 2], cos), g.initializer('sin', [6, 2], sin), { heads: 2, headSize: 8, rotaryDimensions: 4 }),
  },
]

const size = (shape: readonly number[]): number => shape.reduce((product, dim) => product * dim, 1)

/** loss = sum(build(inputs) * fixed random weights); returns the loss and its gradients. */
function lossGraph(testCase: Case): Graph {
  const graph = new Graph('case')
  const inputs = testCase.shapes.map((shape, index) => graph.input(`x${index}`, 'float32', shape))
  const y = testCase.build(inputs, graph)
  const weight = graph.initializer('weight', y.shape as number[], numbers(size(y.shape as number[]), 99))
  const loss = op.sumAll(op.mul(y, weight))
  graph.output('loss', loss)
  gradients([{ value: loss, gradient: graph.constant(1) }], inputs).forEach((gradient, index) => graph.output(`g${index}`, gradient))
  return graph
}

describe('derivative table', () => {
  it('has a case here for every entry', () => {
    expect([...new Set(cases.map((testCase) => testCase.operator))].sort()).toEqual(Object.keys(derivatives).sort())
  })

  it.each(cases)('$operator $title agrees with finite differences', async (testCase) => {
    const graph = lossGraph(testCase)
    const values = testCase.shapes.map((shape, index) => numbers(size(shape), 7 + index).map((x) => (testCase.domain ?? ((same: number) => same))(x)))
    const feeds = (): Record<string, Feed> => Object.fromEntries(values.map((data, index) => [`x${index}`, [data, testCase.shapes[index]!] as const]))
    const analytic = await evaluate(graph, feeds())
    const step = 1 / 128
    for (const [index, data] of values.entries()) {
      const gradient = analytic[`g${index}`]!
      expect(gradient.dims).toEqual(testCase.shapes[index])
      for (let at = 0; at < data.length; at++) {
        const before = data[at]!
        data[at] = before + step
        const high = (await evaluate(graph, feeds()))['loss']!.data[0]!
        data[at] = before - step
        const low = (await evaluate(graph, feeds()))['loss']!.data[0]!
        data[at] = before
        const numeric = (high - low) / (2 * step)
        expect(Math.abs(numeric - gradient.data[at]!), `input ${index} element ${at}: numeric ${numeric}, analytic ${gradient.data[at]}`).toBeLessThan(2e-3 + 2e-3 * Math.abs(numeric))
      }
    }
  })

  it('names an operator without a derivative', () => {
    const graph = new Graph('none')
    const x = graph.input('x', 'float32', [4])
    const y = graph.within('layer', () => op.cast(op.cast(x, 'int32'), 'float32'))
    expect(() => gradients([{ value: y, gradient: y }], [x])).toThrow(/operator Cast \(\/layer\/Cast.*has no derivative/)
  })

  it('refuses a parameter that nothing depends on', () => {
    const graph = new Graph('unused')
    const x = graph.input('x', 'float32', [4])
    const w = graph.input('w', 'float32', [4])
    const y = op.neg(x)
    expect(() => gradients([{ value: y, gradient: y }], [w])).toThrow(/w does not influence/)
  })
})
