// Runs the training graphs over micro-batches: log-probabilities out, gradients added up.
import { resolveShape, type Graph } from '../graph/index.ts'
import { causalMask } from '../models/attention.ts'
import { embedsFrozen, weightFeeds, type PolicyWeights } from '../models/policy-weights.ts'
import { firstOfKind, rotaryTables } from '../models/rotary.ts'
import type { Device, Program, Tensor } from '../runtime/ort.ts'
import { createStream } from '../runtime/random.ts'
import { lossInputNames, type LossKind } from './loss-graph.ts'
import { embedBackwardProgram, embedProgram, GRADIENT, headProgram, layerProgram, wholeProgram } from './programs.ts'

/** Right-padded sequences and the positions whose next token is predicted. */
export interface MicroBatch {
  readonly batch: number
  readonly length: number
  /** [batch * length], padding is any valid id. */
  readonly ids: BigInt64Array
  /** [M] flat positions (sequence * length + time) whose successor is predicted. */
  readonly rows: BigInt64Array
  /** [M] the successors. */
  readonly targets: BigInt64Array
  /** [M] each: what the loss declares (weight, advantage, ...). */
  readonly columns: Readonly<Record<string, Float32Array>>
}

export interface PassResult {
  /** Sum of weighted token losses; 0 for a forward pass. */
  readonly loss: number
  /** [M] log-probability of each target under the law at the pass's temperature. */
  readonly logprob: Float32Array
  /** [M] entropy of that law in nats. */
  readonly entropy: Float32Array
}

export interface TrainingPass {
  readonly layout: 'whole' | 'layered'
  /** Log-probabilities only. */
  forward(batch: MicroBatch): Promise<PassResult>
  /** Also adds d loss / d parameter into `gradients`. `dropoutKey` names this pass among all of the run, for its dropout masks. */
  backward(batch: MicroBatch, gradients: ReadonlyMap<string, Float32Array>, dropoutKey?: readonly number[]): Promise<PassResult>
  release(): Promise<void>
}

export interface PassOptions {
  readonly layout: 'whole' | 'layered'
  readonly temperature: number
  readonly loss: LossKind
  /** Longest prompt plus completion of the run: rotary tables cover it, and it decides their regime. The sampler's must be the same. */
  readonly maxLength: number
  readonly headChunkTokens: number
  /** False gives the base model of a LoRA policy. */
  readonly adapters?: boolean
  /** Frozen weights inside the graphs (CPU, whole layout): faster, one more copy in memory. */
  readonly embedFrozen?: boolean
  /** Seed of the adapters' dropout masks; without it dropout is off. */
  readonly dropoutSeed?: number
}

/** A zeroed gradient array for every trainable parameter. */
export function gradientArrays(policy: PolicyWeights): Map<string, Float32Array> {
  return new Map(policy.trainable.map(({ name, data }) => [name, new Float32Array(data.length)]))
}

function addInto(sum: Float32Array | undefined, more: Float32Array, name: string): void {
  if (sum === undefined || sum.length !== more.length) throw new Error(`gradient of ${name}: ${more.length} elements for ${sum?.length ?? 'no'} parameters`)
  for (let i = 0; i < sum.length; i++) sum[i] = (sum[i] as number) + (more[i] as number)
}

async function collectGradients(device: Device, outputs: Readonly<Record<string, Tensor>>, gradients: ReadonlyMap<string, Float32Array>, prefix = ''): Promise<void> {
  for (const [output, tensor] of Object.entries(outputs)) {
    if (!output.startsWith(GRADIENT)) continue
    const name = prefix + output.slice(GRADIENT.length)
    addInto(gradients.get(name), await device.read(tensor), name)
  }
}

/** Sequence inputs as tensors; masks and tables are kept between calls. */
function sequenceTensors(device: Device, policy: PolicyWeights, maxLength: number): (batch: MicroBatch) => Record<string, Tensor> {
  const half = policy.config.rotaryDimensions / 2
  const tables = rotaryTables(policy.config, maxLength)
  const cos = device.tensor(tables.cos, [maxLength, half])
  const sin = device.tensor(tables.sin, [maxLength, half])
  const masks = new Map<number, Tensor>()
  return ({ batch, length, ids }) => {
    if (length > maxLength) throw new Error(`a sequence of ${length} tokens exceeds the ${maxLength} the programs were made for`)
    let mask = masks.get(length)
    if (mask === undefined) masks.set(length, (mask = device.tensor(causalMask(length), [length, length])))
    const positions = BigInt64Array.from({ length: batch * length }, (_, index) => BigInt(index % length))
    return { ids: device.tensor(ids, [batch, length]), positions: device.tensor(positions, [batch, length]), mask, cos, sin }
  }
}

