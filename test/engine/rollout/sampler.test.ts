// The sampler against the reference's greedy continuations, against the trainer's log-probabilities, and against itself in other batches.
import { describe, expect, it } from 'vitest'
import { openModelFolder } from '../../../src-main/engine/models/model-folder.ts'
import { createPolicyWeights, type PolicyWeights } from '../../../src-main/engine/models/policy-weights.ts'
import { linearLayers } from '../../../src-main/engine/models/weights.ts'
import { createSampler, type GenerationOptions, type Rollout } from '../../../src-main/engine/rollout/sampler.ts'
import { createStream } from '../../../src-main/engine/runtime/random.ts'
import { createPass, packMicroBatches } from '../../../src-main/engine/training/passes.ts'
import { cpu } from '../../support/evaluate.ts'
import { parityCases, parityContext, parityExpectation, parityFolder } from '../../support/parity.ts'

async function openPolicy(name: string): Promise<PolicyWeights> {
  const folder = await openModelFolder(parityFolder(name))
  const first = linearLayers(folder.config)[0]!.name
  const policy = await createPolicyWeights(await cpu(), folder.config, (tensor) => folder.readTensor(tensor), { kind: 'lora', rank: 4, alpha: 8, dropout: 0, targets: [first, 'down_proj'] }, 3)
  await folder.close()
  // Adapters that start at zero would hide a sampler that ignores them.
  for (const { name: own, data } of policy.trainable) if (own.includes('lora_B')) data.forEach((_, index) => (data[index] = Math.sin(index) * 0.05))
  return policy
}

const prompts = [[5, 9, 17, 33], [7, 11], [64, 3, 8, 21, 40, 55, 13]]
const options = (extra: Partial<GenerationOptions> = {}): GenerationOptions => ({ law: { temperature: 0.9, topK: 0, topP: 1, minP: 0 }, maxNewTokens: 24, slots: 64, stopIds: new Set([2, 31]), sampleLimit: 96, ...extra })

async function generate(policy: PolicyWeights, given: GenerationOptions, perPrompt = 5, context = 64): Promise<Rollout[]> {
  const sampler = await createSampler(await cpu(), policy, context)
  const rollouts = await sampler.generate(
    prompts.map((promptIds, prompt) => ({ promptIds, streams: Array.from({ length: perPrompt }, (_, rollout) => createStream(1, 'sample', 1, prompt, rollout)) })),
    given,
  )
  await sampler.release()
  return rollouts
}

describe.each(parityCases)('sampling from %s', (name) => {
  it('continues greedily as transformers does', async () => {
    const folder = await openModelFolder(parityFolder(name))
    const policy = await createPolicyWeights(await cpu(), folder.config, (tensor) => folder.readTensor(tensor), { kind: 'full' }, 1)
    await folder.close()
    const { greedy } = await parityExpectation(name)
    const sampler = await createSampler(await cpu(), policy, await parityContext(name))
    const rollouts = await sampler.generate(greedy.map(({ prompt }) => ({ promptIds: prompt, streams: [createStream(1, 'sample')] })), {
      ...options({ stopIds: new Set() }), maxNewTokens: 16, law: { temperature: 0, topK: 0, topP: 1, minP: 0 },
    })
    await sampler.release()
    expect(rollouts.map((rollout) => [...rollout.ids])).toEqual(greedy.map(({ continuation }) => continuation))
  })

  it('reports log-probabilities that equal the trainer\'s', async () => {
    const policy = await openPolicy(name)
    const maxLength = await parityContext(name)
    const rollouts = await generate(policy, options(), 5, maxLength)
    const pass = createPass(await cpu(), policy, { layout: 'whole', temperature: 0.9, loss: { kind: 'supervised' }, maxLength, headChunkTokens: 64 })
    const sequences = rollouts.map((rollout) => ({ ids: [...prompts[rollout.request]!, ...rollout.ids], from: prompts[rollout.request]!.length, columns: {} }))
    for (const { batch, order } of packMicroBatches(sequences, 256)) {
      const { logprob, entropy } = await pass.forward(batch)
      let at = 0
      for (const member of order) {
        for (let t = 0; t < rollouts[member]!.ids.length; t++, at++) {
          expect(Math.abs(logprob[at]! - rollouts[member]!.policyLogprobs[t]!)).toBeLessThan(1e-4)
          expect(Math.abs(entropy[at]! - rollouts[member]!.entropies[t]!)).toBeLessThan(1e-4)
        }
      }
    }
    await pass.release()
  })
})

describe('batching', () => {
  it('does not change what a rollout draws: one, four or all side by side', async () => {
    const policy = await openPolicy('qwen2-tied-sharded')
    const [alone, few, all] = [await generate(policy, options({ slots: 1 })), await generate(policy, options({ slots: 4 })), await generate(policy, options())]
    expect(few.map((rollout) => [...rollout.ids])).toEqual(alone.map((rollout) => [...rollout.ids]))
    expect(all.map((rollout) => [...rollout.ids])).toEqual(alone.map((rollout) => [...rollout.ids]))
    expect(new Set(all.map((rollout) => rollout.ids.length)).size).toBeGreaterThan(1) // unequal lengths were exercised
    expect(all.some((rollout) => rollout.finish === 'stop')).toBe(true)
    expect(all.some((rollout) => rollout.finish === 'length')).toBe(true)
  })

  it('keeps the stop id, never draws padding ids, and announces each rollout once', async () => {
    const policy = await openPolicy('llama-tied')
    const announced: Rollout[] = []
    const rollouts = await generate(policy, options({ sampleLimit: 40, slots: 4, onFinished: (rollout) => announced.push(rollout) }))
    expect(announced).toHaveLength(rollouts.length)
    for (const rollout of rollouts) {
      expect(Math.max(...rollout.ids)).toBeLessThan(40)
      expect([2, 31].includes(rollout.ids.at(-1)!)).toBe(rollout.finish === 'stop')
    }
  })

  it('names the prompt that does not fit the context', async () => {
    const policy = await openPolicy('llama-tied')
    await expect(generate(policy, options({ maxNewTokens: 60 }))).rejects.toThrow(/row 3, prompt: the prompt has 7 tokens, with 60 new ones that is more than the 64/)
  })
})
