// An exported ONNX model asked fixed texts, by nothing but what its file says: names, shapes, and onnxruntime.
import { UserError } from '../../../contract/errors.ts'
import { openModelFile } from '../../runtime/ort.ts'
import type { Device, ModelFile, Tensor } from '../../runtime/ort.ts'
import type { Answers, FixedTexts } from '../export-comparison.ts'

/** Tokens of one call: bounds the logits, and puts the cache to use. */
const PIECE = 64

/** A text being read: the caches of what was read so far. */
interface Reading {
  readonly length: number
  readonly caches: Readonly<Record<string, Tensor>>
}

export interface AskOptions {
  /** Keep no second copy of the weights: slower, for models that fill the memory. */
  readonly lean?: boolean
  readonly onProgress?: (done: number, total: number) => void
}

/**
 * Log-probabilities and greedy continuations of an ONNX file, one text at a time.
 * @throws UserError `bad-input` when the file cannot be loaded or is no decoder with a cache
 */
export async function askOnnxModel(device: Device, path: string, texts: FixedTexts, { lean = false, onProgress }: AskOptions = {}): Promise<Answers> {
  const model = await openModelFile(path, device.threads, lean)
  try {
    checkNames(model, path)
    const reader = createReader(device, model)
    const [steps, logprobs, continuations] = [texts.sequences.length + texts.prompts.length, [] as (number | null)[][], [] as number[][]]
    for (const ids of texts.sequences) {
      logprobs.push(await reader.logprobs(ids))
      onProgress?.(logprobs.length, steps)
    }
    for (const prompt of texts.prompts) {
      continuations.push(await reader.continuation(prompt, texts.newTokens))
      onProgress?.(logprobs.length + continuations.length, steps)
    }
    return { logprobs, continuations }
  } finally {
    await model.release()
  }
}

function checkNames({ inputNames, outputNames }: ModelFile, path: string): void {
  const missing = ['input_ids', 'attention_mask', 'position_ids', 'past_key_values.0.key'].find((name) => !inputNames.includes(name))
  if (missing === undefined && outputNames.includes('logits')) return
  throw new UserError({ code: 'bad-input', what: 'this is no decoder with a cache', place: { file: path, field: missing ?? 'logits' }, expected: 'the inputs and outputs that onnxruntime-genai and transformers.js feed' })
}

function createReader(device: Device, model: ModelFile) {
  const cacheInputs = model.inputNames.filter((name) => name.startsWith('past_key_values.'))
  const empty: Reading = {
    length: 0,
    caches: Object.fromEntries(cacheInputs.map((name) => {
      const dims = model.inputShape(name).map((size) => (typeof size === 'number' ? size : size === 'batch_size' ? 1 : 0))
      return [name, device.tensor(new Float32Array(0), dims)]
    })),
  }
  /** Reads on; logits [ids, vocabulary]. */
  const read = async ({ length, caches }: Reading, ids: readonly number[]): Promise<{ logits: Float32Array; reading: Reading }> => {
    const whole = length + ids.length
    const outputs = await model.run({
      ...caches,
      input_ids: device.tensor(BigInt64Array.from(ids, (id) => BigInt(id)), [1, ids.length]),
      attention_mask: device.tensor(new BigInt64Array(whole).fill(1n), [1, whole]),
      position_ids: device.tensor(BigInt64Array.from(ids, (_, index) => BigInt(length + index)), [1, ids.length]),
    })
    const next = Object.fromEntries(cacheInputs.map((name) => [name, outputs[name.replace('past_key_values.', 'present.')] as Tensor]))
    return { logits: await device.read(outputs['logits'] as Tensor), reading: { length: whole, caches: next } }
  }
  /** Reads a text piece by piece; `each` sees the logits behind every token. */
  const readAll = async (ids: readonly number[], each: (logits: Float32Array, time: number) => void): Promise<Reading> => {
    let reading = empty
    for (let from = 0; from < ids.length; from += PIECE) {
      const piece = ids.slice(from, from + PIECE)
      const result = await read(reading, piece)
      reading = result.reading
      const vocabulary = result.logits.length / piece.length
      piece.forEach((_, index) => each(result.logits.subarray(index * vocabulary, (index + 1) * vocabulary), from + index))
    }
    return reading
  }
  return {
    async logprobs(ids: readonly number[]): Promise<(number | null)[]> {
      const result: (number | null)[] = ids.map(() => null)
      await readAll(ids, (logits, time) => {
        const next = ids[time + 1]
        if (next !== undefined) result[time + 1] = logProbability(logits, next)
      })
      return result
    },
    async continuation(prompt: readonly number[], newTokens: number): Promise<number[]> {
      const written: number[] = []
      let reading = await readAll(prompt, (logits, time) => {
        if (time === prompt.length - 1) written.push(likeliest(logits))
      })
      while (written.length < newTokens) {
        const result = await read(reading, written.slice(-1))
        reading = result.reading
        written.push(likeliest(result.logits))
      }
      return written
    },
  }
}

/** log softmax(logits)[id] in double precision. */
function logProbability(logits: Float32Array, id: number): number {
  const most = logits.reduce((a, b) => Math.max(a, b), -Infinity)
  let sum = 0
  for (const value of logits) sum += Math.exp(value - most)
  return (logits[id] as number) - most - Math.log(sum)
}

/** Index of the largest; the first of equals. */
function likeliest(logits: Float32Array): number {
  let best = 0
  for (let id = 1; id < logits.length; id++) if ((logits[id] as number) > (logits[best] as number)) best = id
  return best
}
