// The operators a decoder, its loss and their derivatives need. Each checks types and shapes while building and appends one node.
// Shapes are in the docstrings; `...` stands for any leading dimensions.
import type { ElementType, Graph, Value } from './graph.ts'
import type { OperatorAttributes, OperatorName } from './operator-types.ts'
import {
  broadcastShapes,
  coefficientOf,
  elementCount,
  formatShape,
  normaliseAxis,
  sameDimension,
  sameShape,
  symbolsOf,
  type Dimension,
  type Shape,
} from './shape.ts'

/** Slice end that means: to the end. */
const END = 2 ** 31 - 1

/** A value or a number that becomes a shared float32 constant. */
export type Operand = Value | number

type Elementwise = 'Add' | 'Sub' | 'Mul' | 'Div' | 'Min' | 'Max'
type Unary = 'Neg' | 'Exp' | 'Log' | 'Sqrt' | 'Sigmoid' | 'Silu' | 'Abs' | 'Identity' | 'Detach'

function asValue(graph: Graph, operand: Operand): Value {
  return typeof operand === 'number' ? graph.constant(operand) : operand
}

function graphOf(a: Operand, b: Operand): Graph {
  if (typeof a !== 'number') return a.graph
  if (typeof b !== 'number') return b.graph
  throw new Error('an operator needs at least one value of a graph')
}

function one<Name extends OperatorName>(graph: Graph, operator: Name, inputs: readonly Value[], attributes: OperatorAttributes[Name], type: ElementType, shape: Shape): Value {
  return graph.append(operator, inputs, attributes, [{ type, shape }])[0] as Value
}

function demandType(value: Value, operator: string, ...types: ElementType[]): void {
  if (!types.includes(value.type)) throw value.graph.error(`${operator}: ${value.name} is ${value.type}, expected ${types.join(' or ')}`)
}

function demandRank(value: Value, operator: string, rank: number): void {
  if (value.shape.length !== rank) throw value.graph.error(`${operator}: ${value.name} has shape ${formatShape(value.shape)}, expected ${rank} dimensions`)
}

function axisOf(value: Value, operator: string, axis: number): number {
  const index = normaliseAxis(axis, value.shape.length)
  if (index === undefined) throw value.graph.error(`${operator}: axis ${axis} is outside ${value.name} of shape ${formatShape(value.shape)}`)
  return index
}

function binary(operator: Elementwise, a: Operand, b: Operand): Value {
  const graph = graphOf(a, b)
  const left = asValue(graph, a)
  const right = asValue(graph, b)
  if (left.type !== right.type) throw graph.error(`${operator}: ${left.name} is ${left.type} but ${right.name} is ${right.type}`)
  const shape = broadcastShapes(left.shape, right.shape)
  if (shape === undefined) {
    throw graph.error(`${operator}: ${left.name} ${formatShape(left.shape)} and ${right.name} ${formatShape(right.shape)} do not broadcast`)
  }
  return one(graph, operator, [left, right], {}, left.type, shape)
}

function unary(operator: Unary, x: Value): Value {
  if (operator !== 'Identity') demandType(x, operator, 'float32')
  return one(x.graph, operator, [x], {}, x.type, x.shape)
}

/** Elementwise with broadcasting: `[...], [...] -> [...]`. */
export const add = (a: Operand, b: Operand): Value => binary('Add', a, b)
export const sub = (a: Operand, b: Operand): Value => binary('Sub', a, b)
export const mul = (a: Operand, b: Operand): Value => binary('Mul', a, b)
export const div = (a: Operand, b: Operand): Value => binary('Div', a, b)
export const min = (a: Operand, b: Operand): Value => binary('Min', a, b)
export const max = (a: Operand, b: Operand): Value => binary('Max', a, b)