function pick(program: Program, feeds: Readonly<Record<string, Tensor>>): Record<string, Tensor> {
  return Object.fromEntries(program.inputNames.flatMap((name) => (feeds[name] === undefined ? [] : [[name, feeds[name]]])))
}

function columnFeeds(device: Device, batch: MicroBatch, names: readonly string[], from = 0, to = batch.rows.length): Record<string, Tensor> {
  const feeds: Record<string, Tensor> = { rows: device.tensor(batch.rows.subarray(from, to), [to - from]), targets: device.tensor(batch.targets.subarray(from, to), [to - from, 1]) }
  for (const name of names) {
    const column = batch.columns[name]
    if (column === undefined || column.length !== batch.rows.length) throw new Error(`the loss needs a column ${name} of ${batch.rows.length} numbers, got ${column?.length ?? 'none'}`)
    feeds[name] = device.tensor(column.subarray(from, to), [to - from, 1])
  }
  return feeds
}

async function result(device: Device, outputs: Readonly<Record<string, Tensor>>): Promise<PassResult> {
  const loss = outputs['loss']
  return {
    loss: loss === undefined ? 0 : ((await device.read(loss))[0] as number),
    logprob: await device.read(outputs['logprob'] as Tensor),
    entropy: await device.read(outputs['entropy'] as Tensor),
  }
}

/**
 * Masks for what adapters read: each element is 0 with probability p, otherwise 1/(1-p). Every mask has a stream of its own, so the
 * layered layout makes the same one again when it recomputes a layer.
 */
function dropoutFeeds(device: Device, program: Program, policy: PolicyWeights, batch: MicroBatch, seed: number | undefined, key: readonly number[], layer = 0): Record<string, Tensor> {
  const probability = policy.adapter.kind === 'lora' ? policy.adapter.dropout : 0
  if (seed === undefined || probability === 0) return {}
  const sites = program.inputNames.filter((name) => name.startsWith('dropout.'))
  return Object.fromEntries(
    sites.map((name, site) => {
      const dims = resolveShape(program.inputShape(name), { B: batch.batch, T: batch.length })
      const stream = createStream(seed, 'dropout', ...key, layer, site)
      const mask = Float32Array.from({ length: dims.reduce((product, size) => product * size, 1) }, () => (stream.uniform() < probability ? 0 : 1 / (1 - probability)))
      return [name, device.tensor(mask, dims)]
    }),
  )
}

/** Programs are compiled when first used: a run without KL never builds the reference forward pass. */
function lazily(build: () => Promise<Program>): { get(): Promise<Program>; release(): Promise<void> } {
  let program: Promise<Program> | undefined
  return {
    get: () => (program ??= build()),
    release: async () => {
      if (program !== undefined) await (await program).release()
    },
  }
}

export function createPass(device: Device, policy: PolicyWeights, options: PassOptions): TrainingPass {
  return options.layout === 'whole' ? wholePass(device, policy, options) : layeredPass(device, policy, options)
}

function wholePass(device: Device, policy: PolicyWeights, options: PassOptions): TrainingPass {
  const { temperature, loss, adapters = true, embedFrozen = embedsFrozen(device, policy) } = options
  const placement = { adapters, embedFrozen }
  const forward = lazily(() => device.compile(wholeProgram(policy, { temperature, placement })))
  const step = lazily(() => device.compile(wholeProgram(policy, { temperature, loss, placement: { ...placement, dropout: options.dropoutSeed !== undefined } })))
  const sequences = sequenceTensors(device, policy, options.maxLength)
  return {
    layout: 'whole',
    async forward(batch) {
      const program = await forward.get()
      return result(device, await program.run({ ...weightFeeds(program, policy), ...pick(program, sequences(batch)), ...columnFeeds(device, batch, []) }))
    },
    async backward(batch, gradients, dropoutKey = []) {
      const program = await step.get()
      const outputs = await program.run({
        ...weightFeeds(program, policy),
        ...pick(program, sequences(batch)),
        ...columnFeeds(device, batch, lossInputNames(loss)),
        ...dropoutFeeds(device, program, policy, batch, options.dropoutSeed, dropoutKey),
      })
      await collectGradients(device, outputs, gradients)
      return result(device, outputs)
    },
    async release() {
      await forward.release()
      await step.release()
    },
  }
}

