// Writes a graph as an ONNX model, lowering the builder's operators to what the target device has real kernels for.
// Only nodes that an output needs are written, so a backward pass leaves nothing behind for frozen weights.
import { elementTypeOf, type ElementType, type Graph, type GraphNode, type InitializerData, type Value } from './graph.ts'
import { encodeModel } from './onnx-schema.ts'
import type { Dimension } from './shape.ts'

/** Devices differ in their kernels: FusedMatMul exists on the CPU only, and the second output of RMSNorm is of use there only. */
export type GraphTarget = 'cpu' | 'webgpu'

export const elementTypes: Readonly<Record<ElementType, number>> = { float32: 1, uint8: 2, int32: 6, int64: 7, bool: 9 }
const microsoft = 'com.microsoft'

type AttributeValue = { readonly int: number } | { readonly float: number } | { readonly ints: readonly number[] } | { readonly text: string } | { readonly tensor: number }

export interface OnnxNode {
  readonly type: string
  readonly domain?: string
  readonly inputs: readonly string[]
  readonly outputs: readonly string[]
  readonly attributes?: Readonly<Record<string, AttributeValue>>
}

/** A plain object of TensorProto's shape. */
export type TensorProto = Readonly<Record<string, unknown>>

/** The nodes and constants a lowering adds. */
interface Emission {
  readonly nodes: OnnxNode[]
  ints(values: readonly number[]): string
  scalar(value: number): string
}

/** A model and the data of its large initializers, which it names by `path`. */
export interface OnnxParts {
  readonly model: Uint8Array
  readonly beside: readonly { readonly path: string; readonly data: Uint8Array }[]
}

/** Serialised ModelProto (IR 10, opset 21), whole. */
export function writeOnnx(graph: Graph, target: GraphTarget): Uint8Array {
  return writeOnnxParts(graph, target, Infinity).model
}

/**
 * The same with initializers of `besideFrom` bytes and more handed over beside the model, as a protobuf message may not exceed 2 GiB. Their
 * data is not copied.
 */
export function writeOnnxParts(graph: Graph, target: GraphTarget, besideFrom: number): OnnxParts {
  const { nodes, constants } = lowerGraph(graph, target)
  const used = new Set(nodes.flatMap((node) => node.inputs))
  const beside: { path: string; data: Uint8Array }[] = []
  const initializers = graph.initializers.filter(({ value }) => used.has(value.name)).map(({ value, data }) => {
    const proto = tensorProto(value.name, value.shape as readonly number[], data)
    if (data.byteLength < besideFrom) return proto
    const path = `weight_${beside.length}`
    beside.push({ path, data: proto['rawData'] as Uint8Array })
    const { rawData: _rawData, ...described } = proto
    return { ...described, dataLocation: 1, externalData: [{ key: 'location', value: path }] }
  })
  return { model: encodeGraph(graph, nodes, [...initializers, ...constants], graph.inputs.filter((input) => used.has(input.name))), beside }
}

/** What a graph needs, lowered: nodes in execution order and the constants they use. */
export function lowerGraph(graph: Graph, target: GraphTarget): { readonly nodes: readonly OnnxNode[]; readonly constants: readonly TensorProto[] } {
  const constants = new Map<string, TensorProto>()
  const emission: Emission = {
    nodes: [],
    ints(values) {
      const name = `/constants/axes_${values.join('_')}`
      constants.set(name, tensorProto(name, [values.length], BigInt64Array.from(values, (value) => BigInt(value))))
      return name
    },
    scalar(value) {
      const name = `/constants/scale_${value}`
      constants.set(name, tensorProto(name, [], Float32Array.of(value)))
      return name
    },
  }
  for (const node of liveNodes(graph)) lower(node, target, emission)
  return { nodes: withOutputs(emission.nodes, graph), constants: [...constants.values()] }
}

