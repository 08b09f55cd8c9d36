// Log-probabilities of given sequences: what `satchel logprobs` prints and what exports are compared by.
import type { PolicyWeights } from '../models/policy-weights.ts'
import type { Device } from '../runtime/ort.ts'
import { createPass, packMicroBatches } from './passes.ts'

/** Padded tokens of one pass; bounds memory. */
const microBatchTokens = 4096
const headChunkTokens = 1024

/**
 * Log-probability of every token given those before it, at temperature 1.
 * @param sequences ids below the vocabulary size; at least one each
 * @returns one list a sequence, as long as it; the first entry is null, since nothing comes before it
 */
export async function sequenceLogprobs(device: Device, policy: PolicyWeights, sequences: readonly (readonly number[])[], onProgress?: (done: number, total: number) => void): Promise<(number | null)[][]> {
  const longest = sequences.reduce((most, ids) => Math.max(most, ids.length), 1)
  const result: (number | null)[][] = sequences.map((ids) => ids.map(() => null))
  // A single token predicts nothing.
  const predicting = sequences.map((ids, index) => ({ ids, index })).filter(({ ids }) => ids.length > 1)
  if (predicting.length === 0) return result
  const pass = createPass(device, policy, { layout: 'layered', temperature: 1, loss: { kind: 'supervised' }, maxLength: longest, headChunkTokens })
  try {
    let done = 0
    for (const { batch, order } of packMicroBatches(predicting.map(({ ids }) => ({ ids, from: 1, columns: {} })), microBatchTokens)) {
      const { logprob } = await pass.forward(batch)
      let at = 0
      for (const member of order) {
        const { ids, index } = predicting[member] as (typeof predicting)[number]
        for (let time = 1; time < ids.length; time++) (result[index] as (number | null)[])[time] = logprob[at++] as number
      }
      done += order.length
      onProgress?.(done, predicting.length)
    }
  } finally {
    await pass.release()
  }
  return result
}
