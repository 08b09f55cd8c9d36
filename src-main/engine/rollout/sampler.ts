// Batched sampling: prompts are prefilled once for all rollouts that share them, rows of unequal length decode side by side, a finished
// row leaves the batch and a waiting rollout takes its place. Every rollout draws from a random stream of its own, so neither the batch
// it is in nor the order of rows changes what it sees.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { UserError } from '../../contract/errors.ts'
import { embedsFrozen, weightFeeds, type PolicyWeights } from '../models/policy-weights.ts'
import { rotaryTables } from '../models/rotary.ts'
import { sampleTokens } from '../runtime/kernels.ts'
import type { Device, Program, Tensor } from '../runtime/ort.ts'
import type { RandomStream } from '../runtime/random.ts'
import { createCacheFactory, type CacheFactory, type KeyValueCache } from './cache.ts'
import { layeredSamplingProgram } from './layered-program.ts'
import { samplingProgram, singleTokenProgram } from './programs.ts'

/** The law completions are drawn from. Zero for topK and minP, one for topP switch them off; temperature 0 takes the likeliest id. */
export interface SamplingLaw {
  readonly temperature: number
  readonly topK: number
  readonly topP: number
  readonly minP: number
}

export interface GenerationRequest {
  readonly promptIds: readonly number[]
  /** One stream for each rollout of this prompt. */
  readonly streams: readonly RandomStream[]
}

export interface Rollout {
  /** Index of the request and of the rollout in it. */
  readonly request: number
  readonly index: number
  /** Sampled ids, the stop id included. */
  readonly ids: Int32Array
  /** log-probability of each id under the law it was drawn from. */
  readonly logprobs: Float32Array
  /** log-probability under softmax(logits / temperature) without truncation: what the trainer compares with. */
  readonly policyLogprobs: Float32Array
  /** Entropy in nats of softmax(logits / temperature) at each draw. */
  readonly entropies: Float32Array
  readonly finish: 'stop' | 'length'
}

export interface GenerationOptions {
  readonly law: SamplingLaw
  readonly maxNewTokens: number
  readonly slots: number
  readonly stopIds: ReadonlySet<number>
  /** Ids from here on are padding rows of the embedding: part of the softmax, never drawn. */
  readonly sampleLimit: number
  /** Called as each rollout finishes, so that scoring can begin. */
  readonly onFinished?: (rollout: Rollout) => void
  /** Called between decode steps with the number of finished and wanted rollouts; may throw to stop. */
  readonly onStep?: (finished: number, wanted: number) => void | Promise<void>
}

/** Seconds spent in each part of decoding, for the benchmark and the metrics. */
export interface GenerationTimes {
  prefill: number
  decode: number
  sampling: number
  total: number
  decodeSteps: number
  tokens: number
}

export interface Sampler {
  generate(requests: readonly GenerationRequest[], options: GenerationOptions): Promise<Rollout[]>
  /** Times of the last `generate`. */
  readonly times: GenerationTimes
  release(): Promise<void>
}

interface Row {
  readonly request: number
  readonly index: number
  readonly stream: RandomStream
  /** Tokens in the cache: prompt and all sampled ids that were fed. */
  length: number
  next: number
  readonly ids: number[]
  readonly logprobs: number[]
  readonly policyLogprobs: number[]
  readonly entropies: number[]
}

