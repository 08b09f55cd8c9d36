// Frozen layers in fewer bits or from their file: the same numbers as a float32 model that holds the widened values, for log-probabilities,
// gradients and samples alike.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import type { WeightsConfig } from '../../../src-main/contract/run-config.ts'
import { layerMatrices, openFrozenLayers } from '../../../src-main/engine/models/frozen-layers.ts'
import { openModelFolder, writeModelFolder } from '../../../src-main/engine/models/model-folder.ts'
import { createPolicyWeights, type PolicyWeights } from '../../../src-main/engine/models/policy-weights.ts'
import { expectedTensors } from '../../../src-main/engine/models/weights.ts'
import { createSampler, type Rollout } from '../../../src-main/engine/rollout/sampler.ts'
import { dequantize, quantize } from '../../../src-main/engine/runtime/kernels.ts'
import { createStream } from '../../../src-main/engine/runtime/random.ts'
import { createPass, gradientArrays, packMicroBatches } from '../../../src-main/engine/training/passes.ts'
import { cpu } from '../../support/evaluate.ts'
import { parityFolder } from '../../support/parity.ts'

const families = ['llama-biases', 'qwen2-tied-sharded', 'smollm3', 'phi3-short'] as const
const stored = { precision: 'stored', streamLayers: false } as const
const ways: readonly WeightsConfig[] = [{ precision: 'int4', streamLayers: false }, { precision: 'int8', streamLayers: false }, stored, { precision: 'fp32', streamLayers: true }, { precision: 'stored', streamLayers: true }]
const folders: string[] = []
afterAll(async () => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))))

/** The policy with an adapter that does something, and what has to be closed. */
async function openPolicy(name: string, weights: WeightsConfig, reference: boolean): Promise<{ policy: PolicyWeights; close: () => Promise<void> }> {
  const folder = await openModelFolder(name)
  const adapter = { kind: 'lora', rank: 4, alpha: 8, dropout: 0, targets: ['all-linear'] } as const
  const bits = weights.precision === 'int4' ? 4 : weights.precision === 'int8' ? 8 : undefined
  const matrices = layerMatrices(folder.config)
  /** The same values as float32: what the store is compared with. */
  const read = async (tensor: string): Promise<Float32Array> => {
    const values = await folder.readTensor(tensor)
    if (bits !== undefined && matrices.has(tensor.replace(/^model\.layers\.\d+\./, ''))) dequantize(quantize(values, bits), values)
    return values
  }
  const layers = reference ? undefined : await openFrozenLayers(folder.config, folder, weights)
  const policy = await createPolicyWeights(await cpu(), folder.config, reference ? read : (tensor) => folder.readTensor(tensor), { ...adapter, targets: [...adapter.targets] }, 1, layers)
  policy.trainable.filter(({ name: own }) => own.endsWith('lora_B.weight')).forEach(({ data }, index) => data.forEach((_, i) => (data[i] = Math.sin(i * 0.7 + index) * 0.05)))
  return { policy, close: () => folder.close() }
}

interface Numbers {
  readonly logprobs: Float32Array
  readonly gradients: ReadonlyMap<string, Float32Array>
  readonly rollouts: readonly Rollout[]
}

async function compute(name: string, weights: WeightsConfig, reference: boolean): Promise<Numbers> {
  const { policy, close } = await openPolicy(name, weights, reference)
  const device = await cpu()
  const pass = createPass(device, policy, { layout: 'layered', temperature: 1, loss: { kind: 'supervised' }, maxLength: 32, headChunkTokens: 9 })
  const gradients = gradientArrays(policy)
  const ids = [[5, 6, 7, 8, 9, 10, 11, 12, 13], [20, 21, 22, 23, 24], [30, 31, 32, 33, 34, 35, 36]]
  const [packed] = packMicroBatches(ids.map((own) => ({ ids: own, from: 1, columns: { weight: new Float32Array(own.length - 1).fill(1) } })), 64)
  const forward = await pass.forward(packed!.batch)
  const { logprob } = await pass.backward(packed!.batch, gradients)
  expect(forward.logprob).toEqual(logprob)
  await pass.release()
  const sampler = await createSampler(device, policy, 32)
  const requests = [{ promptIds: [5, 6, 7, 8], streams: [createStream(1, 'a'), createStream(1, 'b')] }, { promptIds: [9, 10], streams: [createStream(1, 'c')] }]
  const rollouts = await sampler.generate(requests, { law: { temperature: 1, topK: 0, topP: 1, minP: 0 }, maxNewTokens: 8, slots: 2, stopIds: new Set(), sampleLimit: policy.config.vocabularySize })
  await sampler.release()
  await close()
  return { logprobs: logprob, gradients, rollouts }
}

const largestDifference = (a: ArrayLike<number>, b: ArrayLike<number>): number => Math.max(...Array.from({ length: a.length }, (_, i) => Math.abs((a[i] as number) - (b[i] as number))))

/** The fixtures' matrices have 24 inputs and the like; blocks want multiples of 32. The same family in such a size, bf16. */
async function widerModel(name: string): Promise<string> {
  const base = await openModelFolder(parityFolder(name))
  const { config } = base
  const heads = config.heads
  const headSize = 32
  const wider = { ...config, hiddenSize: 64, intermediateSize: 96, headSize, rotaryDimensions: config.rotaryDimensions === config.headSize ? headSize : config.rotaryDimensions, heads, torchDtype: 'bfloat16' as const }
  await base.close()
  const target = join(await mkdtemp(join(tmpdir(), 'satchel-frozen-')), name)
  folders.push(join(target, '..'))
  const stream = createStream(3, name)
  const shapes = new Map(expectedTensors(wider).map(({ name: tensor, shape }) => [tensor, shape]))
  await writeModelFolder(target, {
    config: wider,
    rawConfig: base.rawConfig,
    tensors: (tensor) => {
      const shape = shapes.get(tensor) as readonly number[]
      return Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => (shape.length === 1 ? 1 : 0) + (stream.uniform() - 0.5) * 0.3)
    },
    tokenizerFrom: parityFolder(name),
  })
  return target
}

describe.each(families)('%s', (family) => {
  it.each(ways)('$precision, streamed $streamLayers: log-probabilities, gradients and samples are those of the widened float32 model', async (weights) => {
    const model = await widerModel(family)
    const expected = await compute(model, weights, true)
    const found = await compute(model, weights, false)
    expect(largestDifference(found.logprobs, expected.logprobs)).toBeLessThan(1e-6)
    for (const [name, gradient] of expected.gradients) {
      const size = gradient.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
      expect(size).toBeGreaterThan(0)
      expect(largestDifference(found.gradients.get(name) as Float32Array, gradient) / size).toBeLessThan(1e-5)
    }
    expect(found.rollouts.map(({ ids }) => [...ids])).toEqual(expected.rollouts.map(({ ids }) => [...ids]))
    found.rollouts.forEach(({ logprobs }, index) => expect(largestDifference(logprobs, expected.rollouts[index]!.logprobs)).toBeLessThan(1e-4))
  })
})
