// The WebGPU device against the CPU device: tensors that stay on the device, and whole training passes in both layouts.
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { lossConfigSchema, type AdapterConfig, type WeightsConfig } from '../../../src-main/contract/run-config.ts'
import { Graph, op } from '../../../src-main/engine/graph/index.ts'
import { openFrozenLayers } from '../../../src-main/engine/models/frozen-layers.ts'
import { openModelFolder } from '../../../src-main/engine/models/model-folder.ts'
import { createPolicyWeights, type PolicyWeights } from '../../../src-main/engine/models/policy-weights.ts'
import { createSampler, type Rollout } from '../../../src-main/engine/rollout/sampler.ts'
import { createDevice, type Device } from '../../../src-main/engine/runtime/ort.ts'
import { createStream } from '../../../src-main/engine/runtime/random.ts'
import type { LossKind } from '../../../src-main/engine/training/loss-graph.ts'
import { createPass, gradientArrays, packMicroBatches } from '../../../src-main/engine/training/passes.ts'
import { caseFeeds, caseValues, derivativeCases, lossGraph } from '../../support/derivative-cases.ts'
import { cpu, evaluate, numbers } from '../../support/evaluate.ts'
import { lossCase, lossCases } from '../../support/loss-cases.ts'
import { parityCases, parityContext, parityExpectation, parityFolder } from '../../support/parity.ts'
import { webgpuAbsence } from '../../support/webgpu.ts'

// A Vulkan in software compiles every shader anew, on the processors the other tests use.
vi.setConfig({ testTimeout: 300_000 })

const absent = webgpuAbsence()
if (absent !== undefined) console.warn(`WebGPU tests are skipped: ${absent}`)

let webgpu: Device
beforeAll(async () => {
  if (absent === undefined) webgpu = await createDevice('webgpu')
})
afterAll(async () => {
  if (absent === undefined) await webgpu.dispose()
})

/** Largest difference relative to the largest reference entry. */
function relativeDifference(actual: Float32Array, reference: Float32Array): number {
  expect(actual.length).toBe(reference.length)
  const scale = reference.reduce((largest, value) => Math.max(largest, Math.abs(value)), 1e-12)
  return reference.reduce((largest, value, index) => Math.max(largest, Math.abs(value - actual[index]!)), 0) / scale
}

describe.skipIf(absent !== undefined)(`webgpu tensors${absent === undefined ? '' : ` (skipped: ${absent})`}`, () => {
  it.each([[[]], [[6]], [[2, 3]], [[1, 2, 3]], [[1, 2, 1, 3]]])('an uploaded tensor of shape %j lives on the device and reads back bit for bit', async (dims) => {
    const data = dims.length === 0 ? Float32Array.of(-1.5) : Float32Array.of(1, -0, 3e38, Number.NaN, Number.POSITIVE_INFINITY, 2 ** -140)
    const tensor = await webgpu.upload(data, dims)
    expect(tensor.location).toBe('gpu-buffer')
    expect(tensor.dims).toEqual(dims)
    expect(await webgpu.read(tensor)).toEqual(data)
    tensor.dispose()
  })

  it('a resident output feeds another program without passing through the host', async () => {
    const first = new Graph('first')
    first.output('y', op.mul(first.input('x', 'float32', ['N', 2]), 2))
    const second = new Graph('second')
    second.output('z', op.add(second.input('y', 'float32', ['N', 2]), 1))
    const [double, increment] = [await webgpu.compile(first, { resident: ['y'] }), await webgpu.compile(second)]
    const { y } = await double.run({ x: webgpu.tensor(Float32Array.of(1, 2, 3, 4), [2, 2]) })
    expect(y!.location).toBe('gpu-buffer')
    const { z } = await increment.run({ y: y! })
    expect(z!.location).toBe('cpu')
    expect([...(await webgpu.read(z!))]).toEqual([3, 5, 7, 9])
    y!.dispose()
    await double.release()
    await increment.release()
  })

  it('a tensor of the device receives an output of a program without resident ones; with them it is an error', async () => {
    const graph = new Graph('increment')
    graph.output('y', op.add(graph.input('x', 'float32', ['N']), 1))
    const program = await webgpu.compile(graph)
    const target = await webgpu.upload(Float32Array.of(0, 0), [2])
    const feeds = { x: webgpu.tensor(Float32Array.of(4, 5), [2]) }
    const { y } = await program.run(feeds, { y: target })
    expect(y).toBe(target)
    expect([...(await webgpu.read(target))]).toEqual([5, 6])
    const resident = await webgpu.compile(graph, { resident: ['y'] })
    await expect(resident.run(feeds, { y: target })).rejects.toThrow(/increment has resident outputs/)
    target.dispose()
    await program.release()
    await resident.release()
  })
})