/** @param maxLength longest prompt plus completion of the run; rotary tables cover it, and it decides their regime as it does in training */
export async function createSampler(device: Device, policy: PolicyWeights, maxLength: number): Promise<Sampler> {
  const { program, decode } = await compilePrograms(device, policy)
  const caches = await createCacheFactory(device, policy)
  const half = policy.config.rotaryDimensions / 2
  const tables = rotaryTables(policy.config, maxLength)
  const shared = { cos: device.tensor(tables.cos, [maxLength, half]), sin: device.tensor(tables.sin, [maxLength, half]) }
  const times: GenerationTimes = { prefill: 0, decode: 0, sampling: 0, total: 0, decodeSteps: 0, tokens: 0 }
  return {
    times,
    async generate(requests, options) {
      checkLengths(requests, options, maxLength)
      Object.assign(times, { prefill: 0, decode: 0, sampling: 0, total: 0, decodeSteps: 0, tokens: 0 })
      const start = performance.now()
      const decodeFeeds = { ...weightFeeds(decode ?? program, policy), ...shared }
      const rollouts = await decodeAll({ device, policy, program, decode, caches, shared, decodeFeeds, times }, requests, options)
      times.total = (performance.now() - start) / 1000
      return rollouts
    },
    async release() {
      await program.release()
      await decode?.release()
      await caches.release()
    },
  }
}

/** One program for prompts, and on the CPU another for single tokens; both layer by layer where the layers are not float32 in memory. */
async function compilePrograms(device: Device, policy: PolicyWeights): Promise<{ program: Program; decode: Program | undefined }> {
  const onHost = device.kind === 'cpu'
  if (policy.frozenLayers !== undefined) {
    // Only 4-bit blocks have a fast product with float32 activations: with 8 bits onnxruntime widens the whole matrix, slower than we do.
    // Of the rest of the weights, inputs make no second copy.
    const decode = policy.frozenLayers.precision === 'int4' ? () => device.compile(singleTokenProgram(policy, {})) : () => layeredSamplingProgram(device, policy, 'token')
    return { program: await layeredSamplingProgram(device, policy, 'prompt'), decode: onHost ? await decode() : undefined }
  }
  const embedFrozen = embedsFrozen(device, policy)
  const resident = Array.from({ length: policy.config.layers }, (_, layer) => [`present.${layer}.key`, `present.${layer}.value`]).flat()
  return {
    program: await device.compile(samplingProgram(policy, { embedFrozen }), { resident }),
    decode: onHost ? await device.compile(singleTokenProgram(policy, { embedFrozen })) : undefined,
  }
}

function checkLengths(requests: readonly GenerationRequest[], options: GenerationOptions, maxLength: number): void {
  requests.forEach(({ promptIds }, index) => {
    if (promptIds.length === 0) throw new UserError({ code: 'bad-input', what: 'the prompt is empty', place: { row: index + 1, field: 'prompt' }, expected: 'at least one token' })
    if (promptIds.length + options.maxNewTokens > maxLength) {
      throw new UserError({
        code: 'bad-input',
        what: `the prompt has ${promptIds.length} tokens, with ${options.maxNewTokens} new ones that is more than the ${maxLength} the context holds`,
        place: { row: index + 1, field: 'prompt' },
        remedy: 'Shorten the prompt or lower rollout.maxNewTokens.',
      })
    }
  })
}

interface Machinery {
  readonly device: Device
  readonly policy: PolicyWeights
  /** Prompts, and on devices other than the CPU single tokens too. */
  readonly program: Program
  /** Single tokens on the CPU. */
  readonly decode: Program | undefined
  readonly caches: CacheFactory
  readonly shared: Readonly<Record<string, Tensor>>
  /** What every step of a decode feeds: weights and `shared`. */
  readonly decodeFeeds: Readonly<Record<string, Tensor>>
  readonly times: GenerationTimes
}