/**
 * Lets the nodes that make the graph's outputs write them under their own names: a cache can then be its own output. An Identity makes
 * those that are inputs or weights as they are, or another output too.
 */
function withOutputs(nodes: readonly OnnxNode[], graph: Graph): OnnxNode[] {
  const made = new Set(nodes.flatMap(({ outputs }) => outputs))
  const names = new Map<string, string>()
  const copies: OnnxNode[] = []
  for (const { name, value } of graph.outputs) {
    if (made.has(value.name) && !names.has(value.name)) names.set(value.name, name)
    else copies.push({ type: 'Identity', inputs: [names.get(value.name) ?? value.name], outputs: [name] })
  }
  const rename = (name: string): string => names.get(name) ?? name
  return [...nodes.map((node) => ({ ...node, inputs: node.inputs.map(rename), outputs: node.outputs.map(rename) })), ...copies]
}

/** Serialised ModelProto (IR 10, opset 21) of lowered nodes. */
export function encodeGraph(graph: Graph, nodes: readonly OnnxNode[], initializers: readonly TensorProto[], inputs: readonly Value[]): Uint8Array {
  return encodeModel({
    irVersion: 10,
    producerName: 'satchel',
    opsetImport: [
      { domain: '', version: 21 },
      { domain: microsoft, version: 1 },
    ],
    graph: {
      name: graph.name,
      node: nodes.map(nodeProto),
      initializer: initializers,
      input: inputs.map((input) => valueInfo(input.name, input)),
      output: graph.outputs.map(({ name, value }) => valueInfo(name, value)),
    },
  })
}

/** Inputs that some output depends on, in their order; the others are left out of the written model. */
export function liveInputs(graph: Graph): readonly Value[] {
  const used = new Set<Value | undefined>([...liveNodes(graph).flatMap((node) => node.inputs), ...graph.outputs.map(({ value }) => value)])
  return graph.inputs.filter((input) => used.has(input))
}

/** Nodes some output depends on, in execution order. */
export function liveNodes(graph: Graph): GraphNode[] {
  const needed = new Set<Value>(graph.outputs.map(({ value }) => value))
  const live: GraphNode[] = []
  for (const node of graph.nodes.slice().reverse()) {
    if (!node.outputs.some((output) => needed.has(output))) continue
    live.push(node)
    for (const input of node.inputs) if (input !== undefined) needed.add(input)
  }
  return live.reverse()
}

