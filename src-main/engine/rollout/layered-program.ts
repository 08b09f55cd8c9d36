// The sampling programs once more, a layer at a time: for models whose layers are held in fewer bits or left in their file. To the
// sampler it is one program with the same inputs and outputs.
import { Graph, op } from '../graph/index.ts'
import { cachedAttention, cacheNames, singleTokenAttention, type RotaryInputs } from '../models/attention.ts'
import { decoderLayer, embed, outputHead } from '../models/decoder.ts'
import { declareWeights, weightFeeds, type PolicyWeights } from '../models/policy-weights.ts'
import { firstOfKind, usesRotary } from '../models/rotary.ts'
import type { Device, Program, Tensor, Tensors } from '../runtime/ort.ts'

/** 'prompt': inputs and outputs of samplingProgram; 'token': those of singleTokenProgram. */
export type SamplingPart = 'prompt' | 'token'

/** ids -> hidden [B*T, D]. */
function embedProgram(policy: PolicyWeights): Graph {
  const graph = new Graph('embed')
  const weights = declareWeights(graph, policy)
  graph.output('hidden', embed(op.reshape(graph.input('ids', 'int64', ['B', 'T']), ['B*T']), policy.config, weights))
  return graph
}

/** hidden [B*T, D] and what the attention reads -> nextHidden and the layer's keys and values, named as those of layer 0. */
function layerProgram(policy: PolicyWeights, layer: number, part: SamplingPart): Graph {
  const graph = new Graph(`layer_${part}`)
  const { config } = policy
  const weights = declareWeights(graph, policy, { layerPrefix: `model.layers.${layer}.` })
  const rotaryInputs: RotaryInputs = {
    positions: graph.input('positions', 'int64', ['B', part === 'prompt' ? 'T' : 1]),
    cos: graph.input('cos', 'float32', ['P', config.rotaryDimensions / 2]),
    sin: graph.input('sin', 'float32', ['P', config.rotaryDimensions / 2]),
  }
  const rotary = usesRotary(config, layer) ? rotaryInputs : undefined
  const hidden = graph.input('hidden', 'float32', [part === 'prompt' ? 'B*T' : 'B', config.hiddenSize])
  const attend =
    part === 'prompt'
      ? cachedAttention(graph, config, 0, rotary, graph.input('lastIndex', 'int32', ['B']), graph.input('total', 'int32', []))
      : singleTokenAttention(graph, config, 0, rotary, graph.input('mask', 'float32', ['B', 1, 1, 'S']))
  graph.output('nextHidden', graph.within('layer', () => decoderLayer(hidden, config, weights, '', attend)))
  return graph
}

/** hidden [N, D] -> logits, of the rows asked for (prompt) or of all (token). */
function headProgram(policy: PolicyWeights, part: SamplingPart): Graph {
  const graph = new Graph('head')
  const weights = declareWeights(graph, policy)
  const hidden = graph.input('hidden', 'float32', ['N', policy.config.hiddenSize])
  graph.output('logits', outputHead(part === 'prompt' ? op.gather(hidden, graph.input('rows', 'int64', ['R'])) : hidden, policy.config, weights))
  return graph
}

const pick = (program: Program, feeds: Tensors): Record<string, Tensor> =>
  Object.fromEntries(program.inputNames.flatMap((name) => (feeds[name] === undefined ? [] : [[name, feeds[name]]])))

/** Compiles the parts. A layer's weights are fetched when its turn comes; the layer after it is read ahead. */
export async function layeredSamplingProgram(device: Device, policy: PolicyWeights, part: SamplingPart): Promise<Program> {
  const { config } = policy
  const names = Array.from({ length: config.layers }, (_, layer) => cacheNames(layer))
  const first = cacheNames(0)
  const resident = ['hidden', 'nextHidden', first.presentKey, first.presentValue]
  const embedding = await device.compile(embedProgram(policy), { resident })
  const head = await device.compile(headProgram(policy, part))
  const kinds = new Map<number, Program>()
  for (let layer = 0; layer < config.layers; layer++) {
    if (firstOfKind(config, layer) === layer) kinds.set(layer, await device.compile(layerProgram(policy, layer, part), { resident }))
  }
  const programs = [embedding, head, ...kinds.values()]
  const owner = (name: string): Program => {
    const program = programs.find(({ inputNames }) => inputNames.includes(name))
    if (program === undefined) throw new Error(`the layered program has no input ${name}`)
    return program
  }
  return {
    name: `layered_${part}`,
    inputNames: [...new Set(programs.flatMap(({ inputNames }) => inputNames))].filter((name) => !name.endsWith('.weight') && !name.endsWith('.bias')),
    inputShape: (name) => owner(name).inputShape(name),
    async run(feeds, into) {
      let hidden = (await embedding.run({ ...weightFeeds(embedding, policy), ...pick(embedding, feeds) }))['hidden'] as Tensor
      const outputs: Record<string, Tensor> = {}
      for (const [layer, own] of names.entries()) {
        const program = kinds.get(firstOfKind(config, layer)) as Program
        const weights = weightFeeds(program, policy, `model.layers.${layer}.`, await policy.layerTensors(layer, (layer + 1) % config.layers))
        const caches = { [first.pastKey]: feeds[own.pastKey] as Tensor, [first.pastValue]: feeds[own.pastValue] as Tensor }
        const targets = into === undefined ? undefined : { [first.presentKey]: into[own.presentKey] as Tensor, [first.presentValue]: into[own.presentValue] as Tensor }
        const result = await program.run({ ...weights, ...pick(program, feeds), ...caches, hidden }, targets)
        hidden.dispose()
        hidden = result['nextHidden'] as Tensor
        outputs[own.presentKey] = result[first.presentKey] as Tensor
        outputs[own.presentValue] = result[first.presentValue] as Tensor
      }
      const { logits } = await head.run({ ...weightFeeds(head, policy), ...pick(head, feeds), hidden })
      hidden.dispose()
      return { ...outputs, logits: logits as Tensor }
    },
    async release() {
      for (const program of programs) await program.release()
    },
  }
}
