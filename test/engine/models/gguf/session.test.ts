// A GGUF file used as any model: sampled, and asked for log-probabilities, beside the Hugging Face folder with the same weights.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { runConfigSchema } from '../../../../src-main/contract/run-config.ts'
import { openModelFolder, writeModelFolder } from '../../../../src-main/engine/models/model-folder.ts'
import { createStream } from '../../../../src-main/engine/runtime/random.ts'
import { openModelSession } from '../../../../src-main/engine/training/session.ts'
import { sequenceLogprobs } from '../../../../src-main/engine/training/sequence-logprobs.ts'
import { tinyGguf } from '../../../support/gguf-fixture.ts'
import { temporaryFolder } from '../fixtures.ts'

async function answers(model: string, weights: Record<string, unknown>): Promise<{ ids: number[][]; logprobs: (number | null)[][] }> {
  const session = await openModelSession(runConfigSchema.parse({ model, data: { prompts: '-' }, device: 'cpu', threads: 1, adapter: { kind: 'lora', rank: 2, targets: ['q_proj'] }, weights }))
  try {
    const promptIds = session.encodePrompt({ id: 'a', prompt: '!"#$' })
    const sampler = await session.openSampler(20)
    const rollouts = await sampler.generate([{ promptIds, streams: [createStream(1, 'a'), createStream(1, 'b')] }], { law: { temperature: 1, topK: 0, topP: 1, minP: 0 }, maxNewTokens: 12, slots: 2, stopIds: session.stopIds, sampleLimit: session.tokenizer.size })
    return { ids: rollouts.map(({ ids }) => [...ids]), logprobs: await sequenceLogprobs(session.device, session.policy, [[1, 2, 3, 4, 5, 6]]) }
  } finally {
    await session.close()
  }
}

it.each([['in memory', {}], ['as stored', { precision: 'stored' }], ['a layer at a time', { precision: 'stored', streamLayers: true }]])('weights %s: samples and log-probabilities are those of the folder', async (_, weights) => {
  const file = join(temporaryFolder(), 'model.gguf')
  await writeFile(file, tinyGguf())
  const model = await openModelFolder(file)
  const folder = join(temporaryFolder(), 'folder')
  await writeModelFolder(folder, { config: model.config, tensors: (name) => model.readTensor(name), storedType: 'float32', tokenizerFrom: file })
  await model.close()
  const [own, expected] = [await answers(file, weights), await answers(folder, {})]
  expect(own.ids).toEqual(expected.ids)
  expect(own.ids.flat().length).toBeGreaterThan(4)
  own.logprobs.flat().forEach((value, index) => {
    const other = expected.logprobs.flat()[index] as number | null
    if (value === null || other === null) expect(value).toBe(other)
    else expect(value).toBeCloseTo(other, 5)
  })
})
