// Log-probabilities and every gradient against transformers and peft, in both layouts of the training pass.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { AdapterConfig } from '../../../src-main/contract/run-config.ts'
import { openModelFolder } from '../../../src-main/engine/models/model-folder.ts'
import { createPolicyWeights, type PolicyWeights } from '../../../src-main/engine/models/policy-weights.ts'
import { openSafetensors } from '../../../src-main/engine/models/safetensors.ts'
import { createPass, gradientArrays, packMicroBatches } from '../../../src-main/engine/training/passes.ts'
import { sequenceLogprobs } from '../../../src-main/engine/training/sequence-logprobs.ts'
import { cpu } from '../../support/evaluate.ts'
import { parityCases, parityContext, parityExpectation, parityFolder } from '../../support/parity.ts'

const layouts = ['whole', 'layered'] as const
const PEFT_PREFIX = 'base_model.model.'

async function openPolicy(name: string, adapter: AdapterConfig): Promise<PolicyWeights> {
  const folder = await openModelFolder(parityFolder(name))
  try {
    return await createPolicyWeights(await cpu(), folder.config, (tensor) => folder.readTensor(tensor), adapter, 1)
  } finally {
    await folder.close()
  }
}

async function loadReferenceAdapter(name: string): Promise<{ policy: PolicyWeights; gradients: Map<string, Float32Array> }> {
  const folder = join(parityFolder(name), 'adapter')
  const config = JSON.parse(await readFile(join(folder, 'adapter_config.json'), 'utf8')) as { r: number; lora_alpha: number; target_modules: string[] }
  const policy = await openPolicy(name, { kind: 'lora', rank: config.r, alpha: config.lora_alpha, dropout: 0, targets: config.target_modules as never })
  const values = await openSafetensors(join(folder, 'adapter_model.safetensors'))
  for (const { name: own, data } of policy.trainable) data.set(await values.readFloat32(PEFT_PREFIX + own))
  await values.close()
  const file = await openSafetensors(join(parityFolder(name), 'adapter-gradients.safetensors'))
  const gradients = new Map<string, Float32Array>()
  for (const tensor of file.names) gradients.set(tensor.replace(PEFT_PREFIX, ''), await file.readFloat32(tensor))
  await file.close()
  return { policy, gradients }
}

/** Cross-entropy over all predicted positions; returns log-probabilities by sequence and the gradients. */
async function run(policy: PolicyWeights, layout: 'whole' | 'layered', sequences: readonly (readonly number[])[], maxLength: number): Promise<{ loss: number; logprobs: number[][]; gradients: Map<string, Float32Array> }> {
  const predicted = sequences.reduce((sum, ids) => sum + ids.length - 1, 0)
  const pass = createPass(await cpu(), policy, { layout, temperature: 1, loss: { kind: 'supervised' }, maxLength, headChunkTokens: 7 })
  const gradients = gradientArrays(policy)
  const logprobs: number[][] = sequences.map(() => [])
  let loss = 0
  // Two micro-batches: padding and accumulation are exercised.
  for (const { batch, order } of packMicroBatches(sequences.map((ids) => ({ ids, from: 1, columns: { weight: new Float32Array(ids.length - 1).fill(1 / predicted) } })), 44)) {
    const forward = await pass.forward(batch)
    const result = await pass.backward(batch, gradients)
    expect(Math.max(...forward.logprob.map((value, index) => Math.abs(value - result.logprob[index]!)))).toBeLessThan(1e-5)
    loss += result.loss
    let at = 0
    for (const sequence of order) {
      const count = sequences[sequence]!.length - 1
      logprobs[sequence] = [...result.logprob.subarray(at, at + count)]
      at += count
    }
  }
  await pass.release()
  return { loss, logprobs, gradients }
}

function expectLogprobs(actual: number[][], expected: readonly (readonly (number | null)[])[]): void {
  expected.forEach((row, sequence) => row.slice(1).forEach((value, index) => expect(Math.abs(actual[sequence]![index]! - value!)).toBeLessThan(1e-5 * Math.max(1, Math.abs(value!)))))
}

/** Relative to the largest entry of the tensor, as a gradient's small entries carry the noise of its large ones. */
function expectGradients(actual: ReadonlyMap<string, Float32Array>, expected: ReadonlyMap<string, Float32Array>): void {
  expect([...actual.keys()].sort()).toEqual([...expected.keys()].sort())
  for (const [name, reference] of expected) {
    const scale = reference.reduce((largest, value) => Math.max(largest, Math.abs(value)), 1e-12)
    const worst = reference.reduce((largest, value, index) => Math.max(largest, Math.abs(value - actual.get(name)![index]!)), 0)
    expect(worst / scale, name).toBeLessThan(1e-4)
  }
}

describe.each(parityCases)('%s against transformers', (name) => {
  it.each(layouts)('full parameters, %s layout: log-probabilities and gradients agree', async (layout) => {
    const expected = await parityExpectation(name)
    const policy = await openPolicy(name, { kind: 'full' })
    const { loss, logprobs, gradients } = await run(policy, layout, expected.sequences, await parityContext(name))
    expectLogprobs(logprobs, expected.logprobs)
    expect(Math.abs(loss - expected.loss)).toBeLessThan(1e-5 * Math.abs(expected.loss))
    const file = await openSafetensors(join(parityFolder(name), 'gradients.safetensors'))
    const reference = new Map<string, Float32Array>()
    for (const tensor of file.names) reference.set(tensor, await file.readFloat32(tensor))
    await file.close()
    expectGradients(gradients, reference)
  })

  it.each(layouts)('LoRA, %s layout: log-probabilities and gradients agree', async (layout) => {
    const expected = await parityExpectation(name)
    const { policy, gradients: reference } = await loadReferenceAdapter(name)
    const { logprobs, gradients } = await run(policy, layout, expected.sequences, await parityContext(name))
    expectLogprobs(logprobs, expected.adapter.logprobs)
    expectGradients(gradients, reference)
  })
})

describe('LongRoPE', () => {
  it('takes the factors of its own length for each sequence, whatever is computed beside it', async () => {
    const { alone } = await parityExpectation('phi3-short')
    const policy = await openPolicy('phi3-short', { kind: 'full' })
    // 20, 32, 33 and 50 tokens around a boundary of 32, each a forward of its own in the reference.
    expect(alone!.sequences.map((ids) => ids.length)).toEqual([20, 32, 33, 50])
    const logprobs = await sequenceLogprobs(await cpu(), policy, alone!.sequences)
    expectLogprobs(logprobs.map((row) => row.slice(1) as number[]), alone!.logprobs)
  })

  it('holds one regime for a whole run: a short sequence in a long run has the long factors', async () => {
    const { sequences, logprobs } = await parityExpectation('phi3-short')
    const policy = await openPolicy('phi3-short', { kind: 'full' })
    const short = await run(policy, 'whole', sequences, 32)
    const long = await run(policy, 'whole', sequences, 33)
    expectLogprobs(short.logprobs, logprobs)
    expect(Math.max(...long.logprobs.flat().map((value, index) => Math.abs(value - short.logprobs.flat()[index]!)))).toBeGreaterThan(0.01)
  })
})