function lower(node: GraphNode, target: GraphTarget, emission: Emission): void {
  const inputs = node.inputs.map((input) => input?.name ?? '')
  const outputs = node.outputs.map((output) => output.name)
  const emit = (type: string, attributes: Readonly<Record<string, AttributeValue>> = {}, more: readonly string[] = [], domain?: string): void => {
    emission.nodes.push({ type, inputs: [...inputs, ...more], outputs, attributes, ...(domain === undefined ? {} : { domain }) })
  }
  switch (node.operator) {
    case 'MatMul':
      return lowerMatMul(node as GraphNode<'MatMul'>, target, emission)
    case 'RmsNormalization':
      return lowerRms(node as GraphNode<'RmsNormalization'>, target, emission)
    case 'Rotary': {
      const { heads, headSize, rotaryDimensions } = (node as GraphNode<'Rotary'>).attributes
      const partial = rotaryDimensions === headSize ? 0 : rotaryDimensions
      return emit('RotaryEmbedding', { interleaved: { int: 0 }, num_heads: { int: heads }, rotary_embedding_dim: { int: partial } }, [], microsoft)
    }
    case 'GroupQueryAttention': {
      const { heads, kvHeads, scale } = (node as GraphNode<'GroupQueryAttention'>).attributes
      return emit('GroupQueryAttention', { num_heads: { int: heads }, kv_num_heads: { int: kvHeads }, scale: { float: scale }, do_rotary: { int: 0 } }, [], microsoft)
    }
    case 'QuantizedMatMul': {
      const { bits, blockSize, inSize, outSize } = (node as GraphNode<'QuantizedMatMul'>).attributes
      // Accuracy level 1: float32 activations and sums. Level 4 would round the activations to 8 bits, and the sampler would no longer be the policy.
      return emit('MatMulNBits', { K: { int: inSize }, N: { int: outSize }, bits: { int: bits }, block_size: { int: blockSize }, accuracy_level: { int: 1 } }, [], microsoft)
    }
    case 'ReduceSum':
    case 'ReduceMean':
    case 'ReduceLogSumExp': {
      const { axes, keepDimensions } = (node as GraphNode<'ReduceSum'>).attributes
      return emit(node.operator, { keepdims: { int: keepDimensions ? 1 : 0 } }, [emission.ints(axes)])
    }
    case 'Slice': {
      const { axis, start, end } = (node as GraphNode<'Slice'>).attributes
      return emit('Slice', {}, [emission.ints([start]), emission.ints([end]), emission.ints([axis])])
    }
    case 'Softmax':
    case 'Concat':
    case 'Gather':
    case 'GatherElements':
      return emit(node.operator, { axis: { int: (node as GraphNode<'Softmax'>).attributes.axis } })
    case 'ScatterElements':
      return emit('ScatterElements', { axis: { int: (node as GraphNode<'ScatterElements'>).attributes.axis }, reduction: { text: 'add' } })
    case 'ScatterRows':
      return emit('ScatterND', { reduction: { text: 'add' } })
    case 'Transpose':
      return emit('Transpose', { perm: { ints: (node as GraphNode<'Transpose'>).attributes.permutation } })
    case 'Cast':
      return emit('Cast', { to: { int: elementTypes[(node as GraphNode<'Cast'>).attributes.to] } })
    case 'Shape': {
      const { start, end } = (node as GraphNode<'Shape'>).attributes
      return emit('Shape', { start: { int: start }, end: { int: end } })
    }
    case 'ConstantOfShape':
      return emit('ConstantOfShape', { value: { tensor: (node as GraphNode<'ConstantOfShape'>).attributes.fill } })
    case 'Silu':
      return emit('QuickGelu', { alpha: { float: 1 } }, [], microsoft)
    case 'Add':
    case 'Sub':
    case 'Mul':
    case 'Div':
    case 'Neg':
    case 'Exp':
    case 'Log':
    case 'Sqrt':
    case 'Sigmoid':
    case 'Abs':
    case 'Min':
    case 'Max':
    case 'Where':
    case 'Less':
    case 'LessOrEqual':
    case 'Identity':
    case 'Reshape':
    case 'Expand':
      return emit(node.operator)
    case 'Detach':
      return emit('Identity')
    default:
      return node.operator satisfies never
  }
}

/** [m, k] x [k, n] goes to Gemm, which transposes and scales for free; batches go to FusedMatMul on the CPU and to Transpose + MatMul elsewhere. */
function lowerMatMul(node: GraphNode<'MatMul'>, target: GraphTarget, emission: Emission): void {
  const { transposeA, transposeB, scale } = node.attributes
  const [a, b, addend] = node.inputs as readonly [Value, Value, Value | undefined]
  const output = (node.outputs[0] as Value).name
  const plain = !transposeA && !transposeB && scale === 1 && addend === undefined
  if (plain) {
    emission.nodes.push({ type: 'MatMul', inputs: [a.name, b.name], outputs: [output] })
  } else if (a.shape.length === 2) {
    const inputs = addend === undefined ? [a.name, b.name] : [a.name, b.name, addend.name]
    emission.nodes.push({ type: 'Gemm', inputs, outputs: [output], attributes: { transA: { int: Number(transposeA) }, transB: { int: Number(transposeB) }, alpha: { float: scale } } })
  } else if (target === 'cpu') {
    const attributes = { transA: { int: Number(transposeA) }, transB: { int: Number(transposeB) }, alpha: { float: scale } }
    emission.nodes.push({ type: 'FusedMatMul', domain: microsoft, inputs: [a.name, b.name], outputs: [output], attributes })
  } else {
    const turned = (value: Value, side: string, turn: boolean): string => {
      if (!turn) return value.name
      const name = `${output}/${side}_transposed`
      const rank = value.shape.length
      const permutation = value.shape.map((_, axis) => (axis < rank - 2 ? axis : axis === rank - 2 ? rank - 1 : rank - 2))
      emission.nodes.push({ type: 'Transpose', inputs: [value.name], outputs: [name], attributes: { perm: { ints: permutation } } })
      return name
    }
    const inputs = [turned(a, 'a', transposeA), turned(b, 'b', transposeB)]
    const product = scale === 1 ? output : `${output}/unscaled`
    emission.nodes.push({ type: 'MatMul', inputs, outputs: [product] })
    if (scale !== 1) emission.nodes.push({ type: 'Mul', inputs: [product, emission.scalar(scale)], outputs: [output] })
  }
}

