// Log-probabilities of given sequences: what `satchel logprobs` prints and what exports are compared by.
import type { PolicyWeights } from '../models/policy-weights.ts'
import { rotaryRegime } from '../models/rotary.ts'
import type { Device } from '../runtime/ort.ts'
import { createPass, packMicroBatches } from './passes.ts'

/** Padded tokens of one pass; bounds memory. */
const microBatchTokens = 4096
const headChunkTokens = 1024

/**
 * Log-probability of every token given those before it, at temperature 1. A sequence's numbers do not depend on the others: under LongRoPE
 * each has the regime of its own length, or all have that of `longest`.
 * @param sequences ids below the vocabulary size; at least one each
 * @param longest longest prompt plus completion of a run, whose regime they take; no sequence may be longer
 * @returns one list a sequence, as long as it; the first entry is null, since nothing comes before it
 */
export async function sequenceLogprobs(device: Device, policy: PolicyWeights, sequences: readonly (readonly number[])[], onProgress?: (done: number, total: number) => void, longest?: number): Promise<(number | null)[][]> {
  const result: (number | null)[][] = sequences.map((ids) => ids.map(() => null))
  // A single token predicts nothing.
  const predicting = sequences.map((ids, index) => ({ ids, index })).filter(({ ids }) => ids.length > 1)
  let done = 0
  for (const regime of ['short', 'long'] as const) {
    const members = predicting.filter(({ ids }) => rotaryRegime(policy.config, longest ?? ids.length) === regime)
    if (members.length === 0) continue
    const maxLength = longest ?? members.reduce((most, { ids }) => Math.max(most, ids.length), 0)
    const pass = createPass(device, policy, { layout: 'layered', temperature: 1, loss: { kind: 'supervised' }, maxLength, headChunkTokens })
    try {
      for (const { batch, order } of packMicroBatches(members.map(({ ids }) => ({ ids, from: 1, columns: {} })), microBatchTokens)) {
        const { logprob } = await pass.forward(batch)
        let at = 0
        for (const member of order) {
          const { ids, index } = members[member] as (typeof members)[number]
          for (let time = 1; time < ids.length; time++) (result[index] as (number | null)[])[time] = logprob[at++] as number
        }
        done += order.length
        onProgress?.(done, predicting.length)
      }
    } finally {
      await pass.release()
    }
  }
  return result
}