/** Elementwise: `[...] -> [...]`. */
export const neg = (x: Value): Value => unary('Neg', x)
export const exp = (x: Value): Value => unary('Exp', x)
export const log = (x: Value): Value => unary('Log', x)
export const sqrt = (x: Value): Value => unary('Sqrt', x)
export const sigmoid = (x: Value): Value => unary('Sigmoid', x)
/** x * sigmoid(x). */
export const silu = (x: Value): Value => unary('Silu', x)
export const abs = (x: Value): Value => unary('Abs', x)
export const identity = (x: Value): Value => unary('Identity', x)
/** The same numbers, a constant to the derivative. */
export const detach = (x: Value): Value => unary('Detach', x)

function compare(operator: 'Less' | 'LessOrEqual', a: Operand, b: Operand): Value {
  const graph = graphOf(a, b)
  const left = asValue(graph, a)
  const right = asValue(graph, b)
  const shape = broadcastShapes(left.shape, right.shape)
  if (shape === undefined || left.type !== right.type) {
    throw graph.error(`${operator}: ${left.name} ${left.type} ${formatShape(left.shape)} and ${right.name} ${right.type} ${formatShape(right.shape)} do not fit`)
  }
  return one(graph, operator, [left, right], {}, 'bool', shape)
}

export const less = (a: Operand, b: Operand): Value => compare('Less', a, b)
export const lessOrEqual = (a: Operand, b: Operand): Value => compare('LessOrEqual', a, b)

/** `condition [...], a [...], b [...] -> [...]`, broadcasting. */
export function where(condition: Value, a: Operand, b: Operand): Value {
  const graph = condition.graph
  demandType(condition, 'Where', 'bool')
  const left = asValue(graph, a)
  const right = asValue(graph, b)
  const both = broadcastShapes(left.shape, right.shape)
  const shape = both === undefined ? undefined : broadcastShapes(condition.shape, both)
  if (shape === undefined || left.type !== right.type) throw graph.error(`Where: ${left.name} and ${right.name} do not fit under ${condition.name}`)
  return one(graph, 'Where', [condition, left, right], {}, left.type, shape)
}

export function cast(x: Value, to: 'float32' | 'int32' | 'int64'): Value {
  return x.type === to ? x : one(x.graph, 'Cast', [x], { to }, to, x.shape)
}

/**
 * Matrix product, either side transposed in its last two dimensions, scaled: scale * A B + addend.
 * `[m, k] x [k, n] -> [m, n]`, or with equal leading dimensions on both sides. The addend, which broadcasts to the result, costs no
 * pass of its own; it is for matrices only.
 */
export function matMul(a: Value, b: Value, options: { readonly transposeA?: boolean; readonly transposeB?: boolean; readonly scale?: number; readonly addend?: Value } = {}): Value {
  const { transposeA = false, transposeB = false, scale = 1, addend } = options
  demandType(a, 'MatMul', 'float32')
  demandType(b, 'MatMul', 'float32')
  const rank = a.shape.length
  const leadingFits = rank >= 2 && rank === b.shape.length && sameShape(a.shape.slice(0, -2), b.shape.slice(0, -2))
  const [m, inner] = lastTwo(a.shape, transposeA)
  const [otherInner, n] = lastTwo(b.shape, transposeB)
  if (!leadingFits || !sameDimension(inner, otherInner)) {
    const sides = `${a.name} ${formatShape(a.shape)}${transposeA ? ' transposed' : ''} and ${b.name} ${formatShape(b.shape)}${transposeB ? ' transposed' : ''}`
    throw a.graph.error(`MatMul: ${sides} do not fit`)
  }
  const shape = [...a.shape.slice(0, -2), m, n]
  const broadcast = addend === undefined ? shape : broadcastShapes(addend.shape, shape)
  if (addend !== undefined && (rank !== 2 || broadcast === undefined || !sameShape(broadcast, shape))) {
    throw a.graph.error(`MatMul: the addend ${addend.name} ${formatShape(addend.shape)} does not fit ${formatShape(shape)}`)
  }
  return one(a.graph, 'MatMul', addend === undefined ? [a, b] : [a, b, addend], { transposeA, transposeB, scale }, 'float32', shape)
}

