// The graph that sampling runs: prompt and single tokens alike, over a key/value cache.
import { Graph, op } from '../graph/index.ts'
import { cachedAttention, singleTokenAttention, type RotaryInputs } from '../models/attention.ts'
import { decoderLayer, embed, outputHead } from '../models/decoder.ts'
import { declareWeights, type PolicyWeights, type WeightPlacement } from '../models/policy-weights.ts'
import { usesRotary } from '../models/rotary.ts'

/**
 * ids, positions int64 [B, T]; lastIndex int32 [B] (index of each row's last valid position); total int32 [] (largest lastIndex + 1);
 * rows int64 [R] (flat positions whose successor is wanted); caches [B, kvHeads, S, d] -> logits [R, vocabulary] and the caches.
 */
export function samplingProgram(policy: PolicyWeights, placement: WeightPlacement): Graph {
  const graph = new Graph('sample')
  const { config } = policy
  const weights = declareWeights(graph, policy, placement)
  const ids = graph.input('ids', 'int64', ['B', 'T'])
  const rotary: RotaryInputs = {
    positions: graph.input('positions', 'int64', ['B', 'T']),
    cos: graph.input('cos', 'float32', ['P', config.rotaryDimensions / 2]),
    sin: graph.input('sin', 'float32', ['P', config.rotaryDimensions / 2]),
  }
  const lastIndex = graph.input('lastIndex', 'int32', ['B'])
  const total = graph.input('total', 'int32', [])
  const rows = graph.input('rows', 'int64', ['R'])
  const hidden = graph.within('model', () => {
    let x = embed(op.reshape(ids, ['B*T']), config, weights)
    for (let layer = 0; layer < config.layers; layer++) {
      const attend = cachedAttention(graph, config, layer, usesRotary(config, layer) ? rotary : undefined, lastIndex, total)
      x = graph.within(`layers.${layer}`, () => decoderLayer(x, config, weights, `model.layers.${layer}.`, attend))
    }
    return x
  })
  graph.output('logits', outputHead(op.gather(hidden, rows), config, weights))
  return graph
}

/**
 * One token a row on the CPU: ids, positions int64 [B, 1]; mask [B, 1, 1, S], 0 where the cache holds the row's tokens and a large
 * negative number elsewhere; caches -> logits [B, vocabulary] and every layer's new keys and values [B, kvHeads*d].
 */
export function singleTokenProgram(policy: PolicyWeights, placement: WeightPlacement): Graph {
  const graph = new Graph('decode')
  const { config } = policy
  const weights = declareWeights(graph, policy, placement)
  const ids = graph.input('ids', 'int64', ['B', 1])
  const rotary: RotaryInputs = {
    positions: graph.input('positions', 'int64', ['B', 1]),
    cos: graph.input('cos', 'float32', ['P', config.rotaryDimensions / 2]),
    sin: graph.input('sin', 'float32', ['P', config.rotaryDimensions / 2]),
  }
  const mask = graph.input('mask', 'float32', ['B', 1, 1, 'S'])
  const hidden = graph.within('model', () => {
    let x = embed(op.reshape(ids, ['B']), config, weights)
    for (let layer = 0; layer < config.layers; layer++) {
      const attend = singleTokenAttention(graph, config, layer, usesRotary(config, layer) ? rotary : undefined, mask)
      x = graph.within(`layers.${layer}`, () => decoderLayer(x, config, weights, `model.layers.${layer}.`, attend))
    }
    return x
  })
  graph.output('logits', outputHead(hidden, config, weights))
  return graph
}

/** Rows picked from `current` [B, ...] followed by `fresh` [F, ...]: index int64 [N] -> [N, ...]. Rearranges a cache on its device. */
export function rearrangeProgram(policy: PolicyWeights): Graph {
  const graph = new Graph('rearrange')
  const { kvHeads, headSize } = policy.config
  const current = graph.input('current', 'float32', ['B', kvHeads, 'S', headSize])
  const fresh = graph.input('fresh', 'float32', ['F', kvHeads, 'S', headSize])
  graph.output('arranged', op.gather(op.concatNamed(current, fresh, 0, 'A'), graph.input('index', 'int64', ['N'])))
  return graph
}