function layeredPass(device: Device, policy: PolicyWeights, options: PassOptions): TrainingPass {
  const { temperature, loss, adapters = true } = options
  const { config } = policy
  const resident = ['hidden', 'nextHidden', 'inputGradient', 'hiddenGradient']
  // Layers with and without rotary are two kinds of program; each kind is compiled once.
  const kindOf = (layer: number): number => firstOfKind(config, layer)
  const compileKinds = (backward: boolean, dropout: boolean): Map<number, ReturnType<typeof lazily>> =>
    new Map([...new Set(Array.from({ length: config.layers }, (_, layer) => kindOf(layer)))].map((kind) => [kind, lazily(() => device.compile(layerProgram(policy, kind, backward, { adapters, dropout }), { resident }))]))
  const compile = (graph: () => Graph): ReturnType<typeof lazily> => lazily(() => device.compile(graph(), { resident }))
  const programs = {
    embed: compile(() => embedProgram(policy)),
    embedBackward: compile(() => embedBackwardProgram(policy)),
    forward: compileKinds(false, false),
    droppedForward: compileKinds(false, true),
    backward: compileKinds(true, true),
    head: compile(() => headProgram(policy, temperature, loss, { adapters })),
    headForward: compile(() => headProgram(policy, temperature, undefined, { adapters })),
  }
  const sequences = sequenceTensors(device, policy, options.maxLength)
  const runLayer = async (program: Program, layer: number, next: number, feeds: Record<string, Tensor>): Promise<Record<string, Tensor>> =>
    program.run({ ...weightFeeds(program, policy, `model.layers.${layer}.`, await policy.layerTensors(layer, next)), ...pick(program, feeds) })

  /** Inputs of every layer and the last hidden state. */
  const runForward = async (batch: MicroBatch, shared: Record<string, Tensor>, dropoutKey: readonly number[] | undefined): Promise<Tensor[]> => {
    const training = dropoutKey !== undefined
    const kinds = training && options.dropoutSeed !== undefined ? programs.droppedForward : programs.forward
    const embedding = await programs.embed.get()
    let hidden = (await embedding.run({ ...weightFeeds(embedding, policy), ...pick(embedding, shared) }))['hidden'] as Tensor
    const states = [hidden]
    for (let layer = 0; layer < config.layers; layer++) {
      const program = await (kinds.get(kindOf(layer)) as ReturnType<typeof lazily>).get()
      const masks = training ? dropoutFeeds(device, program, policy, batch, options.dropoutSeed, dropoutKey, layer) : {}
      hidden = (await runLayer(program, layer, layer + 1, { ...shared, ...masks, hidden }))['nextHidden'] as Tensor
      if (!training) states.pop()?.dispose()
      states.push(hidden)
    }
    return states
  }

  /** The head in chunks of rows; returns the columns and, with gradients, the gradient of the hidden state. */
  const runHead = async (batch: MicroBatch, hidden: Tensor, gradients: ReadonlyMap<string, Float32Array> | undefined): Promise<PassResult & { hiddenGradient: Tensor }> => {
    const program = await (gradients === undefined ? programs.headForward : programs.head).get()
    const count = batch.rows.length
    const logprob = new Float32Array(count)
    const entropy = new Float32Array(count)
    let total = 0
    let soFar = device.tensor(new Float32Array(hidden.size), hidden.dims)
    for (let from = 0; from < count; from += options.headChunkTokens) {
      const to = Math.min(count, from + options.headChunkTokens)
      const names = gradients === undefined ? [] : lossInputNames(loss)
      const outputs = await program.run({ ...weightFeeds(program, policy), ...pick(program, { hidden, hiddenGradientSoFar: soFar }), ...columnFeeds(device, batch, names, from, to) })
      const part = await result(device, outputs)
      logprob.set(part.logprob, from)
      entropy.set(part.entropy, from)
      total += part.loss
      if (gradients === undefined) continue
      soFar.dispose()
      soFar = outputs['hiddenGradient'] as Tensor
      await collectGradients(device, outputs, gradients)
    }
    return { loss: total, logprob, entropy, hiddenGradient: soFar }
  }

  return {
    layout: 'layered',
    async forward(batch) {
      const states = await runForward(batch, sequences(batch), undefined)
      const columns = await runHead(batch, states[0] as Tensor, undefined)
      states[0]?.dispose()
      return columns
    },
    async backward(batch, gradients, dropoutKey = []) {
      const shared = sequences(batch)
      const states = await runForward(batch, shared, dropoutKey)
      const { hiddenGradient, ...columns } = await runHead(batch, states[config.layers] as Tensor, gradients)
      let arriving = hiddenGradient
      for (let layer = config.layers - 1; layer >= 0; layer--) {
        const program = await (programs.backward.get(kindOf(layer)) as ReturnType<typeof lazily>).get()
        const masks = dropoutFeeds(device, program, policy, batch, options.dropoutSeed, dropoutKey, layer)
        const outputs = await runLayer(program, layer, layer - 1, { ...shared, ...masks, hidden: states[layer] as Tensor, hiddenGradient: arriving })
        await collectGradients(device, outputs, gradients, `model.layers.${layer}.`)
        arriving.dispose()
        arriving = outputs['inputGradient'] as Tensor
      }
      if (policy.parameters.get('model.embed_tokens.weight')?.trainable === true) {
        const program = await programs.embedBackward.get()
        await collectGradients(device, await program.run({ ...pick(program, shared), hiddenGradient: arriving }), gradients)
      }
      arriving.dispose()
      for (const state of states) state.dispose()
      return columns
    },
    async release() {
      for (const program of [programs.embed, programs.embedBackward, programs.head, programs.headForward, ...programs.forward.values(), ...programs.droppedForward.values(), ...programs.backward.values()]) await program.release()
    },
  }
}

