// The last check of a verification: the model is made to write a few tokens.
import { freemem } from 'node:os'
import { runConfigSchema } from '../contract/run-config.ts'
import type { RunConfig } from '../contract/run-config.ts'
import { openModelFolder } from '../engine/models/model-folder.ts'
import { createStream } from '../engine/runtime/random.ts'
import { planMemory } from '../engine/training/memory-plan.ts'
import { encodePrompts, longestSequence } from '../engine/training/prompts.ts'
import { openModelSession } from '../engine/training/session.ts'
import { bytes } from './cli-output.ts'

const writtenTokens = 16
const prompt = { id: 'hello', prompt: 'Hello! Who are you?', row: 1 }
/** Tokens the memory is planned for: the prompt is short, but a template may say much around it. */
const plannedTokens = 512
/** Left to the rest of the machine. */
const usableShare = 0.9

/**
 * Writes a short answer greedily on the CPU, in the most exact precision that the memory allows.
 * @param memory bytes that are free
 * @returns the text, and how the weights were held where that was not float32; or why nothing was tried
 * @throws UserError when the model cannot be run
 */
export async function writeAFewTokens(path: string, memory = freemem()): Promise<{ text: string; how?: string } | { skipped: string }> {
  const folder = await openModelFolder(path)
  await folder.close()
  // An adapter that changes nothing: a frozen model may be held in fewer bits.
  const plans = (['fp32', 'stored', 'int4'] as const).map((precision) => {
    const config = runConfigSchema.parse({ model: path, data: { prompts: '-' }, device: 'cpu', adapter: { kind: 'lora', rank: 1 }, weights: { precision }, rollout: { promptsPerStep: 1, slots: 1, maxNewTokens: writtenTokens }, evaluation: { every: 0 } })
    return { precision, config, needed: planMemory(folder.config, config, { promptTokens: plannedTokens - writtenTokens, longest: plannedTokens }, memory).generationPeak }
  })
  const fitting = plans.find(({ needed }) => needed <= usableShare * memory)
  if (fitting === undefined) return { skipped: `no generation was tried: even in int4 it needs about ${bytes(plans.at(-1)?.needed ?? 0)} of memory, ${bytes(memory)} are free` }
  const text = await write(fitting.config)
  return fitting.precision === 'fp32' ? { text } : { text, how: fitting.precision === 'stored' ? 'its layers read as they are stored' : 'its layers in int4' }
}

async function write(config: RunConfig): Promise<string> {
  const session = await openModelSession(config)
  try {
    const prompts = encodePrompts([prompt], session.encodePrompt, { contextTokens: session.contextTokens, maxNewTokens: writtenTokens, file: config.model })
    const sampler = await session.openSampler(longestSequence(prompts, writtenTokens))
    const [rollout] = await sampler.generate(
      prompts.map((promptIds) => ({ promptIds, streams: [createStream(1, 'verify')] })),
      { law: { temperature: 0, topK: 0, topP: 1, minP: 0 }, maxNewTokens: writtenTokens, slots: 1, stopIds: session.stopIds, sampleLimit: session.tokenizer.size },
    )
    return session.tokenizer.tokenOffsets(rollout?.ids ?? []).text
  } finally {
    await session.close()
  }
}
