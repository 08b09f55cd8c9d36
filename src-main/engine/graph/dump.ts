// A graph as text for people: inputs, one line a node in execution order, outputs. Used in errors, tests and `--dump`.
import type { Graph, GraphNode, Value } from './graph.ts'
import { liveInputs, liveNodes } from './onnx.ts'
import { formatShape } from './shape.ts'

const typed = (value: Value): string => `${value.type} ${formatShape(value.shape)}`

function attributeText(node: GraphNode): string {
  const entries = Object.entries(node.attributes as Readonly<Record<string, unknown>>)
  return entries.length === 0 ? '' : ` {${entries.map(([name, value]) => `${name}: ${JSON.stringify(value)}`).join(', ')}}`
}

/** Lines such as `/layer/q_proj/MatMul: float32 [B*T, 256] = MatMul(/layer/norm/RmsNormalization, q_proj.weight)`. */
export function dumpGraph(graph: Graph): string {
  const lines = [`graph ${graph.name}`]
  for (const input of liveInputs(graph)) lines.push(`  input ${input.name}: ${typed(input)}`)
  for (const { value } of graph.initializers) {
    if (!value.name.startsWith('/constants/')) lines.push(`  weight ${value.name}: ${typed(value)}`)
  }
  for (const node of liveNodes(graph)) {
    const inputs = node.inputs.map((input) => input?.name ?? '-').join(', ')
    lines.push(`  ${node.outputs.map((output) => `${output.name}: ${typed(output)}`).join(', ')} = ${node.operator}${attributeText(node)}(${inputs})`)
  }
  for (const { name, value } of graph.outputs) lines.push(`  output ${name} = ${value.name}: ${typed(value)}`)
  return lines.join('\n') + '\n'
}