/**
 * Product with a matrix [out, in] held in blocks of `blockSize` inputs (com.microsoft.MatMulNBits): `x [m, in], packed uint8
 * [out, in/blockSize, blockSize*bits/8], scales [out * in/blockSize] -> [m, out]`. No derivative: training widens the matrix instead.
 */
export function quantizedMatMul(x: Value, packed: Value, scales: Value, options: OperatorAttributes['QuantizedMatMul']): Value {
  const { bits, blockSize, inSize, outSize } = options
  demandType(packed, 'QuantizedMatMul', 'uint8')
  demandType(scales, 'QuantizedMatMul', 'float32')
  demandRank(x, 'QuantizedMatMul', 2)
  const blocks = inSize / blockSize
  if (x.shape[1] !== inSize || !sameShape(packed.shape, [outSize, blocks, (blockSize * bits) / 8]) || !sameShape(scales.shape, [outSize * blocks])) {
    throw x.graph.error(`QuantizedMatMul: ${x.name} ${formatShape(x.shape)}, blocks ${formatShape(packed.shape)} and scales ${formatShape(scales.shape)} do not fit [${outSize}, ${inSize}] in ${bits} bits`)
  }
  return one(x.graph, 'QuantizedMatMul', [x, packed, scales], options, 'float32', [x.shape[0] as Dimension, outSize])
}

function lastTwo(shape: Shape, transposed: boolean): [Dimension, Dimension] {
  const [row, column] = [shape[shape.length - 2] ?? 1, shape[shape.length - 1] ?? 1]
  return transposed ? [column, row] : [row, column]
}

/** `[...] -> [...]`, one along `axis`. */
export function softmax(x: Value, axis: number): Value {
  demandType(x, 'Softmax', 'float32')
  return one(x.graph, 'Softmax', [x], { axis: axisOf(x, 'Softmax', axis) }, 'float32', x.shape)
}

function reduce(operator: 'ReduceSum' | 'ReduceMean' | 'ReduceLogSumExp', x: Value, axes: readonly number[], keepDimensions: boolean): Value {
  demandType(x, operator, 'float32')
  const normal = axes.map((axis) => axisOf(x, operator, axis)).sort((a, b) => a - b)
  const shape = x.shape.flatMap((dimension, index) => (normal.includes(index) ? (keepDimensions ? [1] : []) : [dimension]))
  return one(x.graph, operator, [x], { axes: normal, keepDimensions }, 'float32', shape)
}

export const reduceSum = (x: Value, axes: readonly number[], keepDimensions = false): Value => reduce('ReduceSum', x, axes, keepDimensions)
export const reduceMean = (x: Value, axes: readonly number[], keepDimensions = false): Value => reduce('ReduceMean', x, axes, keepDimensions)
export const reduceLogSumExp = (x: Value, axes: readonly number[], keepDimensions = false): Value => reduce('ReduceLogSumExp', x, axes, keepDimensions)

/** Sum of all elements: `[...] -> []`. */
export const sumAll = (x: Value): Value => reduceSum(x, x.shape.map((_, index) => index))

export function transpose(x: Value, permutation: readonly number[]): Value {
  const valid = permutation.length === x.shape.length && [...permutation].sort((a, b) => a - b).every((axis, index) => axis === index)
  if (!valid) throw x.graph.error(`Transpose: [${permutation.join(', ')}] is no permutation of ${x.name} ${formatShape(x.shape)}`)
  return one(x.graph, 'Transpose', [x], { permutation }, x.type, permutation.map((axis) => x.shape[axis] as Dimension))
}

