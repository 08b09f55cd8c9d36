// The graph under construction: values, nodes, scopes, shared constants.
// Operators (operators.ts) append nodes; gradient.ts appends the backward pass; onnx.ts writes the result.
import { formatShape, multiplyDimensions, type Shape } from './shape.ts'
import type { OperatorAttributes, OperatorName } from './operator-types.ts'

export type ElementType = 'float32' | 'int32' | 'int64' | 'uint8' | 'bool'

/** A tensor in the graph. Its name is a path such as /model/layers.0/attention/q_proj/MatMul. */
export interface Value {
  readonly graph: Graph
  readonly name: string
  readonly type: ElementType
  readonly shape: Shape
}

export interface GraphNode<Name extends OperatorName = OperatorName> {
  readonly operator: Name
  readonly name: string
  readonly inputs: readonly (Value | undefined)[]
  readonly outputs: readonly Value[]
  readonly attributes: OperatorAttributes[Name]
}

export type InitializerData = Float32Array | Int32Array | BigInt64Array | Uint8Array

export interface Initializer {
  readonly value: Value
  readonly data: InitializerData
}

/** Thrown while building: names the scope, so that the faulty line of a model file is found at once. */
export class GraphError extends Error {
  constructor(scope: string, message: string) {
    super(`${scope === '' ? '/' : scope}: ${message}`)
    this.name = 'GraphError'
  }
}

export class Graph {
  readonly nodes: GraphNode[] = []
  readonly inputs: Value[] = []
  readonly outputs: { readonly name: string; readonly value: Value }[] = []
  readonly initializers: Initializer[] = []
  private readonly constants = new Map<string, Value>()
  private readonly dimensions = new Map<string, Value>()
  private readonly names = new Map<string, number>()
  private scopes: string[] = []
  readonly name: string

  constructor(name: string) {
    this.name = name
  }

  /** Path of the scope being built, '' at the top. */
  get scope(): string {
    return this.scopes.map((part) => `/${part}`).join('')
  }

  /** Names everything built inside `build` below `part`. */
  within<Result>(part: string, build: () => Result): Result {
    this.scopes.push(part)
    try {
      return build()
    } finally {
      this.scopes.pop()
    }
  }

  input(name: string, type: ElementType, shape: Shape): Value {
    if (this.inputs.some((input) => input.name === name)) throw this.error(`input ${name} exists already`)
    const value = this.value(this.claim(name), type, shape)
    this.inputs.push(value)
    return value
  }

  /** A named weight kept inside the graph. `data` is not copied. */
  initializer(name: string, shape: readonly number[], data: InitializerData): Value {
    const count = shape.reduce((product, size) => product * size, 1)
    if (data.length !== count) throw this.error(`initializer ${name} has ${data.length} elements, its shape ${formatShape(shape)} needs ${count}`)
    const value = this.value(this.claim(name), elementTypeOf(data), shape)
    this.initializers.push({ value, data })
    return value
  }

  output(name: string, value: Value): void {
    if (value.graph !== this) throw this.error(`output ${name} belongs to another graph (${value.graph.name})`)
    if (this.outputs.some((output) => output.name === name) || this.names.has(name)) throw this.error(`output ${name}: the name is taken`)
    this.claim(name)
    this.outputs.push({ name, value })
  }

  /** A shared float32 scalar, or an int64 vector; equal constants are one initializer named by its value. */
  constant(content: number | readonly number[]): Value {
    const key = typeof content === 'number' ? `float32 ${content}` : `int64 ${content.join(' ')}`
    const known = this.constants.get(key)
    if (known !== undefined) return known
    const name = `/constants/${key.replaceAll(' ', '_')}`
    const value =
      typeof content === 'number'
        ? this.initializer(name, [], Float32Array.of(content))
        : this.initializer(name, [content.length], BigInt64Array.from(content, (item) => BigInt(item)))
    this.constants.set(key, value)
    return value
  }

  /** The run-time size of a symbol as an int64 vector of one element, read off the first input that has it as a plain dimension. */
  dimension(symbol: string): Value {
    const known = this.dimensions.get(symbol)
    if (known !== undefined) return known
    for (const input of this.inputs) {
      const axis = input.shape.indexOf(symbol)
      if (axis < 0) continue
      const scopes = this.scopes
      this.scopes = ['dimensions', symbol]
      const size = this.append('Shape', [input], { start: axis, end: axis + 1 }, [{ type: 'int64', shape: [1] }])[0] as Value
      this.scopes = scopes
      this.dimensions.set(symbol, size)
      return size
    }
    throw this.error(`no input has ${symbol} as a dimension of its own, so its size cannot be known when the graph runs`)
  }

  /** Appends one node; operators call this after checking types and shapes. */
  append<Name extends OperatorName>(
    operator: Name,
    inputs: readonly (Value | undefined)[],
    attributes: OperatorAttributes[Name],
    outputs: readonly { readonly type: ElementType; readonly shape: Shape }[],
  ): readonly Value[] {
    for (const input of inputs) {
      if (input !== undefined && input.graph !== this) throw this.error(`${operator}: input ${input.name} belongs to another graph (${input.graph.name})`)
    }
    const name = this.claim(`${this.scope}/${operator}`)
    const values = outputs.map((output, index) => this.value(index === 0 ? name : this.claim(`${name}/output_${index}`), output.type, output.shape))
    this.nodes.push({ operator, name, inputs, outputs: values, attributes })
    return values
  }

  error(message: string): GraphError {
    return new GraphError(this.scope, message)
  }

  private value(name: string, type: ElementType, shape: Shape): Value {
    for (const dimension of shape) {
      if (typeof dimension === 'number' && !(Number.isInteger(dimension) && dimension >= 0)) throw this.error(`${name}: ${dimension} is no dimension`)
    }
    return { graph: this, name, type, shape: shape.map((dimension) => multiplyDimensions(dimension)) }
  }

  private claim(name: string): string {
    const uses = this.names.get(name) ?? 0
    this.names.set(name, uses + 1)
    return uses === 0 ? name : this.claim(`${name}_${uses}`)
  }
}

export function elementTypeOf(data: InitializerData): ElementType {
  if (data instanceof Float32Array) return 'float32'
  if (data instanceof Uint8Array) return 'uint8'
  return data instanceof Int32Array ? 'int32' : 'int64'
}
