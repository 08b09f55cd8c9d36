// Do written files hold the policy they came from? Fixed sequences and prompts are run through the policy and through what was written.
import { createSampler } from '../rollout/sampler.ts'
import type { Device } from '../runtime/ort.ts'
import { createStream } from '../runtime/random.ts'
import { sequenceLogprobs } from '../training/sequence-logprobs.ts'
import type { PolicyWeights } from './policy-weights.ts'

/** What both are asked. A few hundred tokens show a wrong layer, and take seconds. */
export interface FixedTexts {
  /** Token ids whose log-probabilities are compared. */
  readonly sequences: readonly (readonly number[])[]
  /** Token ids that are continued greedily. */
  readonly prompts: readonly (readonly number[])[]
  /** Tokens of each continuation; stop ids do not end it. */
  readonly newTokens: number
  /** Longest prompt plus completion of the run: it decides the rotary regime, and nothing above is longer. */
  readonly longest: number
}

/** What a model answers: log-probabilities in nats (the first of a sequence is null) and greedy continuations. */
export interface Answers {
  readonly logprobs: readonly (readonly (number | null)[])[]
  readonly continuations: readonly (readonly number[])[]
}

/** How a written model compares with the policy it came from, over all predicted tokens. */
export interface ExportComparison {
  readonly sequences: number
  readonly tokens: number
  /** Largest and mean absolute difference of log-probabilities, in nats. */
  readonly largestDifference: number
  readonly meanDifference: number
  /** Prompts continued greedily by `tokens` tokens each, and how many came out the same to the last token. */
  readonly greedy: { readonly prompts: number; readonly tokens: number; readonly equal: number }
}

/**
 * What a policy answers, under its run's rotary regime.
 * @param onProgress counts texts; called between two calls into the runtime, it may throw to stop
 */
export async function askPolicy(device: Device, policy: PolicyWeights, texts: FixedTexts, onProgress?: (done: number, total: number) => void): Promise<Answers> {
  const total = texts.sequences.length + texts.prompts.length
  const logprobs = await sequenceLogprobs(device, policy, texts.sequences, (done) => onProgress?.(done, total), texts.longest)
  if (texts.prompts.length === 0) return { logprobs, continuations: [] }
  const sampler = await createSampler(device, policy, texts.longest)
  try {
    const rollouts = await sampler.generate(
      texts.prompts.map((promptIds, index) => ({ promptIds, streams: [createStream(0, 'export', index)] })),
      {
        law: { temperature: 0, topK: 0, topP: 1, minP: 0 },
        maxNewTokens: texts.newTokens,
        slots: texts.prompts.length,
        stopIds: new Set(),
        // Other programs know no padding rows of the embedding: they take the likeliest of all.
        sampleLimit: policy.config.vocabularySize,
        onStep: (finished) => onProgress?.(texts.sequences.length + finished, total),
      },
    )
    return { logprobs, continuations: rollouts.map(({ ids }) => [...ids]) }
  } finally {
    await sampler.release()
  }
}

/** Compares what the written model answered with what the policy did. A missing or NaN value counts as an infinite difference. */
export function compareAnswers(texts: FixedTexts, own: Answers, written: Answers): ExportComparison {
  const theirs = written.logprobs.flat()
  const differences = own.logprobs.flat().flatMap((value, index) => {
    if (value === null) return []
    const difference = Math.abs(value - (theirs[index] ?? NaN))
    return [Number.isNaN(difference) ? Infinity : difference]
  })
  return {
    sequences: texts.sequences.length,
    tokens: differences.length,
    largestDifference: differences.reduce((most, value) => Math.max(most, value), 0),
    meanDifference: differences.reduce((sum, value) => sum + value, 0) / Math.max(1, differences.length),
    greedy: {
      prompts: texts.prompts.length,
      tokens: texts.newTokens,
      equal: own.continuations.filter((ids, index) => ids.join() === written.continuations[index]?.join()).length,
    },
  }
}
