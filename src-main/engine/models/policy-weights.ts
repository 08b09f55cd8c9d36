// The weights of the policy at hand: base tensors, trainable tensors, and where graphs find them.
// One copy serves sampler and trainer. On the CPU the optimizer writes into the very arrays the programs read.
import { createHash } from 'node:crypto'
import { totalmem } from 'node:os'
import { UserError } from '../../contract/errors.ts'
import type { AdapterConfig } from '../../contract/run-config.ts'
import type { Graph, Value } from '../graph/index.ts'
import type { Device, Program, Tensor } from '../runtime/ort.ts'
import { quantizationBlock } from '../runtime/quantization.ts'
import { createStream, type RandomStream } from '../runtime/random.ts'
import type { DecoderConfig } from './config.ts'
import type { AdapterPair, WeightSource } from './decoder.ts'
import type { FrozenLayers } from './frozen-layers.ts'
import { expectedTensors, linearLayers } from './weights.ts'
import type { LinearLayer } from './weights.ts'

export interface Parameter {
  readonly name: string
  readonly shape: readonly number[]
  readonly data: Float32Array
  readonly trainable: boolean
  /** Norm weights, biases and other vectors are not decayed. */
  readonly decayed: boolean
}

export interface PolicyWeights {
  readonly config: DecoderConfig
  /** With targets by name, where the run asked for 'all-linear'. */
  readonly adapter: AdapterConfig
  /** All that is float32 in memory: without the layers' matrices where `frozenLayers` holds them. */
  readonly parameters: ReadonlyMap<string, Parameter>
  readonly trainable: readonly Parameter[]
  /** The layers' matrices, where they are held in fewer bits or left in their file. */
  readonly frozenLayers: FrozenLayers | undefined
  /** The tensor programs read; on the CPU it wraps the parameter's own array. */
  tensor(name: string): Tensor
  /**
   * The matrices of one layer that `frozenLayers` holds, widened, by their names inside the layer; empty without it. They are valid until
   * another layer is asked for. `next` is the layer that will be asked for then.
   */
  layerTensors(layer: number, next?: number): Promise<ReadonlyMap<string, Tensor>>
  /** Seconds spent so far on reading, widening and uploading layers: what fewer bits or streaming cost in time. */
  layerSeconds(): number
  /** Copies changed trainable values to the device. Call after every optimizer update; free on the CPU. */
  refresh(): Promise<void>
  /** sha256 (hex) over names and bits of all trainable parameters: equal hashes mean equal policies over the same base. */
  hash(): string
  /** The same hash over what the device holds: what sampler and trainer really read. */
  residentHash(): Promise<string>
}

type LoraConfig = Extract<AdapterConfig, { kind: 'lora' }>

/** Scale of a low-rank update. */
export function adapterScale(adapter: AdapterConfig): number {
  return adapter.kind === 'lora' ? adapter.alpha / adapter.rank : 0
}

/** The output projection as an adapter sees it; a tied one is adapted apart from the embedding, as PEFT does it. */
export const HEAD = 'lm_head' satisfies LoraConfig['targets'][number]

/**
 * The projections of every layer that get an adapter.
 * @throws UserError for a projection this family does not have, naming those it has
 */
function adaptedLayers(config: DecoderConfig, { targets }: LoraConfig): readonly LinearLayer[] {
  const layers = linearLayers(config)
  if (targets.includes('all-linear')) return layers
  const names = layers.map(({ name }) => name)
  return targets.filter((target) => target !== HEAD).map((target) => {
    const layer = layers.find(({ name }) => name === target)
    if (layer !== undefined) return layer
    throw new UserError({
      code: 'bad-input',
      what: `a ${config.family} model has no projection ${target} to adapt`,
      place: { field: 'adapter.targets' },
      expected: `some of ${names.join(', ')}, or all-linear for all of them`,
      remedy: 'Name projections this model has.',
    })
  })
}

/** Fresh adapters: A uniform within +-1/sqrt(in) (PEFT's Kaiming with a = sqrt(5)), B zero, so the policy starts as the base. */
function freshAdapters(config: DecoderConfig, { rank, targets }: LoraConfig, adapted: readonly LinearLayer[], seed: number): Parameter[] {
  const pair = (name: string, [outSize, inSize]: readonly [number, number], stream: RandomStream): Parameter[] => {
    const bound = 1 / Math.sqrt(inSize)
    const a = Float32Array.from({ length: rank * inSize }, () => (2 * stream.uniform() - 1) * bound)
    return [
      { name: `${name}.lora_A.weight`, shape: [rank, inSize], data: a, trainable: true, decayed: true },
      { name: `${name}.lora_B.weight`, shape: [outSize, rank], data: new Float32Array(outSize * rank), trainable: true, decayed: true },
    ]
  }
  const inLayers = Array.from({ length: config.layers }, (_, layer) =>
    adapted.flatMap(({ path, shape }, index) => pair(`model.layers.${layer}.${path}`, shape, createStream(seed, 'adapter', layer, index))),
  ).flat()
  return targets.includes(HEAD) ? [...inLayers, ...pair(HEAD, [config.vocabularySize, config.hiddenSize], createStream(seed, 'adapter', config.layers))] : inLayers
}

