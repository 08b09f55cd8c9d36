// A session opens sampler and training pass for one and the same length of sequence, which decides the rotary regime of a LongRoPE model.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { runConfigSchema } from '../../../src-main/contract/run-config.ts'
import type { DecoderConfig } from '../../../src-main/engine/models/config.ts'
import { createStream } from '../../../src-main/engine/runtime/random.ts'
import { packMicroBatches } from '../../../src-main/engine/training/passes.ts'
import { longestSequence } from '../../../src-main/engine/training/prompts.ts'
import { openTrainingSession } from '../../../src-main/engine/training/session.ts'
import { useTemporaryFolder } from '../../support/run-folder.ts'
import { writeTinyModel } from '../../support/tiny-model.ts'

const temporaryFolder = useTemporaryFolder()

/** A Phi decoder of 128 positions whose short factors hold for 64 and whose long ones turn hardly at all. */
const phi: Partial<DecoderConfig> = {
  family: 'phi3', packedProjections: true, qkvBias: false, rmsEpsilon: 1e-5, rotaryDimensions: 12,
  ropeScaling: { kind: 'longrope', shortFactors: [1, 1, 1, 1, 1, 1], longFactors: [40, 40, 40, 40, 40, 40], originalPositions: 64, attentionFactor: Math.sqrt(1 + Math.log(2) / Math.log(64)) },
}

/** Samples with the session's sampler and computes the same log-probabilities with its pass. */
async function sampledAndTrained(maxNewTokens: number): Promise<{ longest: number; largestDifference: number; fixedPass: number[] }> {
  const folder = await temporaryFolder()
  await writeTinyModel(join(folder, 'model'), 'float32', phi)
  const rows = ['Make a card titled One.', 'Make a counter named Apples, please.'].map((prompt, index) => ({ id: `p${index}`, prompt, requirements: [], split: 'train' }))
  await writeFile(join(folder, 'prompts.jsonl'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
  const adapter = { kind: 'lora', rank: 2, alpha: 4, dropout: 0, targets: ['all-linear'] } as const
  const config = runConfigSchema.parse({ model: join(folder, 'model'), data: { prompts: join(folder, 'prompts.jsonl') }, device: 'cpu', threads: 1, adapter, rollout: { maxNewTokens }, evaluation: { every: 0 } })
  const session = await openTrainingSession(config)
  try {
    const prompts = session.train.map((row) => session.encodePrompt(row))
    const law = { temperature: 1, topK: 0, topP: 1, minP: 0 }
    const requests = prompts.map((promptIds, prompt) => ({ promptIds, streams: [createStream(1, 'sample', prompt, 0), createStream(1, 'sample', prompt, 1)] }))
    const rollouts = await session.source.sampler.generate(requests, { law, maxNewTokens: 8, slots: 4, stopIds: new Set(), sampleLimit: session.tokenizer.size })
    const sequences = rollouts.map(({ request, ids }) => ({ ids: [...prompts[request]!, ...ids], from: prompts[request]!.length, columns: {} }))
    let largestDifference = 0
    for (const { batch, order } of packMicroBatches(sequences, 4096)) {
      const { logprob } = await session.pass.forward(batch)
      const sampled = order.flatMap((member) => [...rollouts[member]!.policyLogprobs])
      expect(logprob.length).toBe(sampled.length)
      sampled.forEach((value, index) => (largestDifference = Math.max(largestDifference, Math.abs(value - logprob[index]!))))
    }
    // The same ids in every session: what differs then is the regime.
    const fixed = packMicroBatches([{ ids: prompts[1]!, from: 1, columns: {} }], 4096)[0]!
    return { longest: longestSequence(prompts, maxNewTokens), largestDifference, fixedPass: [...(await session.pass.forward(fixed.batch)).logprob] }
  } finally {
    await session.close()
  }
}

describe('a training session of a LongRoPE model', () => {
  it('samples and trains in the short regime when its own longest sequence is short, in the long one otherwise', async () => {
    const short = await sampledAndTrained(8)
    const long = await sampledAndTrained(80)
    expect([short.longest <= 64, long.longest > 64]).toEqual([true, true])
    // In another regime than the trainer's the sampler would be off by far more than rounding.
    expect(short.largestDifference).toBeLessThan(1e-4)
    expect(long.largestDifference).toBeLessThan(1e-4)
    expect(Math.max(...short.fixedPass.map((value, index) => Math.abs(value - long.fixedPass[index]!)))).toBeGreaterThan(1e-3)
  })
})
