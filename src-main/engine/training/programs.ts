// The graphs of a training pass, in two layouts with the same arithmetic.
//
// whole:   ids -> all layers -> rows that are predicted -> head -> loss, and every gradient, in one program. Fastest; activations
//          of the micro-batch all live at once.
// layered: one program a layer shape. The forward keeps only each layer's input; the backward program recomputes the layer
//          (Chen et al. 2016, sublinear memory), and the head runs over chunks of rows, so full logits never exist.
import { Graph, gradients, op, type Value } from '../graph/index.ts'
import { sequenceAttention, type RotaryInputs } from '../models/attention.ts'
import { decoderLayer, embed, outputHead, type WeightSource } from '../models/decoder.ts'
import { declareWeights, type PolicyWeights, type WeightPlacement } from '../models/policy-weights.ts'
import { usesRotary } from '../models/rotary.ts'
import { tokenColumns, tokenLoss, type LossKind } from './loss-graph.ts'

/** Prefix of gradient outputs: 'gradient:model.norm.weight'. */
export const GRADIENT = 'gradient:'

interface Sequences {
  readonly ids: Value
  readonly mask: Value
  readonly rotary: RotaryInputs
}

/** Inputs every sequence program shares: ids, positions int64 [B, T]; mask [T, T]; cos, sin [P, r/2]. */
function sequenceInputs(graph: Graph, rotaryDimensions: number): Sequences {
  return {
    ids: graph.input('ids', 'int64', ['B', 'T']),
    mask: graph.input('mask', 'float32', ['T', 'T']),
    rotary: {
      positions: graph.input('positions', 'int64', ['B', 'T']),
      cos: graph.input('cos', 'float32', ['P', rotaryDimensions / 2]),
      sin: graph.input('sin', 'float32', ['P', rotaryDimensions / 2]),
    },
  }
}

/** Rows `rows` int64 [M] of hidden [B*T, D] -> logits -> columns; declares `rows` and `targets` int64 [M, 1]. */
function predictedColumns(graph: Graph, hidden: Value, weights: WeightSource, policy: PolicyWeights, temperature: number): { logprob: Value; entropy: Value } {
  const rows = graph.input('rows', 'int64', ['M'])
  const targets = graph.input('targets', 'int64', ['M', 1])
  const logits = outputHead(op.gather(hidden, rows), policy.config, weights)
  return tokenColumns(logits, targets, temperature)
}

function outputGradients(graph: Graph, loss: Value, weights: ReturnType<typeof declareWeights>, policy: PolicyWeights): void {
  const trained = [...weights.declared].filter(([name]) => policy.parameters.get(name)?.trainable === true)
  const values = gradients([{ value: loss, gradient: graph.constant(1) }], trained.map(([, value]) => value))
  trained.forEach(([name], index) => graph.output(GRADIENT + name, values[index] as Value))
}

export interface WholeOptions {
  readonly temperature: number
  /** Leave out for a forward pass that only reports log-probabilities. */
  readonly loss?: LossKind
  readonly placement: WeightPlacement
}

/** Outputs logprob, entropy [M, 1]; with a loss also `loss` [] and the gradients of all trainable weights. */
export function wholeProgram(policy: PolicyWeights, options: WholeOptions): Graph {
  const graph = new Graph(options.loss === undefined ? 'forward' : 'step')
  const { config } = policy
  const weights = declareWeights(graph, policy, options.placement)
  const { ids, mask, rotary } = sequenceInputs(graph, config.rotaryDimensions)
  const hidden = graph.within('model', () => {
    let x = embed(op.reshape(ids, ['B*T']), config, weights)
    for (let layer = 0; layer < config.layers; layer++) {
      const attend = sequenceAttention(config, mask, usesRotary(config, layer) ? rotary : undefined)
      x = graph.within(`layers.${layer}`, () => decoderLayer(x, config, weights, `model.layers.${layer}.`, attend))
    }
    return x
  })
  const { logprob, entropy } = predictedColumns(graph, hidden, weights, policy, options.temperature)
  graph.output('logprob', logprob)
  graph.output('entropy', entropy)
  if (options.loss !== undefined) {
    const loss = tokenLoss(graph, logprob, options.loss)
    graph.output('loss', loss)
    outputGradients(graph, loss, weights, policy)
  }
  return graph
}