/** Same elements in another shape; symbols of the target are read off the graph's inputs when the graph runs. */
export function reshape(x: Value, shape: Shape): Value {
  if (sameShape(x.shape, shape)) return x
  if (!sameDimension(elementCount(x.shape), elementCount(shape))) {
    throw x.graph.error(`Reshape: ${x.name} ${formatShape(x.shape)} cannot become ${formatShape(shape)}`)
  }
  return one(x.graph, 'Reshape', [x, shapeTensor(x.graph, shape, true)], {}, x.type, shape)
}

/** Repeats along dimensions of size 1: `[...] -> shape`. */
export function expand(x: Value, shape: Shape): Value {
  if (sameShape(x.shape, shape)) return x
  const result = broadcastShapes(x.shape, shape)
  if (result === undefined || !sameShape(result, shape)) throw x.graph.error(`Expand: ${x.name} ${formatShape(x.shape)} cannot become ${formatShape(shape)}`)
  return one(x.graph, 'Expand', [x, shapeTensor(x.graph, shape, false)], {}, x.type, shape)
}

/** A float32 tensor of one repeated number. */
export function full(graph: Graph, shape: Shape, fill: number): Value {
  return one(graph, 'ConstantOfShape', [shapeTensor(graph, shape, false)], { fill }, 'float32', shape)
}

/**
 * The run-time shape as an int64 vector. A reshape may leave one symbolic dimension to be inferred (-1), which spares
 * the nodes that would compute it.
 */
function shapeTensor(graph: Graph, shape: Shape, inferOne: boolean): Value {
  const symbolic = shape.filter((dimension) => typeof dimension === 'string')
  if (symbolic.length === 0) return graph.constant(shape as readonly number[])
  const inferred = inferOne ? shape.findIndex((dimension) => typeof dimension === 'string' && dimension.includes('*')) : -1
  const left = inferOne && inferred < 0 ? shape.findIndex((dimension) => typeof dimension === 'string') : inferred
  const parts = shape.map((dimension, index) => {
    if (typeof dimension === 'number') return graph.constant([dimension])
    return index === left ? graph.constant([-1]) : dimensionValue(graph, dimension)
  })
  if (symbolic.length === 1 && left >= 0) return graph.constant(shape.map((dimension, index) => (index === left ? -1 : (dimension as number))))
  return parts.length === 1 ? (parts[0] as Value) : one(graph, 'Concat', parts, { axis: 0 }, 'int64', [shape.length])
}

function dimensionValue(graph: Graph, dimension: Dimension): Value {
  const factors = symbolsOf(dimension).map((symbol) => graph.dimension(symbol))
  const coefficient = coefficientOf(dimension)
  const product = coefficient === 1 ? factors : [graph.constant([coefficient]), ...factors]
  return product.reduce((a, b) => one(graph, 'Mul', [a, b], {}, 'int64', [1]))
}

export function concat(values: readonly Value[], axis: number): Value {
  const first = values[0]
  if (first === undefined) throw new Error('Concat needs at least one value')
  const index = axisOf(first, 'Concat', axis)
  let size = 0
  for (const value of values) {
    const extent = value.shape[index]
    const othersFit = value.shape.length === first.shape.length && value.shape.every((dimension, at) => at === index || sameDimension(dimension, first.shape[at] as Dimension))
    if (typeof extent !== 'number' || !othersFit || value.type !== first.type) {
      throw first.graph.error(`Concat: ${value.name} ${formatShape(value.shape)} does not fit ${first.name} ${formatShape(first.shape)} along axis ${index} (sizes along it must be numbers)`)
    }
    size += extent
  }
  return one(first.graph, 'Concat', values, { axis: index }, first.type, first.shape.map((dimension, at) => (at === index ? size : dimension)))
}

