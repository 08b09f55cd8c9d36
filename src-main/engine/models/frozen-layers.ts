// The matrices of the layers under LoRA, which never change: kept in fewer bits, or left in their file, and widened to float32 one layer
// at a time. Forward and backward pass read the very same widened values, so gradients fit the quantised model exactly.
// Embedding, output projection, norms and biases are not held here: they stay float32 in memory.
import { UserError } from '../../contract/errors.ts'
import type { WeightsConfig } from '../../contract/run-config.ts'
import { dequantize, quantize, widen } from '../runtime/kernels.ts'
import { quantizationBlock, type QuantizedBlocks } from '../runtime/quantization.ts'
import type { DecoderConfig } from './config.ts'
import type { ModelFolder } from './model-folder.ts'
import type { StoredTensor } from './safetensors.ts'
import { linearLayers } from './weights.ts'

export interface FrozenLayers {
  readonly precision: WeightsConfig['precision']
  readonly streamed: boolean
  /** Bytes held in memory between passes. */
  readonly bytes: number
  /** Matrices of a layer, named inside it ('self_attn.q_proj.weight'), with their shapes [out, in]. The same for every layer. */
  readonly matrices: ReadonlyMap<string, readonly [number, number]>
  /** Fills `into`, an array a matrix, with the values of a layer. */
  read(layer: number, into: ReadonlyMap<string, Float32Array>): Promise<void>
  /** Streamed layers: begins to read a layer that will be asked for next. */
  prefetch(layer: number): void
  /** The blocks of a matrix, where weights are quantised. */
  blocks(layer: number, matrix: string): QuantizedBlocks | undefined
}

type WeightReader = Pick<ModelFolder, 'readTensor' | 'readStored'>

/** The layer matrices of a decoder, named inside their layer. */
export function layerMatrices(config: DecoderConfig): Map<string, readonly [number, number]> {
  return new Map(linearLayers(config).map(({ path, shape }) => [`${path}.weight`, shape]))
}

/**
 * Takes up the layer matrices of a model as the configuration wants them; undefined for float32 in memory, which needs no store.
 * @param source stays open as long as streamed layers are used
 * @param onLayer called after each layer, for progress
 * @throws UserError for a matrix that cannot be quantised
 */
export async function openFrozenLayers(config: DecoderConfig, source: WeightReader, weights: WeightsConfig, onLayer?: (done: number, total: number) => void): Promise<FrozenLayers | undefined> {
  if (weights.streamLayers) return streamLayers(config, source, weights)
  if (weights.precision === 'fp32') return undefined
  const held: Map<string, StoredTensor | QuantizedBlocks>[] = []
  const widened = new Map<string, Float32Array>()
  for (let layer = 0; layer < config.layers; layer++) {
    const matrices = new Map<string, StoredTensor | QuantizedBlocks>()
    for (const [name, shape] of layerMatrices(config)) {
      const full = `model.layers.${layer}.${name}`
      const stored = await readStored(source, full)
      matrices.set(name, weights.precision === 'stored' ? stored : quantizeMatrix(asFloats(stored, name, widened), shape, weights.precision, full))
    }
    held.push(matrices)
    onLayer?.(layer + 1, config.layers)
  }
  return {
    precision: weights.precision,
    streamed: false,
    bytes: held.flatMap((matrices) => [...matrices.values()]).reduce((sum, matrix) => sum + bytesOf(matrix), 0),
    matrices: layerMatrices(config),
    read: async (layer, into) => {
      for (const [name, values] of into) widenInto(held[layer]?.get(name), values)
    },
    prefetch: () => undefined,
    blocks(layer, matrix) {
      const found = held[layer]?.get(matrix)
      return found !== undefined && 'packed' in found ? found : undefined
    },
  }
}

function quantizeMatrix(values: Float32Array, [, inSize]: readonly [number, number], precision: 'int8' | 'int4', name: string): QuantizedBlocks {
  if (inSize % quantizationBlock !== 0) {
    throw new UserError({
      code: 'bad-input',
      what: `a matrix with ${inSize} inputs cannot be stored as ${precision}`,
      place: { field: name },
      expected: `a multiple of ${quantizationBlock} inputs`,
      remedy: 'Set weights.precision to fp32 or stored.',
    })
  }
  try {
    return quantize(values, precision === 'int4' ? 4 : 8)
  } catch (cause) {
    throw new UserError({ code: 'bad-input', what: String(cause instanceof Error ? cause.message : cause), place: { field: name }, remedy: 'The weights are damaged: copy the model again.' }, { cause })
  }
}

async function readStored(source: WeightReader, name: string, reuse?: StoredTensor): Promise<StoredTensor> {
  return source.readStored === undefined ? { format: 'float32', values: await source.readTensor(name) } : source.readStored(name, reuse)
}

/** The values of a tensor; half formats are widened into the array of that name, which is used again for the next layer. */
function asFloats(stored: StoredTensor, name: string, arrays: Map<string, Float32Array>): Float32Array {
  if (stored.format === 'float32') return stored.values
  let values = arrays.get(name)
  if (values === undefined) arrays.set(name, (values = new Float32Array(stored.bits.length)))
  widen(stored.bits, stored.format, values)
  return values
}

function bytesOf(matrix: StoredTensor | QuantizedBlocks): number {
  if ('packed' in matrix) return matrix.packed.byteLength + matrix.scales.byteLength
  return matrix.format === 'float32' ? matrix.values.byteLength : matrix.bits.byteLength
}

function widenInto(matrix: StoredTensor | QuantizedBlocks | undefined, values: Float32Array): void {
  if (matrix === undefined) throw new Error('a layer matrix is not held')
  if ('packed' in matrix) dequantize(matrix, values)
  else if (matrix.format === 'float32') values.set(matrix.values)
  else widen(matrix.bits, matrix.format, values)
}

/** Nothing is kept but the layer being read ahead: two sets of buffers take turns. */
function streamLayers(config: DecoderConfig, source: WeightReader, { precision }: WeightsConfig): FrozenLayers {
  const matrices = layerMatrices(config)
  const spare: (Map<string, StoredTensor> | undefined)[] = []
  let ahead: { layer: number; tensors: Promise<Map<string, StoredTensor>> } | undefined
  const readLayer = async (layer: number, reuse: Map<string, StoredTensor> | undefined): Promise<Map<string, StoredTensor>> => {
    const names = [...matrices.keys()]
    const tensors = await Promise.all(names.map((name) => readStored(source, `model.layers.${layer}.${name}`, reuse?.get(name))))
    return new Map(names.map((name, index) => [name, tensors[index] as StoredTensor]))
  }
  return {
    precision,
    streamed: true,
    bytes: 0,
    matrices,
    async read(layer, into) {
      const pending = ahead?.layer === layer ? ahead.tensors : readLayer(layer, spare.pop())
      if (ahead?.layer === layer) ahead = undefined
      const tensors = await pending
      for (const [name, values] of into) widenInto(tensors.get(name), values)
      spare.push(tensors)
    },
    prefetch(layer) {
      if (layer < 0 || layer >= config.layers || ahead !== undefined) return
      ahead = { layer, tensors: readLayer(layer, spare.pop()) }
      // A failure is told when the layer is asked for.
      ahead.tensors.catch(() => undefined)
    },
    blocks: () => undefined,
  }
}
