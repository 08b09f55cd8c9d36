// The weights of an exported graph in files beside it: placed first, as the model names their places, then written one tensor at a time.
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import type { ExternalTensor, Value } from '../../graph/index.ts'
import { quantize } from '../../runtime/kernels.ts'
import { writeFileAtomically, writeFully } from '../atomic-file.ts'
import { writeTensor } from '../safetensors-write.ts'
import { bitsOf, blockNames } from './decoder-graph.ts'
import type { MatrixType } from './decoder-graph.ts'

/** Offsets are multiples of a memory page, so that a file can be mapped. */
const PAGE = 4096
/** A browser cannot hold 2 GiB in one buffer: larger models are cut. A single tensor may exceed it. */
const FILE_BYTES = 2_000_000_000
const BYTES = { float32: 4, float16: 2, uint8: 1 } as const

/** Weights by the graph's names, and the files they make up. */
export interface Placement {
  readonly tensors: ReadonlyMap<string, ExternalTensor>
  /** Sizes in bytes. */
  readonly files: readonly { readonly name: string; readonly bytes: number }[]
}

/** Names of a model's weight files, as transformers.js looks for them. */
const fileName = (model: string, index: number): string => `${model}_data${index === 0 ? '' : `_${index}`}`

/**
 * Places weights one behind the other. Matrices take the type asked for where that is float16; vectors stay float32.
 * @param model name of the ONNX file
 */
export function placeWeights(weights: readonly Value[], type: MatrixType, model: string, fileBytes = FILE_BYTES): Placement {
  const tensors = new Map<string, ExternalTensor>()
  const files: { name: string; bytes: number }[] = [{ name: fileName(model, 0), bytes: 0 }]
  for (const { name, shape, type: element } of weights) {
    const stored = element === 'uint8' ? 'uint8' : type === 'float32' || shape.length < 2 || !name.endsWith('.weight') ? 'float32' : 'float16'
    const length = (shape as readonly number[]).reduce((product, size) => product * size, BYTES[stored])
    let file = files.at(-1) as { name: string; bytes: number }
    let offset = Math.ceil(file.bytes / PAGE) * PAGE
    if (file.bytes > 0 && offset + length > fileBytes) {
      file = { name: fileName(model, files.length), bytes: 0 }
      files.push(file)
      offset = 0
    }
    file.bytes = offset + length
    tensors.set(name, { location: file.name, offset, length, type: stored })
  }
  return { tensors, files }
}

/**
 * Writes the weight files of a placement.
 * @param read values of a weight by its own name, float32
 */
export async function writeWeightFiles(folder: string, weights: readonly Value[], placement: Placement, type: MatrixType, read: (name: string) => Promise<Float32Array>): Promise<void> {
  const content = weightContent(type, read)
  for (const { name: file } of placement.files) {
    await writeFileAtomically(join(folder, file), async (handle) => {
      let position = 0
      for (const { name, shape } of weights) {
        const place = placement.tensors.get(name) as ExternalTensor
        if (place.location !== file) continue
        await writeFully(handle, new Uint8Array(place.offset - position))
        await writeWeight(handle, shape as readonly number[], place, await content(name))
        position = place.offset + place.length
      }
    })
  }
}

async function writeWeight(handle: FileHandle, shape: readonly number[], { type }: ExternalTensor, data: Float32Array | Uint8Array): Promise<void> {
  if (data instanceof Uint8Array) await writeFully(handle, data)
  else await writeTensor(handle, { name: '', dtype: type === 'float16' ? 'F16' : 'F32', shape, data })
}

/** What stands under a name of the graph. The blocks of a matrix follow each other: it is read and quantised once. */
function weightContent(type: MatrixType, read: (name: string) => Promise<Float32Array>): (name: string) => Promise<Float32Array | Uint8Array> {
  const waiting = new Map<string, Float32Array | Uint8Array>()
  return async (name) => {
    const ready = waiting.get(name)
    if (ready !== undefined) {
      waiting.delete(name)
      return ready
    }
    const bits = bitsOf[type]
    const matrix = /^(.+)\.packed$/.exec(name)?.[1]
    if (matrix === undefined || bits === undefined) return read(name)
    const { packed, scales } = quantize(await read(matrix), bits)
    waiting.set(blockNames(matrix).scales, scales)
    return packed
  }
}
