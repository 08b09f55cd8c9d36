// The last check of a verification: the model is made to write a few tokens.
import { freemem } from 'node:os'
import type { ModelDetails } from '../engine/models/model-summary.ts'
import { createStream } from '../engine/runtime/random.ts'
import { encodePrompts, longestSequence } from '../engine/training/prompts.ts'
import { bytes } from './cli-output.ts'
import { openModel } from './open-model.ts'

const writtenTokens = 16
/** On the CPU weights are held as float32, and once more inside the programs that sample and that prefill. */
const residentBytesPerParameter = 12

/** Writes a short answer greedily on the CPU; says why where memory would not do. @throws UserError when the model cannot be run */
export async function writeAFewTokens(path: string, { parameters }: ModelDetails): Promise<{ text: string } | { skipped: string }> {
  const needed = parameters * residentBytesPerParameter
  if (needed > 0.9 * freemem()) return { skipped: `no generation was tried: it needs about ${bytes(needed)} of memory, ${bytes(freemem())} are free` }
  const { session } = await openModel(path, { device: 'cpu' })
  try {
    const prompts = encodePrompts([{ id: 'hello', prompt: 'Hello! Who are you?', row: 1 }], session.encodePrompt, { contextTokens: session.contextTokens, maxNewTokens: writtenTokens, file: path })
    const sampler = await session.openSampler(longestSequence(prompts, writtenTokens))
    const [rollout] = await sampler.generate(
      prompts.map((promptIds) => ({ promptIds, streams: [createStream(1, 'verify')] })),
      { law: { temperature: 0, topK: 0, topP: 1, minP: 0 }, maxNewTokens: writtenTokens, slots: 1, stopIds: session.stopIds, sampleLimit: session.tokenizer.size },
    )
    return { text: session.tokenizer.tokenOffsets(rollout?.ids ?? []).text }
  } finally {
    await session.close()
  }
}
