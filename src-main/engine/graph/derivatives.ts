// The whole of automatic differentiation is this table: for each operator, the gradients of its inputs given the gradients of its outputs.
// A missing entry is an operator without a derivative; gradient.ts names it. Inputs that are no floats have none (undefined).
import type { GraphNode, Value } from './graph.ts'
import type { OperatorName } from './operator-types.ts'
import * as op from './operators.ts'
import { multiplyDimensions, sameDimension, type Dimension, type Shape } from './shape.ts'

/** Gradients of a node's inputs, in their order. */
export type InputGradients = readonly (Value | undefined)[]
export type Derivative<Name extends OperatorName> = (node: GraphNode<Name>, gradient: Value, inputs: readonly Value[]) => InputGradients

type DerivativeTable = { readonly [Name in OperatorName]?: Derivative<Name> }

/** Sums a gradient over the dimensions along which its operand was broadcast. */
export function unbroadcast(gradient: Value, shape: Shape): Value {
  const extra = gradient.shape.length - shape.length
  const axes = gradient.shape.flatMap((dimension, index) => {
    const own = index < extra ? undefined : (shape[index - extra] as Dimension)
    return own === undefined || (own === 1 && !sameDimension(dimension, 1)) ? [index] : []
  })
  return axes.length === 0 ? gradient : op.reshape(op.reduceSum(gradient, axes, true), shape)
}

function pair(inputs: readonly Value[]): [Value, Value] {
  return [inputs[0] as Value, inputs[1] as Value]
}

/** Brings a reduced gradient back to the shape it had before the axes were dropped, with ones in their place. */
function keepAxes(gradient: Value, full: Shape, axes: readonly number[]): Value {
  return op.reshape(gradient, full.map((dimension, index) => (axes.includes(index) ? 1 : dimension)))
}

const out = (node: GraphNode, index = 0): Value => node.outputs[index] as Value

/** d of a matrix product C = scale * A B, with either side transposed: four cases written as two choices. */
const matMulDerivative: Derivative<'MatMul'> = (node, g, inputs) => {
  const [a, b] = pair(inputs)
  const { transposeA, transposeB, scale } = node.attributes
  const gradientA = transposeA
    ? op.matMul(b, g, { transposeA: transposeB, transposeB: true, scale })
    : op.matMul(g, b, { transposeB: !transposeB, scale })
  const gradientB = transposeB
    ? op.matMul(g, a, { transposeA: true, transposeB: transposeA, scale })
    : op.matMul(a, g, { transposeA: !transposeA, scale })
  const addend = inputs[2]
  return addend === undefined ? [gradientA, gradientB] : [gradientA, gradientB, unbroadcast(g, addend.shape)]
}

/**
 * y = x r w with r = 1/rms(x) a row:  dx = r (g w) - x r^3 mean(g w x),  dw = sum over rows of r (g x).
 * Written over gx = g x: both sums over gx are thin matrix products, which read it once each and write next to nothing.
 */
const rmsNormalizationDerivative: Derivative<'RmsNormalization'> = (node, g, inputs) => {
  const [x, weight] = pair(inputs)
  const width = weight.shape[0] as number
  const rows = multiplyDimensions(...x.shape.slice(0, -1))
  const r = op.reshape(out(node, 1), [rows, 1])
  const flatX = op.reshape(x, [rows, width])
  const flatG = op.reshape(g, [rows, width])
  const gx = op.mul(flatG, flatX)
  const projection = op.matMul(gx, op.reshape(weight, [width, 1]), { scale: 1 / width })
  const inner = op.mul(flatX, op.mul(op.mul(r, r), projection))
  const gradientX = op.mul(r, op.sub(op.mul(flatG, weight), inner))
  return [op.reshape(gradientX, x.shape), op.reshape(op.matMul(r, gx, { transposeA: true }), weight.shape)]
}

/** y = x s(x):  dx = g (y + s (1 - y)). */
const siluDerivative: Derivative<'Silu'> = (node, g, inputs) => {
  const y = out(node)
  const s = op.sigmoid(inputs[0] as Value)
  return [op.mul(g, op.add(y, op.mul(s, op.sub(1, y))))]
}