async function decodeAll(machinery: Machinery, requests: readonly GenerationRequest[], options: GenerationOptions): Promise<Rollout[]> {
  const waiting = requests.flatMap(({ streams }, request) => streams.map((stream, index) => ({ request, index, stream }))).reverse()
  const wanted = waiting.length
  const longest = requests.reduce((most, { promptIds }) => Math.max(most, promptIds.length), 0)
  const capacity = longest + options.maxNewTokens
  const slots = Math.max(1, Math.min(options.slots, wanted))
  const cache = await machinery.caches.create(capacity, slots, 0)
  const finished: Rollout[] = []
  let rows: Row[] = []
  const finish = (row: Row, reason: 'stop' | 'length'): void => {
    const rollout: Rollout = {
      request: row.request,
      index: row.index,
      ids: Int32Array.from(row.ids),
      logprobs: Float32Array.from(row.logprobs),
      policyLogprobs: Float32Array.from(row.policyLogprobs),
      entropies: Float32Array.from(row.entropies),
      finish: reason,
    }
    finished.push(rollout)
    options.onFinished?.(rollout)
  }
  /** Draws the next id of each row and says which rows go on. */
  const draw = (drawn: readonly Row[], logits: Float32Array, logitRows: number): Row[] => {
    const before = performance.now()
    const sampled = sampleTokens({
      logits,
      rows: logitRows,
      vocabulary: machinery.policy.config.vocabularySize,
      sampleLimit: options.sampleLimit,
      ...options.law,
      uniform: Float64Array.from(drawn, (row) => row.stream.uniform()),
    })
    machinery.times.sampling += (performance.now() - before) / 1000
    return drawn.filter((row, at) => {
      const id = sampled.ids[at] as number
      if (id < 0) throw new UserError({ code: 'engine', what: `the model's output is not finite after ${row.length} tokens of prompt ${row.request + 1}`, remedy: 'Its weights may be damaged, or training went too far: go back to an earlier checkpoint or lower the learning rate.' })
      row.ids.push(id)
      row.logprobs.push(sampled.logProbability[at] as number)
      row.policyLogprobs.push(sampled.fullLogProbability[at] as number)
      row.entropies.push(sampled.entropy[at] as number)
      row.next = id
      machinery.times.tokens++
      if (options.stopIds.has(id)) finish(row, 'stop')
      else if (row.ids.length >= options.maxNewTokens) finish(row, 'length')
      else return true
      return false
    })
  }
  while (rows.length > 0 || waiting.length > 0) {
    // onnxruntime blocks the thread: without a turn of the event loop neither commands nor finished texts would move.
    await nextTurn()
    await options.onStep?.(finished.length, wanted)
    const free = slots - rows.length
    // Refilling pays when several places are free: a prefill costs about as much as a decode step.
    if (waiting.length > 0 && (rows.length === 0 || free >= Math.max(1, slots >> 2))) {
      const joining = Array.from({ length: Math.min(free, waiting.length) }, () => waiting.pop()!).map((entry): Row => ({
        ...entry, length: requests[entry.request]!.promptIds.length, next: 0, ids: [], logprobs: [], policyLogprobs: [], entropies: [],
      }))
      rows = [...rows, ...(await prefill(machinery, requests, joining, capacity, cache, rows.length, draw))]
      continue
    }
    const made = await decodeStep(machinery, rows, cache)
    const active = draw(rows, await machinery.device.read(made['logits'] as Tensor), rows.length)
    machinery.device.discard(Object.values(made))
    if (active.length < rows.length) {
      const kept = fillHoles(rows, new Set(active))
      await cache.rearrange(kept, undefined, [])
      rows = kept.map((row) => rows[row] as Row)
    }
  }
  cache.dispose()
  return finished.sort((a, b) => a.request - b.request || a.index - b.index)
}

/** Row order after some rows left: holes are filled by rows from the end, so that few rows move in memory. */
function fillHoles(rows: readonly Row[], active: ReadonlySet<Row>): number[] {
  const kept: number[] = []
  let tail = rows.length - 1
  for (let row = 0; row < active.size; row++) {
    if (active.has(rows[row] as Row)) kept.push(row)
    else {
      while (!active.has(rows[tail] as Row)) tail--
      kept.push(tail--)
    }
  }
  return kept
}