/** `a` followed by `b` along `axis`; `size` names the new dimension, which no product of symbols can express. */
export function concatNamed(a: Value, b: Value, axis: number, size: string): Value {
  const index = axisOf(a, 'Concat', axis)
  const fits = a.type === b.type && a.shape.length === b.shape.length && a.shape.every((dimension, at) => at === index || sameDimension(dimension, b.shape[at] as Dimension))
  if (!fits) throw a.graph.error(`Concat: ${b.name} ${formatShape(b.shape)} does not fit ${a.name} ${formatShape(a.shape)} along axis ${index}`)
  return one(a.graph, 'Concat', [a, b], { axis: index }, a.type, a.shape.map((dimension, at) => (at === index ? size : dimension)))
}

/** Undoes `concatNamed` with a `b` of size 1: everything but the last element along `axis` (of size `size`), and the last. */
export function splitLast(x: Value, axis: number, size: Dimension): { readonly rest: Value; readonly last: Value } {
  const index = axisOf(x, 'Slice', axis)
  const cut = (start: number, end: number, extent: Dimension): Value =>
    one(x.graph, 'Slice', [x], { axis: index, start, end }, x.type, x.shape.map((dimension, at) => (at === index ? extent : dimension)))
  return { rest: cut(0, -1, size), last: cut(-1, END, 1) }
}

/** Elements `start..end` (end exclusive) along `axis`, whose size is a number. */
export function slice(x: Value, axis: number, start: number, end: number): Value {
  const index = axisOf(x, 'Slice', axis)
  const extent = x.shape[index]
  if (typeof extent !== 'number' || start < 0 || end > extent || start >= end) {
    throw x.graph.error(`Slice: ${start}..${end} is outside axis ${index} of ${x.name} ${formatShape(x.shape)}`)
  }
  return one(x.graph, 'Slice', [x], { axis: index, start, end }, x.type, x.shape.map((dimension, at) => (at === index ? end - start : dimension)))
}

/** Rows of a table: `table [rows, ...], indices int32/int64 [...i] -> [...i, ...]`. */
export function gather(table: Value, indices: Value): Value {
  demandType(indices, 'Gather', 'int32', 'int64')
  return one(table.graph, 'Gather', [table, indices], { axis: 0 }, table.type, [...indices.shape, ...table.shape.slice(1)])
}

/** Along the last axis: `x [m, n], indices int64 [m, j] -> [m, j]`. */
export function gatherElements(x: Value, indices: Value): Value {
  demandType(indices, 'GatherElements', 'int64')
  demandRank(x, 'GatherElements', 2)
  demandRank(indices, 'GatherElements', 2)
  return one(x.graph, 'GatherElements', [x, indices], { axis: 1 }, x.type, indices.shape)
}

/** Adds along the last axis: `base [m, n], indices int64 [m, j], updates [m, j] -> [m, n]`. */
export function scatterElements(base: Value, indices: Value, updates: Value): Value {
  demandType(indices, 'ScatterElements', 'int64')
  if (!sameShape(indices.shape, updates.shape) || base.shape.length !== 2) throw base.graph.error(`ScatterElements: ${updates.name} ${formatShape(updates.shape)} does not fit ${indices.name} ${formatShape(indices.shape)}`)
  return one(base.graph, 'ScatterElements', [base, indices, updates], { axis: 1 }, base.type, base.shape)
}

/** Adds rows: `base [rows, n], indices int64 [m, 1], updates [m, n] -> [rows, n]`; equal indices add up. */
export function scatterRows(base: Value, indices: Value, updates: Value): Value {
  demandType(indices, 'ScatterRows', 'int64')
  demandRank(indices, 'ScatterRows', 2)
  const expected = [indices.shape[0] as Dimension, ...base.shape.slice(1)]
  if (!sameShape(updates.shape, expected)) throw base.graph.error(`ScatterRows: updates ${formatShape(updates.shape)} should be ${formatShape(expected)}`)
  return one(base.graph, 'ScatterRows', [base, indices, updates], {}, base.type, base.shape)
}

