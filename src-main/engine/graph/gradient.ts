// Reverse-mode differentiation: walks the nodes backwards and asks the table (derivatives.ts) for each.
import { derivatives, type Derivative } from './derivatives.ts'
import type { GraphNode, Value } from './graph.ts'
import type { OperatorName } from './operator-types.ts'
import * as op from './operators.ts'
import { formatShape, sameShape } from './shape.ts'

/** Where the backward pass starts: a value and the gradient that arrives at it (its own shape). */
export interface Seed {
  readonly value: Value
  readonly gradient: Value
}

/**
 * Gradients of the seeds with respect to `parameters`, appended to the same graph.
 * Only nodes between parameters and seeds are differentiated; a node among them without a derivative is an error that names it,
 * and a parameter no seed depends on is an error too (a silent zero gradient hides mistakes).
 */
export function gradients(seeds: readonly Seed[], parameters: readonly Value[]): Value[] {
  const graph = seeds[0]?.value.graph
  if (graph === undefined) throw new Error('gradients needs at least one seed')
  const nodes = graph.nodes.slice() // the backward pass appends to graph.nodes
  const needed = reachableFrom(nodes, parameters)
  const arrived = new Map<Value, Value>()
  const arrive = (value: Value, gradient: Value): void => {
    const before = arrived.get(value)
    arrived.set(value, before === undefined ? gradient : op.add(before, gradient))
  }
  return graph.within('gradient', () => {
    for (const { value, gradient } of seeds) {
      if (!sameShape(value.shape, gradient.shape)) throw graph.error(`seed of ${value.name} ${formatShape(value.shape)} has shape ${formatShape(gradient.shape)}`)
      arrive(value, gradient)
    }
    for (const node of nodes.reverse()) {
      for (const output of node.outputs.slice(1)) {
        if (arrived.has(output)) throw graph.error(`${node.name}: only the first output of ${node.operator} is differentiated, but ${output.name} is used`)
      }
      const gradient = arrived.get(node.outputs[0] as Value)
      if (gradient === undefined || !node.outputs.some((output) => needed.has(output))) continue
      graph.within(node.name.slice(1), () => {
        inputGradients(node, gradient).forEach((inputGradient, index) => {
          const input = node.inputs[index]
          if (inputGradient !== undefined && input !== undefined && needed.has(input)) arrive(input, inputGradient)
        })
      })
    }
    return parameters.map((parameter) => {
      const gradient = arrived.get(parameter)
      if (gradient === undefined) throw graph.error(`${parameter.name} does not influence the differentiated values`)
      return gradient
    })
  })
}

function inputGradients(node: GraphNode, gradient: Value): readonly (Value | undefined)[] {
  const derivative = derivatives[node.operator] as Derivative<OperatorName> | undefined
  if (derivative === undefined) throw gradient.graph.error(`operator ${node.operator} (${node.name}) has no derivative`)
  return derivative(node, gradient, node.inputs as readonly Value[])
}

/** All values that depend on one of the parameters, the parameters among them. */
function reachableFrom(nodes: readonly GraphNode[], parameters: readonly Value[]): Set<Value> {
  const reached = new Set<Value>(parameters)
  for (const node of nodes) {
    if (node.inputs.some((input) => input !== undefined && reached.has(input))) for (const output of node.outputs) reached.add(output)
  }
  return reached
}
