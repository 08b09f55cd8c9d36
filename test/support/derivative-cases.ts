// One small graph for every entry of the derivative table. The CPU is held against finite differences, WebGPU against the CPU.
import { Graph, gradients, op, type Value } from '../../src-main/engine/graph/index.ts'
import type { OperatorName } from '../../src-main/engine/graph/operator-types.ts'
import { numbers, type Feed } from './evaluate.ts'

export interface DerivativeCase {
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

export const derivativeCases: readonly DerivativeCase[] = [
  { operator: 'Add', title: 'broadcast', shapes: [[2, 3], [3]], build: ([a, b]) => op.add(a!, b!) },
  { operator: 'Add', title: 'same shape', shapes: [[2, 3], [2, 3]], build: ([a, b]) => op.add(a!, b!) },
  { operator: 'Sub', title: 'broadcast', shapes: [[2, 1], [2, 3]], build: ([a, b]) => op.sub(a!, b!) },
  { operator: 'Mul', title: 'broadcast', shapes: [[2, 3], [1, 3]], build: ([a, b]) => op.mul(a!, b!) },
  { operator: 'Div', title: 'broadcast', shapes: [[2, 3], [3]], build: ([a, b]) => op.div(a!, b!), domain: positive },
  { operator: 'Neg', title: '', shapes: [[4]], build: ([a]) => op.neg(a!) },
  { operator: 'Exp', title: '', shapes: [[4]], build: ([a]) => op.exp(a!) },
  { operator: 'Log', title: '', shapes: [[4]], build: ([a]) => op.log(a!), domain: positive },
  { operator: 'Sqrt', title: '', shapes: [[4]], build: ([a]) => op.sqrt(a!), domain: positive },
  { operator: 'Silu', title: '', shapes: [[4]], build: ([a]) => op.silu(a!) },
  { operator: 'Sigmoid', title: '', shapes: [[4]], build: ([a]) => op.sigmoid(a!) },
  { operator: 'Abs', title: '', shapes: [[6]], build: ([a]) => op.abs(a!), domain: away },
  { operator: 'Min', title: 'broadcast', shapes: [[3, 4], [4]], build: ([a, b]) => op.min(a!, b!) },
  { operator: 'Max', title: 'broadcast', shapes: [[3, 4], [4]], build: ([a, b]) => op.max(a!, b!) },
  { operator: 'Where', title: '', shapes: [[5], [5]], build: ([a, b], g) => op.where(op.less(g.initializer('c', [5], Float32Array.of(-1, 1, -1, 1, 1)), 0), a!, b!) },
  { operator: 'Identity', title: '', shapes: [[3]], build: ([a]) => op.identity(a!) },
  { operator: 'Detach', title: 'beside a path that is differentiated', shapes: [[3]], build: ([a]) => op.add(a!, op.mul(op.detach(a!), 0)) },
  ...[false, true].flatMap((transposeA) =>
    [false, true].flatMap((transposeB): DerivativeCase[] => [
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
  { operator: 'MatMul', title: 'with a row added', shapes: [[3, 2], [2, 4], [4]], build: ([a, b, c]) => op.matMul(a!, b!, { scale: 0.5, addend: c! }) },
  { operator: 'MatMul', title: 'with a matrix added', shapes: [[3, 2], [4, 2], [3, 4]], build: ([a, b, c]) => op.matMul(a!, b!, { transposeB: true, addend: c! }) },
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
  {
    operator: 'Rotary',
    title: 'part of a head, heads apart',
    shapes: [[2, 2, 3, 8]],
    build: ([a], g) => op.rotary(a!, indices(g, 'p', [0, 1, 2, 3, 4, 5], [2, 3]), g.initializer('cos', [6, 2], cos), g.initializer('sin', [6, 2], sin), { heads: 2, headSize: 8, rotaryDimensions: 4 }),
  },
]

const size = (shape: readonly number[]): number => shape.reduce((product, dim) => product * dim, 1)

/** loss = sum(build(inputs) * fixed random weights); returns the loss and its gradients. */
export function lossGraph(testCase: DerivativeCase): Graph {
  const graph = new Graph('case')
  const inputs = testCase.shapes.map((shape, index) => graph.input(`x${index}`, 'float32', shape))
  const y = testCase.build(inputs, graph)
  const weight = graph.initializer('weight', y.shape as number[], numbers(size(y.shape as number[]), 99))
  const loss = op.sumAll(op.mul(y, weight))
  graph.output('loss', loss)
  gradients([{ value: loss, gradient: graph.constant(1) }], inputs).forEach((gradient, index) => graph.output(`g${index}`, gradient))
  return graph
}

/** The numbers of a case's differentiated inputs, in its domain. */
export function caseValues({ shapes, domain = (x) => x }: DerivativeCase): Float32Array[] {
  return shapes.map((shape, index) => numbers(size(shape), 7 + index).map((x) => domain(x)))
}

export function caseFeeds(testCase: DerivativeCase, values: readonly Float32Array[]): Record<string, Feed> {
  return Object.fromEntries(values.map((data, index) => [`x${index}`, [data, testCase.shapes[index]!] as const]))
}