export const derivatives: DerivativeTable = {
  Add: (_, g, inputs) => pair(inputs).map((input) => unbroadcast(g, input.shape)),
  Sub: (_, g, [a, b]) => [unbroadcast(g, a!.shape), unbroadcast(op.neg(g), b!.shape)],
  Mul: (_, g, [a, b]) => [unbroadcast(op.mul(g, b!), a!.shape), unbroadcast(op.mul(g, a!), b!.shape)],
  Div: (node, g, [a, b]) => [unbroadcast(op.div(g, b!), a!.shape), unbroadcast(op.neg(op.div(op.mul(g, out(node)), b!)), b!.shape)],
  Neg: (_, g) => [op.neg(g)],
  Exp: (node, g) => [op.mul(g, out(node))],
  Log: (_, g, [x]) => [op.div(g, x!)],
  Sqrt: (node, g) => [op.div(op.mul(g, 0.5), out(node))],
  Sigmoid: (node, g) => [op.mul(g, op.mul(out(node), op.sub(1, out(node))))],
  Silu: siluDerivative,
  Abs: (_, g, [x]) => [op.where(op.less(x!, 0), op.neg(g), g)],
  // At a tie the gradient goes to the first operand, as a subgradient may.
  Min: (_, g, [a, b]) => [unbroadcast(op.where(op.lessOrEqual(a!, b!), g, 0), a!.shape), unbroadcast(op.where(op.lessOrEqual(a!, b!), 0, g), b!.shape)],
  Max: (_, g, [a, b]) => [unbroadcast(op.where(op.less(a!, b!), 0, g), a!.shape), unbroadcast(op.where(op.less(a!, b!), g, 0), b!.shape)],
  Where: (_, g, [condition, a, b]) => [undefined, unbroadcast(op.where(condition!, g, 0), a!.shape), unbroadcast(op.where(condition!, 0, g), b!.shape)],
  Identity: (_, g) => [g],
  Detach: () => [undefined],
  MatMul: matMulDerivative,
  Softmax: (node, g) => {
    const weighted = op.mul(g, out(node))
    return [op.sub(weighted, op.mul(out(node), op.reduceSum(weighted, [node.attributes.axis], true)))]
  },
  ReduceSum: (node, g, [x]) => [op.expand(keepAxes(g, x!.shape, node.attributes.axes), x!.shape)],
  ReduceMean: (node, g, [x]) => {
    const count = node.attributes.axes.map((axis) => x!.shape[axis] as Dimension)
    if (!count.every((size) => typeof size === 'number')) throw g.graph.error(`ReduceMean over ${count.join(', ')}: the mean over a symbolic dimension has no derivative here; sum and divide instead`)
    const share = op.mul(keepAxes(g, x!.shape, node.attributes.axes), 1 / count.reduce((product, size) => product * size, 1))
    return [op.expand(share, x!.shape)]
  },
  ReduceLogSumExp: (node, g, [x]) => {
    const kept = (value: Value): Value => keepAxes(value, x!.shape, node.attributes.axes)
    return [op.mul(kept(g), op.exp(op.sub(x!, kept(out(node)))))]
  },
  Transpose: (node, g) => [op.transpose(g, node.attributes.permutation.map((_, axis) => node.attributes.permutation.indexOf(axis)))],
  Reshape: (_, g, [x]) => [op.reshape(g, x!.shape), undefined],
  Expand: (_, g, [x]) => [unbroadcast(g, x!.shape), undefined],
  Concat: (node, g, inputs) => {
    let start = 0
    return inputs.map((input) => {
      const end = start + (input.shape[node.attributes.axis] as number)
      const part = op.slice(g, node.attributes.axis, start, end)
      start = end
      return part
    })
  },
  Slice: (node, g, [x]) => {
    const { axis, start, end } = node.attributes
    const size = x!.shape[axis] as number
    const zeros = (length: number): Value[] => (length === 0 ? [] : [op.full(g.graph, x!.shape.map((dimension, at) => (at === axis ? length : dimension)), 0)])
    return [op.concat([...zeros(start), g, ...zeros(size - end)], axis)]
  },
  Gather: (_, g, [table, indices]) => {
    const rows = indices!.shape.reduce<Dimension>((product, size) => multiplyDimensions(product, size), 1)
    const flat = op.reshape(op.cast(indices!, 'int64'), [rows, 1])
    return [op.scatterRows(op.full(g.graph, table!.shape, 0), flat, op.reshape(g, [rows, ...table!.shape.slice(1)])), undefined]
  },
  GatherElements: (_, g, [x, indices]) => [op.scatterElements(op.full(g.graph, x!.shape, 0), indices!, g), undefined],
  ScatterElements: (_, g, [, indices]) => [g, undefined, op.gatherElements(g, indices!)],
  RmsNormalization: rmsNormalizationDerivative,
  Rotary: (node, g, [, positions, cos, sin]) => {
    const { heads, headSize, rotaryDimensions, inverse } = node.attributes
    if (inverse) throw g.graph.error('Rotary: the second derivative is not written')
    return [op.rotary(g, positions!, cos!, sin!, { heads, headSize, rotaryDimensions }, true), undefined, undefined, undefined]
  },
}