describe.skipIf(absent !== undefined)(`webgpu operators${absent === undefined ? '' : ` (skipped: ${absent})`}`, () => {
  it.each(derivativeCases)('$operator $title and its derivative equal those of the CPU', async (testCase) => {
    const graph = lossGraph(testCase)
    const feeds = caseFeeds(testCase, caseValues(testCase))
    const expected = await evaluate(graph, feeds)
    const actual = await evaluate(graph, feeds, webgpu)
    for (const [name, { data, dims }] of Object.entries(expected)) {
      expect(actual[name]!.dims).toEqual(dims)
      expect(relativeDifference(actual[name]!.data, data), name).toBeLessThan(1e-5)
    }
  })
})

describe.skipIf(absent !== undefined)(`webgpu losses${absent === undefined ? '' : ` (skipped: ${absent})`}`, () => {
  it.each(lossCases)('%s: value and gradient equal those of the CPU', async (_, settings) => {
    const { graph, feeds } = lossCase(settings)
    const expected = await evaluate(graph, feeds)
    const actual = await evaluate(graph, feeds, webgpu)
    for (const [name, { data }] of Object.entries(expected)) expect(relativeDifference(actual[name]!.data, data), name).toBeLessThan(1e-5)
  })
})

const supervised: LossKind = { kind: 'supervised' }
const policyLoss: LossKind = { kind: 'policy', loss: lossConfigSchema.parse({ clipHigh: 0.28, klCoefficient: 0.1 }) }
const lora: AdapterConfig = { kind: 'lora', rank: 4, alpha: 8, dropout: 0, targets: ['all-linear'] }

async function openPolicy(device: Device, name: string, adapter: AdapterConfig, precision: WeightsConfig['precision'] = 'fp32'): Promise<PolicyWeights> {
  const folder = await openModelFolder(parityFolder(name))
  try {
    const layers = await openFrozenLayers(folder.config, folder, { precision, streamLayers: false })
    const policy = await createPolicyWeights(device, folder.config, (tensor) => folder.readTensor(tensor), adapter, 1, layers)
    // B starts at zero, which would leave A without a gradient; equal numbers on both devices.
    policy.trainable.filter((parameter) => parameter.name.endsWith('lora_B.weight')).forEach(({ data }, index) => data.set(numbers(data.length, index + 1).map((value) => value * 0.1)))
    await policy.refresh()
    return policy
  } finally {
    await folder.close()
  }
}

/** Forward and backward over two micro-batches of unequal lengths. */
async function run(device: Device, name: string, layout: 'whole' | 'layered', adapter: AdapterConfig, loss: LossKind, precision?: WeightsConfig['precision']): Promise<{ loss: number; forward: Float32Array; backward: Float32Array; entropy: Float32Array; gradients: Map<string, Float32Array> }> {
  const { sequences } = await parityExpectation(name)
  const policy = await openPolicy(device, name, adapter, precision)
  const pass = createPass(device, policy, { layout, temperature: 0.9, loss, maxLength: await parityContext(name), headChunkTokens: 7 })
  const gradients = gradientArrays(policy)
  const forward: number[] = []
  const backward: number[] = []
  const entropy: number[] = []
  let total = 0
  const items = sequences.map((ids, index) => {
    const column = (seed: number, scale: number, shift: number): Float32Array => numbers(ids.length - 1, 10 * index + seed).map((value) => value * scale + shift)
    return { ids, from: 1, columns: { weight: column(1, 0.1, 0.2), advantage: column(2, 1, 0), oldLogprob: column(3, 0.5, -6), referenceLogprob: column(4, 0.5, -6) } }
  })
  for (const { batch } of packMicroBatches(items, 44)) {
    forward.push(...(await pass.forward(batch)).logprob)
    const result = await pass.backward(batch, gradients)
    backward.push(...result.logprob)
    entropy.push(...result.entropy)
    total += result.loss
  }
  await pass.release()
  return { loss: total, forward: Float32Array.from(forward), backward: Float32Array.from(backward), entropy: Float32Array.from(entropy), gradients }
}