/**
 * Reads the base weights and sets up what is trained.
 * @param readTensor base tensors by Hugging Face name, float32
 * @param seed of the adapters' initial values
 * @throws UserError for an adapter target that the model does not have
 */
export async function createPolicyWeights(
  device: Device,
  config: DecoderConfig,
  readTensor: (name: string) => Float32Array | Promise<Float32Array>,
  adapter: AdapterConfig,
  seed: number,
  frozenLayers?: FrozenLayers,
): Promise<PolicyWeights> {
  const parameters = new Map<string, Parameter>()
  const full = adapter.kind === 'full'
  if (full && frozenLayers !== undefined) {
    throw new UserError({ code: 'bad-input', what: 'weights that are trained themselves cannot be kept in fewer bits or left in their file', place: { field: 'weights' }, expected: 'precision fp32 without streamLayers when adapter.kind is full', remedy: 'Train with LoRA, or set weights.precision to fp32.' })
  }
  const adapted = adapter.kind === 'lora' ? adaptedLayers(config, adapter) : []
  for (const { name, shape } of expectedTensors(config)) {
    if (frozenLayers?.matrices.has(insideLayer(name)) === true) continue
    parameters.set(name, { name, shape, data: await readTensor(name), trainable: full, decayed: shape.length > 1 })
  }
  if (adapter.kind === 'lora') for (const parameter of freshAdapters(config, adapter, adapted, seed)) parameters.set(parameter.name, parameter)
  const tensors = new Map<string, Tensor>()
  for (const { name, data, shape } of parameters.values()) tensors.set(name, await device.upload(data, shape))
  const trainable = [...parameters.values()].filter((parameter) => parameter.trainable)
  return {
    config,
    adapter: adapter.kind === 'lora' ? { ...adapter, targets: [...adapted.map(({ name }) => name), ...adapter.targets.filter((target) => target === HEAD)] } : adapter,
    parameters,
    trainable,
    frozenLayers,
    ...createLayerTensors(device, frozenLayers),
    tensor(name) {
      const tensor = tensors.get(name)
      if (tensor === undefined) throw new Error(`the policy has no tensor ${name}`)
      return tensor
    },
    async refresh() {
      if (device.kind === 'cpu') return
      for (const { name, data, shape } of trainable) {
        const old = tensors.get(name)
        tensors.set(name, await device.upload(data, shape))
        old?.dispose()
      }
    },
    hash: () => hashOf(trainable),
    async residentHash() {
      const held: { name: string; data: Float32Array }[] = []
      for (const { name } of trainable) held.push({ name, data: await device.read(tensors.get(name) as Tensor) })
      return hashOf(held)
    },
  }
}

/** 'model.layers.3.mlp.up_proj.weight' -> 'mlp.up_proj.weight'; other names stay. */
const insideLayer = (name: string): string => name.replace(/^model\.layers\.\d+\./, '')

/** One set of float32 arrays serves every layer in turn. */
function createLayerTensors(device: Device, layers: FrozenLayers | undefined): Pick<PolicyWeights, 'layerTensors' | 'layerSeconds'> {
  if (layers === undefined) return { layerTensors: () => Promise.resolve(new Map()), layerSeconds: () => 0 }
  const arrays = new Map([...layers.matrices].map(([name, [outSize, inSize]]) => [name, new Float32Array(outSize * inSize)]))
  let tensors = new Map<string, Tensor>()
  let current: number | undefined
  let seconds = 0
  const fetch = async (layer: number): Promise<void> => {
    current = undefined
    await layers.read(layer, arrays)
    for (const tensor of tensors.values()) tensor.dispose()
    tensors = new Map()
    for (const [name, values] of arrays) tensors.set(name, await device.upload(values, layers.matrices.get(name) as readonly [number, number]))
    current = layer
  }
  return {
    async layerTensors(layer, next) {
      const before = performance.now()
      if (current !== layer) await fetch(layer)
      seconds += (performance.now() - before) / 1000
      if (next !== undefined && next !== layer) layers.prefetch(next)
      return tensors
    },
    layerSeconds: () => seconds,
  }
}

