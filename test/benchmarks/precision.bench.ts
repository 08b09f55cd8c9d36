// What fewer bits cost: mean KL(fp32 || precision) over full vocabularies, on tokens the fp32 model wrote itself; and what they save.
import { weightsConfigSchema, type WeightsConfig } from '../../src-main/contract/run-config.ts'
import { openFrozenLayers } from '../../src-main/engine/models/frozen-layers.ts'
import { openModelFolder, type ModelFolder } from '../../src-main/engine/models/model-folder.ts'
import { createPolicyWeights, type PolicyWeights } from '../../src-main/engine/models/policy-weights.ts'
import { rotaryTables } from '../../src-main/engine/models/rotary.ts'
import { createCacheFactory } from '../../src-main/engine/rollout/cache.ts'
import { layeredSamplingProgram } from '../../src-main/engine/rollout/layered-program.ts'
import { createSampler } from '../../src-main/engine/rollout/sampler.ts'
import { createDevice, type Device, type Tensor } from '../../src-main/engine/runtime/ort.ts'
import { resourcePath } from '../../src-main/engine/runtime/paths.ts'
import { createStream } from '../../src-main/engine/runtime/random.ts'
import type { BenchmarkRow } from './rows.ts'

const length = 128
const precisions = ['stored', 'int8', 'int4'] as const

/** `--precision-model DIR` measures another model than the built-in one. */
export const precisionModelFlag = '--precision-model'

async function openPolicy(device: Device, folder: ModelFolder, weights: WeightsConfig): Promise<PolicyWeights> {
  const layers = await openFrozenLayers(folder.config, folder, weights)
  return createPolicyWeights(device, folder.config, (name) => folder.readTensor(name), { kind: 'lora', rank: 1, alpha: 1, dropout: 0, targets: ['all-linear'] }, 1, layers)
}

/** Sequences the model itself writes at temperature 1 from single ids, all of full length. */
async function ownText(device: Device, policy: PolicyWeights, count: number): Promise<number[][]> {
  const sampler = await createSampler(device, policy, length)
  const stream = createStream(1, 'precision prompts')
  const limit = policy.config.vocabularySize
  const requests = Array.from({ length: count }, (_, index) => ({ promptIds: [stream.integer(limit)], streams: [createStream(1, 'precision', index)] }))
  const rollouts = await sampler.generate(requests, { law: { temperature: 1, topK: 0, topP: 1, minP: 0 }, maxNewTokens: length - 1, slots: count, stopIds: new Set(), sampleLimit: limit })
  await sampler.release()
  return rollouts.toSorted((a, b) => a.request - b.request).map(({ request, ids }) => [requests[request]!.promptIds[0] as number, ...ids])
}

/** Logits at every position of every sequence, [tokens, vocabulary], a sequence at a time. */
async function* logitsOf(device: Device, policy: PolicyWeights, sequences: readonly (readonly number[])[]): AsyncGenerator<Float32Array> {
  const program = await layeredSamplingProgram(device, policy, 'prompt')
  const caches = await createCacheFactory(device, policy)
  const tables = rotaryTables(policy.config, length)
  const half = policy.config.rotaryDimensions / 2
  for (const ids of sequences) {
    const cache = await caches.create(length, 1, 1)
    const every = BigInt64Array.from(ids, (_, index) => BigInt(index))
    const outputs = await program.run({
      ...cache.feeds(), cos: device.tensor(tables.cos, [length, half]), sin: device.tensor(tables.sin, [length, half]),
      ids: device.tensor(BigInt64Array.from(ids, (id) => BigInt(id)), [1, length]), positions: device.tensor(every, [1, length]),
      lastIndex: device.tensor(Int32Array.of(length - 1), [1]), total: device.tensor(Int32Array.of(length), []), rows: device.tensor(every, [length]),
    }, cache.targets())
    yield await device.read(outputs['logits'] as Tensor)
    cache.dispose()
  }
  await caches.release()
  await program.release()
}

function logSumExp(values: Float32Array): number {
  const top = values.reduce((most, value) => Math.max(most, value), -Infinity)
  let sum = 0
  for (const value of values) sum += Math.exp(value - top)
  return top + Math.log(sum)
}

/** KL(p || q) in nats of the distributions two rows of logits stand for. */
function divergence(p: Float32Array, q: Float32Array): number {
  const [sumP, sumQ] = [logSumExp(p), logSumExp(q)]
  let total = 0
  for (let id = 0; id < p.length; id++) {
    const logP = (p[id] as number) - sumP
    total += Math.exp(logP) * (logP - ((q[id] as number) - sumQ))
  }
  return total
}

async function meanDivergence(device: Device, reference: PolicyWeights, other: PolicyWeights, sequences: readonly (readonly number[])[]): Promise<number> {
  const { vocabularySize } = reference.config
  const others = logitsOf(device, other, sequences)
  let sum = 0
  for await (const expected of logitsOf(device, reference, sequences)) {
    const found = (await others.next()).value as Float32Array
    for (let at = 0; at < length; at++) sum += divergence(expected.subarray(at * vocabularySize, (at + 1) * vocabularySize), found.subarray(at * vocabularySize, (at + 1) * vocabularySize))
  }
  return sum / (sequences.length * length)
}

export async function benchmarkPrecision(quick: boolean, model = resourcePath('demo', 'model')): Promise<BenchmarkRow[]> {
  const device = await createDevice('cpu')
  const folder = await openModelFolder(model)
  const reference = await openPolicy(device, folder, weightsConfigSchema.parse({}))
  const sequences = await ownText(device, reference, quick ? 2 : 16)
  const rows: BenchmarkRow[] = []
  for (const precision of precisions) {
    const policy = await openPolicy(device, folder, weightsConfigSchema.parse({ precision }))
    const layerBytes = [...(policy.frozenLayers?.matrices.values() ?? [])].reduce((sum, [outSize, inSize]) => sum + outSize * inSize * 4, 0) * policy.config.layers
    rows.push({ name: `precision ${precision}: mean KL to fp32 on ${sequences.length * length} tokens`, value: await meanDivergence(device, reference, policy, sequences), unit: 'nats' })
    rows.push({ name: `precision ${precision}: layer matrices / fp32`, value: (policy.frozenLayers?.bytes ?? layerBytes) / layerBytes, unit: 'ratio' })
  }
  await folder.close()
  await device.dispose()
  return rows
}
