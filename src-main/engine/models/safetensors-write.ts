// Writes safetensors files: rounded to the stored type, atomically, one piece in memory at a time.
import type { FileHandle } from 'node:fs/promises'
import { writeFileAtomically, writeFully } from './atomic-file.ts'
import { float32ToBfloat16, float32ToFloat16 } from './float-formats.ts'
import { ELEMENT_BYTES } from './safetensors-header.ts'

/** Types weights are written in. */
export type WeightType = 'F32' | 'F16' | 'BF16'

/** A tensor to write. `data` is row-major; a function is called when its turn comes, so that not all need to be in memory. */
export interface TensorSource {
  readonly name: string
  readonly dtype: WeightType
  readonly shape: readonly number[]
  readonly data: Float32Array | (() => Promise<Float32Array>)
}

const PIECE_ELEMENTS = 4 * 1024 * 1024

/** Bytes a tensor takes in the file. */
export function tensorBytes(tensor: Pick<TensorSource, 'dtype' | 'shape'>): number {
  return tensor.shape.reduce((product, dimension) => product * dimension, 1) * ELEMENT_BYTES[tensor.dtype]
}

/**
 * Writes one file. Narrowing rounds to nearest, ties to even. Wider types come first so that every tensor is aligned;
 * within a type the order is by name, so equal tensors give equal bytes.
 * @throws UserError `storage` when the disk is full or not writable; the temporary file is gone then, an old file untouched.
 */
export async function writeSafetensors(path: string, tensors: readonly TensorSource[], metadata: Readonly<Record<string, string>> = { format: 'pt' }): Promise<void> {
  const ordered = tensors.toSorted((a, b) => ELEMENT_BYTES[b.dtype] - ELEMENT_BYTES[a.dtype] || compareNames(a.name, b.name))
  const header = makeHeader(ordered, metadata)
  await writeFileAtomically(path, async (handle) => {
    await writeFully(handle, header)
    for (const tensor of ordered) await writeTensor(handle, tensor)
  })
}

function makeHeader(tensors: readonly TensorSource[], metadata: Readonly<Record<string, string>>): Uint8Array {
  const entries: [string, unknown][] = [['__metadata__', metadata]]
  const seen = new Set(['__metadata__'])
  let position = 0
  for (const tensor of tensors) {
    if (seen.has(tensor.name)) throw new Error(`tensor ${tensor.name} is to be written twice`)
    seen.add(tensor.name)
    const end = position + tensorBytes(tensor)
    entries.push([tensor.name, { dtype: tensor.dtype, shape: tensor.shape, data_offsets: [position, end] }])
    position = end
  }
  // Not Object.fromEntries + stringify: integer-like names would change their order.
  const text = `{${entries.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',')}}`
  const json = Buffer.from(text, 'utf8')
  const padded = Math.ceil(json.length / 8) * 8
  const header = Buffer.alloc(8 + padded, ' ')
  header.writeBigUInt64LE(BigInt(padded), 0)
  json.copy(header, 8)
  return header
}

/** Writes a tensor's values at the handle's position, rounded to its type. */
export async function writeTensor(handle: FileHandle, tensor: TensorSource): Promise<void> {
  const values = typeof tensor.data === 'function' ? await tensor.data() : tensor.data
  const elements = tensorBytes(tensor) / ELEMENT_BYTES[tensor.dtype]
  if (values.length !== elements) throw new Error(`tensor ${tensor.name} has ${values.length} values, its shape [${tensor.shape.join(', ')}] needs ${elements}`)
  if (tensor.dtype === 'F32') {
    await writeFully(handle, new Uint8Array(values.buffer, values.byteOffset, values.byteLength))
    return
  }
  const narrow = tensor.dtype === 'F16' ? float32ToFloat16 : float32ToBfloat16
  const piece = new Uint16Array(Math.min(values.length, PIECE_ELEMENTS))
  for (let first = 0; first < values.length; first += piece.length) {
    const halves = piece.subarray(0, Math.min(piece.length, values.length - first))
    narrow(values.subarray(first, first + halves.length), halves)
    await writeFully(handle, new Uint8Array(halves.buffer, 0, halves.byteLength))
  }
}

function compareNames(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