/** `x [..., d], weight [d] -> y [..., d], inverseRms [..., 1]`: y = x * inverseRms * weight, inverseRms = 1/sqrt(mean(x^2) + epsilon). */
export function rmsNormalization(x: Value, weight: Value, epsilon: number): { readonly y: Value; readonly inverseRms: Value } {
  const width = x.shape[x.shape.length - 1] as Dimension
  demandRank(weight, 'RmsNormalization', 1)
  if (!sameDimension(width, weight.shape[0] as Dimension)) throw x.graph.error(`RmsNormalization: weight ${formatShape(weight.shape)} does not fit ${x.name} ${formatShape(x.shape)}`)
  const [y, inverseRms] = x.graph.append('RmsNormalization', [x, weight], { epsilon }, [
    { type: 'float32', shape: x.shape },
    { type: 'float32', shape: [...x.shape.slice(0, -1), 1] },
  ])
  return { y: y as Value, inverseRms: inverseRms as Value }
}

export interface RotaryOptions {
  readonly heads: number
  readonly headSize: number
  /** Leading dimensions of a head that are rotated; the rest pass through. */
  readonly rotaryDimensions: number
}

/**
 * Rotate-half rotary embedding: `x [b, t, heads*headSize] or [b, heads, t, headSize], positions int64 [b, t], cos and sin [positions, rotary/2]
 * -> x's shape`. `inverse` turns the other way, which is the derivative.
 */
export function rotary(x: Value, positions: Value, cos: Value, sin: Value, options: RotaryOptions, inverse = false): Value {
  demandType(positions, 'Rotary', 'int64')
  const { heads, headSize, rotaryDimensions } = options
  const [b, t] = [x.shape[0] as Dimension, x.shape[x.shape.length === 4 ? 2 : 1] as Dimension]
  if (!sameShape(x.shape, [b, t, heads * headSize]) && !sameShape(x.shape, [b, heads, t, headSize])) {
    throw x.graph.error(`Rotary: ${x.name} ${formatShape(x.shape)} has not ${heads} heads of ${headSize}`)
  }
  if (cos.shape[1] !== rotaryDimensions / 2) throw x.graph.error(`Rotary: the table ${formatShape(cos.shape)} does not fit ${rotaryDimensions} rotated dimensions`)
  const table = inverse ? neg(sin) : sin
  return one(x.graph, 'Rotary', [x, positions, cos, table], { heads, headSize, rotaryDimensions, inverse }, 'float32', x.shape)
}

/**
 * Causal attention with a key/value cache (com.microsoft.GroupQueryAttention, keys rotated before).
 * query [b, t, heads*d], key and value [b, t, kvHeads*d], past [b, kvHeads, S, d], lastIndex int32 [b] (index of each row's last valid
 * position), total int32 [] (longest row). Returns the attended values and the caches, in the past's capacity S. No derivative.
 */
export function groupQueryAttention(
  inputs: { readonly query: Value; readonly key: Value; readonly value: Value; readonly pastKey: Value; readonly pastValue: Value; readonly lastIndex: Value; readonly total: Value },
  options: { readonly heads: number; readonly kvHeads: number; readonly headSize: number; readonly scale: number },
): { readonly attended: Value; readonly presentKey: Value; readonly presentValue: Value } {
  const { query, key, value, pastKey, pastValue, lastIndex, total } = inputs
  demandRank(query, 'GroupQueryAttention', 3)
  demandRank(pastKey, 'GroupQueryAttention', 4)
  demandType(lastIndex, 'GroupQueryAttention', 'int32')
  const [attended, presentKey, presentValue] = query.graph.append('GroupQueryAttention', [query, key, value, pastKey, pastValue, lastIndex, total], options, [
    { type: 'float32', shape: query.shape },
    { type: 'float32', shape: pastKey.shape },
    { type: 'float32', shape: pastValue.shape },
  ])
  return { attended: attended as Value, presentKey: presentKey as Value, presentValue: presentValue as Value }
}