describe.skipIf(absent !== undefined)(`webgpu training passes${absent === undefined ? '' : ` (skipped: ${absent})`}`, () => {
  it.each([
    ['llama-biases', 'whole', 'full', supervised],
    ['llama-biases', 'layered', 'full', supervised],
    ['qwen2-tied-sharded', 'whole', 'full', policyLoss],
    ['qwen2-tied-sharded', 'layered', 'full', policyLoss],
    ['qwen2-tied-sharded', 'whole', 'lora', policyLoss],
    ['qwen2-tied-sharded', 'layered', 'lora', policyLoss],
    ['smollm3', 'layered', 'full', policyLoss],
    ['phi3-short', 'whole', 'full', policyLoss],
    ['phi3-long', 'layered', 'lora', policyLoss],
  ] as const)('%s, %s layout, %s: log-probabilities, loss and gradients equal those of the CPU', async (name, layout, kind, loss) => {
    const adapter: AdapterConfig = kind === 'full' ? { kind: 'full' } : lora
    const expected = await run(await cpu(), name, layout, adapter, loss)
    const actual = await run(webgpu, name, layout, adapter, loss)
    expect(relativeDifference(actual.forward, expected.forward)).toBeLessThan(1e-3)
    expect(relativeDifference(actual.backward, expected.backward)).toBeLessThan(1e-3)
    expect(relativeDifference(actual.entropy, expected.entropy)).toBeLessThan(1e-3)
    expect(Math.abs(actual.loss - expected.loss)).toBeLessThan(1e-3 * Math.abs(expected.loss))
    for (const [parameter, gradient] of expected.gradients) expect(relativeDifference(actual.gradients.get(parameter)!, gradient), parameter).toBeLessThan(1e-3)
  })
})

describe.skipIf(absent !== undefined)(`webgpu with layers held as stored${absent === undefined ? '' : ` (skipped: ${absent})`}`, () => {
  it('trains and samples as the CPU does with float32 layers, one layer on the device at a time', async () => {
    const [expected, actual] = [await run(await cpu(), 'smollm3', 'layered', lora, policyLoss), await run(webgpu, 'smollm3', 'layered', lora, policyLoss, 'stored')]
    expect(relativeDifference(actual.backward, expected.backward)).toBeLessThan(1e-3)
    for (const [parameter, gradient] of expected.gradients) expect(relativeDifference(actual.gradients.get(parameter)!, gradient), parameter).toBeLessThan(1e-3)
    const { greedy } = await parityExpectation('smollm3')
    const policy = await openPolicy(webgpu, 'smollm3', { ...lora, rank: 1 }, 'stored')
    policy.trainable.forEach(({ name, data }) => name.endsWith('lora_B.weight') && data.fill(0))
    await policy.refresh()
    const sampler = await createSampler(webgpu, policy, await parityContext('smollm3'))
    const rollouts = await sampler.generate(greedy.map(({ prompt }) => ({ promptIds: prompt, streams: [createStream(1, 'sample')] })), {
      law: { temperature: 0, topK: 0, topP: 1, minP: 0 }, maxNewTokens: 16, slots: 8, stopIds: new Set(), sampleLimit: policy.config.vocabularySize,
    })
    await sampler.release()
    expect(rollouts.map((rollout) => [...rollout.ids])).toEqual(greedy.map(({ continuation }) => continuation))
  })
})

describe.skipIf(absent !== undefined)(`webgpu sampling${absent === undefined ? '' : ` (skipped: ${absent})`}`, () => {
  it.each(parityCases)('%s: continues greedily as transformers does', async (name) => {
    const policy = await openPolicy(webgpu, name, { kind: 'full' })
    const { greedy } = await parityExpectation(name)
    const sampler = await createSampler(webgpu, policy, await parityContext(name))
    const rollouts = await sampler.generate(greedy.map(({ prompt }) => ({ promptIds: prompt, streams: [createStream(1, 'sample')] })), {
      law: { temperature: 0, topK: 0, topP: 1, minP: 0 }, maxNewTokens: 16, slots: 8, stopIds: new Set(), sampleLimit: policy.config.vocabularySize,
    })
    await sampler.release()
    expect(rollouts.map((rollout) => [...rollout.ids])).toEqual(greedy.map(({ continuation }) => continuation))
  })

  it('draws what the CPU draws and reports its log-probabilities, with rows that leave and join the batch', async () => {
    const draw = async (device: Device): Promise<Rollout[]> => {
      const policy = await openPolicy(device, 'qwen2-tied-sharded', lora)
      const sampler = await createSampler(device, policy, 64)
      const prompts = [[5, 9, 17, 33], [7, 11], [64, 3, 8, 21, 40, 55, 13]]
      const rollouts = await sampler.generate(
        prompts.map((promptIds, prompt) => ({ promptIds, streams: Array.from({ length: 3 }, (_, rollout) => createStream(1, 'sample', 1, prompt, rollout)) })),
        { law: { temperature: 0.9, topK: 0, topP: 1, minP: 0 }, maxNewTokens: 12, slots: 4, stopIds: new Set([2, 31]), sampleLimit: 96 },
      )
      await sampler.release()
      return rollouts
    }
    const [expected, actual] = [await draw(await cpu()), await draw(webgpu)]
    expect(actual.map(({ ids, finish }) => [finish, ...ids])).toEqual(expected.map(({ ids, finish }) => [finish, ...ids]))
    actual.forEach((rollout, index) => expect(relativeDifference(rollout.policyLogprobs, expected[index]!.policyLogprobs)).toBeLessThan(1e-3))
  })
})