/**
 * Packs sequences into right-padded micro-batches of at most `maxTokens` padded tokens, longest first so that padding stays small and
 * the largest case runs first. Every sequence has `predicted` positions: those whose index is >= `from`.
 */
export function packMicroBatches(
  sequences: readonly { readonly ids: readonly number[] | Int32Array; readonly from: number; readonly columns: Readonly<Record<string, Float32Array>> }[],
  maxTokens: number,
): { readonly batch: MicroBatch; readonly order: readonly number[] }[] {
  const order = sequences.map((_, index) => index).sort((a, b) => sequences[b]!.ids.length - sequences[a]!.ids.length || a - b)
  const result: { batch: MicroBatch; order: readonly number[] }[] = []
  for (let start = 0; start < order.length; ) {
    const length = sequences[order[start] as number]!.ids.length
    const size = Math.max(1, Math.floor(maxTokens / length))
    const members = order.slice(start, start + size)
    result.push({ batch: packOne(members.map((index) => sequences[index]!), length), order: members })
    start += size
  }
  return result
}

function packOne(members: readonly { readonly ids: readonly number[] | Int32Array; readonly from: number; readonly columns: Readonly<Record<string, Float32Array>> }[], length: number): MicroBatch {
  const ids = new BigInt64Array(members.length * length)
  const count = members.reduce((sum, { ids: own, from }) => sum + Math.max(0, own.length - Math.max(1, from)), 0)
  const rows = new BigInt64Array(count)
  const targets = new BigInt64Array(count)
  const names = Object.keys(members[0]?.columns ?? {})
  const columns = Object.fromEntries(names.map((name) => [name, new Float32Array(count)]))
  let at = 0
  members.forEach((member, sequence) => {
    const own = member.ids
    for (let time = 0; time < own.length; time++) ids[sequence * length + time] = BigInt(own[time] as number)
    const first = Math.max(1, member.from)
    for (let time = first; time < own.length; time++, at++) {
      rows[at] = BigInt(sequence * length + time - 1)
      targets[at] = BigInt(own[time] as number)
      for (const name of names) (columns[name] as Float32Array)[at] = (member.columns[name] as Float32Array)[time - first] as number
    }
  })
  return { batch: members.length, length, ids, rows, targets, columns }
}
