// A graph as an ONNX file for other programs: weights in files beside it, named by place, never in memory here.
import type { Graph, Value } from './graph.ts'
import { elementTypes, encodeGraph, lowerGraph, tensorProto } from './onnx.ts'
import type { GraphTarget, OnnxNode, TensorProto } from './onnx.ts'

/** Where the bytes of a weight lie: in a file beside the model, row-major, little-endian. */
export interface ExternalTensor {
  /** Name of the file. */
  readonly location: string
  readonly offset: number
  readonly length: number
  /** A float16 weight is widened inside the graph. */
  readonly type: 'float32' | 'float16' | 'uint8'
}

/** ONNX's numbers of the types weights are stored in. */
const storedTypes = { ...elementTypes, float16: 10 }
const storedName = (name: string): string => `${name}/float16`

/**
 * Serialised ModelProto.
 * @param weights inputs of the graph that become weights; every other input stays one
 */
export function writeOnnxFile(graph: Graph, target: GraphTarget, weights: ReadonlyMap<string, ExternalTensor>): Uint8Array {
  const { nodes, constants } = lowerGraph(graph, target)
  const widened = [...weights].flatMap(([name, { type }]): OnnxNode[] => (type === 'float16' ? [{ type: 'Cast', inputs: [storedName(name)], outputs: [name], attributes: { to: { int: elementTypes.float32 } } }] : []))
  const read = new Set(nodes.flatMap((node) => node.inputs))
  const all = [...widened, ...nodes.map((node) => withoutSpareOutputs(node, read, graph))]
  const used = new Set(all.flatMap((node) => node.inputs))
  const small = graph.initializers.filter(({ value }) => used.has(value.name)).map(({ value, data }) => tensorProto(value.name, value.shape as readonly number[], data))
  const inputs = graph.inputs.filter(({ name }) => used.has(name))
  const large = inputs.flatMap((input) => externalProto(input, weights.get(input.name)))
  return encodeGraph(graph, all, [...small, ...constants, ...large], inputs.filter(({ name }) => !weights.has(name)))
}

function externalProto({ name, shape }: Value, weight: ExternalTensor | undefined): TensorProto[] {
  if (weight === undefined) return []
  const { location, offset, length, type } = weight
  const places = Object.entries({ location, offset: String(offset), length: String(length) }).map(([key, value]) => ({ key, value }))
  return [{ name: type === 'float16' ? storedName(name) : name, dims: shape, dataType: storedTypes[type], externalData: places, dataLocation: 1 }]
}

/** Outputs at the end of a node that nothing reads are left out: what training wants of a norm keeps others from fusing it. */
function withoutSpareOutputs(node: OnnxNode, used: ReadonlySet<string>, { outputs }: Graph): OnnxNode {
  const needed = (name: string): boolean => used.has(name) || outputs.some((output) => output.name === name)
  return { ...node, outputs: node.outputs.slice(0, node.outputs.findLastIndex(needed) + 1) }
}