function hashOf(parameters: readonly { readonly name: string; readonly data: Float32Array }[]): string {
  const hash = createHash('sha256')
  for (const { name, data } of parameters) hash.update(name).update(new Uint8Array(data.buffer, data.byteOffset, data.byteLength))
  return hash.digest('hex')
}

/** Whether frozen float32 weights go into the programs, where the CPU packs them: faster for small batches, for memory a small model can spare. */
export function packsFrozenWeights(frozenBytes: number, memory = totalmem()): boolean {
  return frozenBytes * 32 <= memory
}

/** The same for the weights at hand on a device. */
export function embedsFrozen(device: Device, weights: PolicyWeights): boolean {
  const frozen = [...weights.parameters.values()].reduce((sum, { data, trainable }) => sum + (trainable ? 0 : data.byteLength), 0)
  return device.kind === 'cpu' && packsFrozenWeights(frozen)
}

export interface WeightPlacement {
  /** Leave adapters out: the reference model under LoRA. */
  readonly adapters?: boolean
  /** Keep frozen weights inside the graph: the CPU packs them once, which pays for small batches. */
  readonly embedFrozen?: boolean
  /** Prefix under which a layer's names are found ('model.layers.3.'); the graph's own names leave it out. */
  readonly layerPrefix?: string
  /** Read dropout masks as inputs (training with adapter dropout). */
  readonly dropout?: boolean
}

/** Declares weights on a graph as it asks for them: as inputs, or as initializers where they are frozen. */
export function declareWeights(graph: Graph, weights: PolicyWeights, placement: WeightPlacement = {}): WeightSource & { readonly declared: ReadonlyMap<string, Value> } {
  const { adapters = true, embedFrozen = false, layerPrefix = '', dropout = false } = placement
  const declared = new Map<string, Value>()
  const declare = (name: string, shape: readonly number[]): Value => {
    const known = declared.get(name)
    if (known !== undefined) return known
    const parameter = weights.parameters.get(layerPrefix + name) ?? weights.parameters.get(name)
    const found = parameter?.shape ?? (layerPrefix === '' ? undefined : weights.frozenLayers?.matrices.get(name))
    if (found?.join() !== shape.join()) throw graph.error(`the model's ${name} has shape [${found?.join(', ') ?? 'none'}], the graph needs [${shape.join(', ')}]`)
    const value = embedFrozen && parameter?.trainable === false ? graph.initializer(name, shape, parameter.data) : graph.input(name, 'float32', shape)
    declared.set(name, value)
    return value
  }
  const lora = adapters && weights.adapter.kind === 'lora' ? weights.adapter : undefined
  return {
    declared,
    base: declare,
    quantized(name, [outSize, inSize]) {
      const [, layer, matrix] = /^model\.layers\.(\d+)\.(.+)$/.exec(name) ?? []
      const blocks = layer === undefined || matrix === undefined ? undefined : weights.frozenLayers?.blocks(Number(layer), matrix)
      if (blocks === undefined) return undefined
      const { bits } = blocks
      const count = inSize / quantizationBlock
      const packed = graph.initializer(`${name}.blocks`, [outSize, count, (quantizationBlock * bits) / 8], blocks.packed)
      return { packed, scales: graph.initializer(`${name}.scales`, [outSize * count], blocks.scales), bits, blockSize: quantizationBlock, inSize, outSize }
    },
    adapter(projection, inSize, outSize): AdapterPair | undefined {
      if (lora === undefined || !(lora.targets as readonly string[]).includes(projection.slice(projection.lastIndexOf('.') + 1))) return undefined
      return { a: declare(`${projection}.lora_A.weight`, [lora.rank, inSize]), b: declare(`${projection}.lora_B.weight`, [outSize, lora.rank]), scale: adapterScale(lora) }
    },
    dropoutMask(site, x) {
      return dropout && lora !== undefined && lora.dropout > 0 ? graph.input(`dropout.${site}`, 'float32', x.shape) : undefined
    },
  }
}

/** Feeds for the weight inputs of a program; `layerTensors` are those of the layer `layerPrefix` names. */
export function weightFeeds(program: Program, weights: PolicyWeights, layerPrefix = '', layerTensors?: ReadonlyMap<string, Tensor>): Record<string, Tensor> {
  const feeds: Record<string, Tensor> = {}
  for (const name of program.inputNames) {
    if (!name.endsWith('.weight') && !name.endsWith('.bias')) continue
    feeds[name] = layerTensors?.get(name) ?? weights.tensor(weights.parameters.has(layerPrefix + name) ? layerPrefix + name : name)
  }
  return feeds
}