/** The second output is 1/rms on the CPU, but the mean of x on WebGPU (onnxruntime 1.30), where it is therefore computed beside. */
function lowerRms(node: GraphNode<'RmsNormalization'>, target: GraphTarget, emission: Emission): void {
  const { epsilon } = node.attributes
  const inputs = node.inputs.map((input) => (input as Value).name)
  const [y, inverseRms] = node.outputs.map((output) => output.name) as [string, string]
  emission.nodes.push({
    type: 'SimplifiedLayerNormalization',
    inputs,
    outputs: target === 'cpu' ? [y, inverseRms] : [y],
    attributes: { axis: { int: -1 }, epsilon: { float: epsilon }, stash_type: { int: 1 } },
  })
  if (target === 'cpu') return
  const x = inputs[0] as string
  const part = (name: string): string => `${inverseRms}/${name}`
  emission.nodes.push(
    { type: 'Mul', inputs: [x, x], outputs: [part('square')] },
    { type: 'ReduceMean', inputs: [part('square'), emission.ints([-1])], outputs: [part('mean')], attributes: { keepdims: { int: 1 } } },
    { type: 'Add', inputs: [part('mean'), emission.scalar(epsilon)], outputs: [part('shifted')] },
    { type: 'Sqrt', inputs: [part('shifted')], outputs: [part('rms')] },
    { type: 'Reciprocal', inputs: [part('rms')], outputs: [inverseRms] },
  )
}

function nodeProto(node: OnnxNode): Record<string, unknown> {
  return {
    opType: node.type,
    name: `${node.outputs[0]}`,
    input: node.inputs,
    output: node.outputs,
    attribute: Object.entries(node.attributes ?? {}).map(([name, value]) => attributeProto(name, value)),
    ...(node.domain === undefined ? {} : { domain: node.domain }),
  }
}

function attributeProto(name: string, value: AttributeValue): Record<string, unknown> {
  if ('float' in value) return { name, f: value.float, type: 1 }
  if ('int' in value) return { name, i: value.int, type: 2 }
  if ('text' in value) return { name, s: new TextEncoder().encode(value.text), type: 3 }
  if ('tensor' in value) return { name, t: tensorProto('', [1], Float32Array.of(value.tensor)), type: 4 }
  return { name, ints: value.ints, type: 7 }
}

export function tensorProto(name: string, dims: readonly number[], data: InitializerData): TensorProto {
  const dataType = elementTypes[elementTypeOf(data)]
  return { name, dims, dataType, rawData: new Uint8Array(data.buffer, data.byteOffset, data.byteLength) }
}

function valueInfo(name: string, value: Value): Record<string, unknown> {
  const dim = value.shape.map((dimension: Dimension) => (typeof dimension === 'number' ? { dimValue: dimension } : { dimParam: dimension }))
  return { name, type: { tensorType: { elemType: elementTypes[value.type], shape: { dim } } } }
}