/** ids [B, T] -> hidden [B*T, D]. */
export function embedProgram(policy: PolicyWeights): Graph {
  const graph = new Graph('embed')
  const weights = declareWeights(graph, policy)
  const ids = graph.input('ids', 'int64', ['B', 'T'])
  graph.output('hidden', embed(op.reshape(ids, ['B*T']), policy.config, weights))
  return graph
}

/** Gradient of the embedding: ids [B, T], hiddenGradient [B*T, D] -> gradient of the table. */
export function embedBackwardProgram(policy: PolicyWeights): Graph {
  const graph = new Graph('embed_backward')
  const { vocabularySize, hiddenSize } = policy.config
  const ids = graph.input('ids', 'int64', ['B', 'T'])
  const gradient = graph.input('hiddenGradient', 'float32', ['B*T', hiddenSize])
  const table = op.full(graph, [vocabularySize, hiddenSize], 0)
  graph.output(`${GRADIENT}model.embed_tokens.weight`, op.scatterRows(table, op.reshape(ids, ['B*T', 1]), gradient))
  return graph
}

/**
 * One layer. Forward: hidden [B*T, D] -> nextHidden. Backward: also hiddenGradient [B*T, D] -> inputGradient and the gradients of the
 * layer's trainable weights, recomputing the layer. Weight names leave out the 'model.layers.N.' prefix, so one program serves
 * every layer of the same kind; `layer` only says which kind.
 */
export function layerProgram(policy: PolicyWeights, layer: number, backward: boolean, placement: WeightPlacement): Graph {
  const graph = new Graph(backward ? 'layer_backward' : 'layer_forward')
  const { config } = policy
  const prefix = `model.layers.${layer}.`
  const weights = declareWeights(graph, policy, { ...placement, layerPrefix: prefix })
  const { mask, rotary } = sequenceInputs(graph, config.rotaryDimensions)
  const hidden = graph.input('hidden', 'float32', ['B*T', config.hiddenSize])
  const attend = sequenceAttention(config, mask, usesRotary(config, layer) ? rotary : undefined)
  const y = graph.within('layer', () => decoderLayer(hidden, config, weights, '', attend))
  if (!backward) {
    graph.output('nextHidden', y)
    return graph
  }
  const trained = [...weights.declared].filter(([name]) => policy.parameters.get(prefix + name)?.trainable === true)
  const arriving = graph.input('hiddenGradient', 'float32', ['B*T', config.hiddenSize])
  const [inputGradient, ...rest] = gradients([{ value: y, gradient: arriving }], [hidden, ...trained.map(([, value]) => value)])
  graph.output('inputGradient', inputGradient as Value)
  trained.forEach(([name], index) => graph.output(GRADIENT + name, rest[index] as Value))
  return graph
}

/**
 * Head and loss over one chunk of rows: hidden [N, D], rows [M], targets [M, 1] -> logprob, entropy, and with a loss also `loss`,
 * hiddenGradient [N, D] = hiddenGradientSoFar + this chunk's, and the gradients of norm and head where trainable.
 */
export function headProgram(policy: PolicyWeights, temperature: number, loss: LossKind | undefined, placement: WeightPlacement): Graph {
  const graph = new Graph(loss === undefined ? 'head_forward' : 'head')
  const weights = declareWeights(graph, policy, placement)
  const hidden = graph.input('hidden', 'float32', ['N', policy.config.hiddenSize])
  const { logprob, entropy } = predictedColumns(graph, hidden, weights, policy, temperature)
  graph.output('logprob', logprob)
  graph.output('entropy', entropy)
  if (loss === undefined) return graph
  const total = tokenLoss(graph, logprob, loss)
  graph.output('loss', total)
  const trained = [...weights.declared].filter(([name]) => policy.parameters.get(name)?.trainable === true)
  const soFar = graph.input('hiddenGradientSoFar', 'float32', hidden.shape)
  const [hiddenGradient, ...rest] = gradients([{ value: total, gradient: graph.constant(1) }], [hidden, ...trained.map(([, value]) => value)])
  graph.output('hiddenGradient', op.add(soFar, hiddenGradient as Value))
  trained.forEach(([name], index) => graph.output(GRADIENT + name, rest[index] as Value))
  return graph
}
