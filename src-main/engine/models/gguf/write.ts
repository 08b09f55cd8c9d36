// Writes GGUF files (version 3, little-endian): header in memory, tensors one after the other, atomically.
import type { FileHandle } from 'node:fs/promises'
import { writeFileAtomically, writeFully } from '../atomic-file.ts'
import { DEFAULT_ALIGNMENT, GGUF_MAGIC, READABLE_TYPES, TENSOR_TYPES, VALUE_BYTES, VALUE_TYPES } from './format.ts'
import type { ValueType } from './format.ts'
import { quantise } from './quantise.ts'
import type { WritableType } from './quantise.ts'

/** A key with its value; a list names the type of its values. */
export type MetadataEntry =
  | { readonly key: string; readonly type: 'string'; readonly value: string }
  | { readonly key: string; readonly type: 'bool'; readonly value: boolean }
  | { readonly key: string; readonly type: 'u32' | 'i32' | 'f32' | 'u64'; readonly value: number }
  | { readonly key: string; readonly type: 'strings'; readonly value: readonly string[] }
  | { readonly key: string; readonly type: 'i32s' | 'u32s'; readonly value: readonly number[] }

/** A tensor to write, row-major; `data` is called when its turn comes, so that not all need to be in memory. */
export interface GgufTensorSource {
  readonly name: string
  readonly type: WritableType
  readonly shape: readonly number[]
  readonly data: () => Float32Array | Promise<Float32Array>
}

/** Elements packed at a time: a multiple of every block. */
const PIECE_ELEMENTS = 4 * 1024 * 1024

/**
 * Writes a file.
 * @throws UserError `storage` when the disk is full or not writable; the temporary file is gone then, an old file untouched
 */
export async function writeGguf(path: string, metadata: readonly MetadataEntry[], tensors: readonly GgufTensorSource[]): Promise<void> {
  const header = ggufHeader(metadata, tensors)
  await writeFileAtomically(path, async (handle) => {
    await writeFully(handle, header)
    for (const tensor of tensors) await writeTensor(handle, tensor)
  })
}

/** The header of a file: everything before the first tensor's bytes, padded to where they start. */
export function ggufHeader(metadata: readonly MetadataEntry[], tensors: readonly Omit<GgufTensorSource, 'data'>[]): Uint8Array {
  const names = [...metadata.map(({ key }) => key), ...tensors.map(({ name }) => name)]
  if (new Set(names).size !== names.length) throw new Error('a key or tensor is to be written twice')
  const parts: Uint8Array[] = [Buffer.from(GGUF_MAGIC, 'latin1'), u32(3), u64(tensors.length), u64(metadata.length)]
  for (const entry of metadata) parts.push(text(entry.key), ...valueParts(entry))
  let offset = 0
  for (const { name, type, shape } of tensors) {
    parts.push(text(name), u32(shape.length), ...shape.toReversed().map(u64), u32(typeNumber(type)), u64(offset))
    offset += padded(tensorBytes({ type, shape }))
  }
  const header = Buffer.concat(parts)
  return Buffer.concat([header, Buffer.alloc(padded(header.length) - header.length)])
}

/** Bytes a tensor takes, without padding. */
export function tensorBytes({ type, shape }: Pick<GgufTensorSource, 'type' | 'shape'>): number {
  const { block, bytes } = READABLE_TYPES[type]
  return (shape.reduce((product, dimension) => product * dimension, 1) / block) * bytes
}

async function writeTensor(handle: FileHandle, tensor: GgufTensorSource): Promise<void> {
  const values = await tensor.data()
  const elements = tensor.shape.reduce((product, dimension) => product * dimension, 1)
  if (values.length !== elements) throw new Error(`tensor ${tensor.name} has ${values.length} values, its shape [${tensor.shape.join(', ')}] needs ${elements}`)
  for (let first = 0; first < elements; first += PIECE_ELEMENTS) await writeFully(handle, quantise(tensor.type, values.subarray(first, first + PIECE_ELEMENTS)))
  const bytes = tensorBytes(tensor)
  await writeFully(handle, new Uint8Array(padded(bytes) - bytes))
}

function padded(bytes: number): number {
  return Math.ceil(bytes / DEFAULT_ALIGNMENT) * DEFAULT_ALIGNMENT
}

function valueParts(entry: MetadataEntry): Uint8Array[] {
  switch (entry.type) {
    case 'strings':
      return [u32(VALUE_TYPES.indexOf('array')), u32(VALUE_TYPES.indexOf('string')), u64(entry.value.length), ...entry.value.map(text)]
    case 'i32s':
    case 'u32s': {
      const list = new DataView(new ArrayBuffer(4 * entry.value.length))
      entry.value.forEach((value, index) => list.setInt32(4 * index, value, true))
      return [u32(VALUE_TYPES.indexOf('array')), u32(VALUE_TYPES.indexOf(entry.type === 'i32s' ? 'i32' : 'u32')), u64(entry.value.length), new Uint8Array(list.buffer)]
    }
    case 'string':
      return [u32(VALUE_TYPES.indexOf('string')), text(entry.value)]
    case 'bool':
      return [u32(VALUE_TYPES.indexOf('bool')), Uint8Array.of(entry.value ? 1 : 0)]
    default:
      return [u32(VALUE_TYPES.indexOf(entry.type)), scalar(entry.type, entry.value)]
  }
}

function scalar(type: Extract<ValueType, 'u32' | 'i32' | 'f32' | 'u64'>, value: number): Uint8Array {
  const view = new DataView(new ArrayBuffer(VALUE_BYTES[type]))
  if (type === 'f32') view.setFloat32(0, value, true)
  else if (type === 'u64') view.setBigUint64(0, BigInt(value), true)
  else view.setInt32(0, value, true)
  return new Uint8Array(view.buffer)
}

const u32 = (value: number): Uint8Array => scalar('u32', value)
const u64 = (value: number): Uint8Array => scalar('u64', value)

function text(value: string): Uint8Array {
  const bytes = Buffer.from(value, 'utf8')
  return Buffer.concat([u64(bytes.length), bytes])
}

function typeNumber(type: WritableType): number {
  return [...TENSOR_TYPES].find(([, name]) => name === type)?.[0] as number
}