/** Runs each distinct prompt of the joining rows once, draws every row's first id, and appends the rows that go on to the cache. */
async function prefill(
  machinery: Machinery,
  requests: readonly GenerationRequest[],
  joining: readonly Row[],
  capacity: number,
  cache: KeyValueCache,
  activeRows: number,
  draw: (rows: readonly Row[], logits: Float32Array, logitRows: number) => Row[],
): Promise<Row[]> {
  const { device, program, policy, times } = machinery
  const before = performance.now()
  const prompts = [...new Set(joining.map((row) => row.request))]
  const lengths = prompts.map((request) => requests[request]!.promptIds.length)
  const longest = Math.max(...lengths)
  const ids = new BigInt64Array(prompts.length * longest)
  prompts.forEach((request, row) => requests[request]!.promptIds.forEach((id, time) => (ids[row * longest + time] = BigInt(id))))
  const fresh = await machinery.caches.create(machinery.caches.promptCapacity(longest, capacity), prompts.length, prompts.length)
  const outputs = await program.run(
    {
      ...weightFeeds(program, policy),
      ...machinery.shared,
      ...fresh.feeds(),
      ids: device.tensor(ids, [prompts.length, longest]),
      positions: device.tensor(BigInt64Array.from({ length: ids.length }, (_, index) => BigInt(index % longest)), [prompts.length, longest]),
      lastIndex: device.tensor(Int32Array.from(lengths, (length) => length - 1), [prompts.length]),
      total: device.tensor(Int32Array.of(longest), []),
      rows: device.tensor(BigInt64Array.from(lengths, (length, row) => BigInt(row * longest + length - 1)), [prompts.length]),
    },
    fresh.targets(),
  )
  fresh.accept(outputs)
  const promptLogits = await device.read(outputs['logits'] as Tensor)
  const vocabulary = policy.config.vocabularySize
  const logits = new Float32Array(joining.length * vocabulary)
  joining.forEach((row, at) => {
    const source = prompts.indexOf(row.request)
    logits.set(promptLogits.subarray(source * vocabulary, (source + 1) * vocabulary), at * vocabulary)
  })
  times.prefill += (performance.now() - before) / 1000
  const going = draw(joining, logits, joining.length)
  await cache.rearrange(Array.from({ length: activeRows }, (_, row) => row), fresh, going.map((row) => prompts.indexOf(row.request)))
  fresh.dispose()
  return going
}

/** Feeds each row's last id. Returns the logits of its successor, [rows, vocabulary], and what else the step made that the cache did not keep. */
async function decodeStep(machinery: Machinery, rows: readonly Row[], cache: KeyValueCache): Promise<Record<string, Tensor>> {
  const { device, times } = machinery
  const before = performance.now()
  const count = rows.length
  const lengths = rows.map((row) => row.length)
  const feeds = {
    ...machinery.decodeFeeds,
    ...cache.feeds(),
    ids: device.tensor(BigInt64Array.from(rows, (row) => BigInt(row.next)), [count, 1]),
    positions: device.tensor(BigInt64Array.from(lengths, (length) => BigInt(length)), [count, 1]),
  }
  let outputs: Record<string, Tensor>
  if (machinery.decode !== undefined) {
    outputs = await machinery.decode.run({ ...feeds, mask: device.tensor(cacheMask(lengths, cache.capacity), [count, 1, 1, cache.capacity]) })
    cache.append?.(outputs, lengths)
  } else {
    outputs = await machinery.program.run(
      {
        ...feeds,
        lastIndex: device.tensor(Int32Array.from(lengths), [count]),
        total: device.tensor(Int32Array.of(Math.max(...lengths) + 1), []),
        rows: device.tensor(BigInt64Array.from({ length: count }, (_, row) => BigInt(row)), [count]),
      },
      cache.targets(),
    )
    cache.accept(outputs)
    outputs = { logits: outputs['logits'] as Tensor }
  }
  for (const row of rows) row.length++
  times.decode += (performance.now() - before) / 1000
  times.decodeSteps++
  return outputs
}

/** [rows, 1, 1, capacity]: 0 on each row's own tokens, a large negative number behind them. */
function cacheMask(lengths: readonly number[], capacity: number): Float32Array {
  const mask = new Float32Array(lengths.length * capacity)
  lengths.forEach((length, row) => mask.fill(-1e9, row * capacity + length, (row + 1) * capacity))
  return mask
}
