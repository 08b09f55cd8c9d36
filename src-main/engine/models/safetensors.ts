// Reads safetensors files by name, with positioned reads: never more in memory than the tensor asked for and one piece.
import { open } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { UserError } from '../../contract/errors.ts'
import { bfloat16ToFloat32, float16ToFloat32 } from './float-formats.ts'
import { fileErrorCode } from './json-file.ts'
import { broken, MAX_HEADER_BYTES, parseSafetensorsHeader } from './safetensors-header.ts'
import type { TensorInfo } from './safetensors-header.ts'

/** A tensor as it lies in the file: float32 values, or bit patterns of a half format. */
export type StoredTensor = { readonly format: 'float32'; readonly values: Float32Array } | { readonly format: 'float16' | 'bfloat16'; readonly bits: Uint16Array }

/** An open safetensors file. `close` it when done; reads may run side by side. */
export interface SafetensorsFile {
  readonly path: string
  /** Names in the order of their bytes. */
  readonly names: readonly string[]
  readonly metadata: Readonly<Record<string, string>>
  /** Type, shape and place of a tensor, or undefined when the file has none of that name. */
  tensor(name: string): TensorInfo | undefined
  /**
   * A tensor's values in row-major order, widened exactly from F32, F16 or BF16.
   * @throws UserError when the name is unknown, the type is none of these, or the file became shorter since it was opened.
   */
  readFloat32(name: string): Promise<Float32Array>
  /**
   * A tensor as stored, without widening. `reuse`, of an earlier call, is filled again where format and length are the same.
   * @throws UserError as readFloat32
   */
  readStored(name: string, reuse?: StoredTensor): Promise<StoredTensor>
  close(): Promise<void>
}

/** Bytes a single read asks for: Node refuses 2 GiB and more, and a half-precision piece is converted from a buffer this large. */
const PIECE_BYTES = 16 * 1024 * 1024

/**
 * Opens a file and checks its whole header.
 * @throws UserError `not-found` or `bad-input`, naming file and tensor.
 */
export async function openSafetensors(path: string): Promise<SafetensorsFile> {
  const handle = await openForReading(path)
  try {
    const stat = await handle.stat()
    if (!stat.isFile()) {
      throw new UserError({
        code: 'bad-input',
        what: 'this is not a file',
        place: { file: path },
        expected: 'a safetensors file',
        remedy: 'Copy the whole model folder again.',
      })
    }
    const fileBytes = stat.size
    if (fileBytes < 8) throw broken(path, `the file is truncated: it has ${fileBytes} bytes, not even a header length`)
    const prefix = new Uint8Array(8)
    await readFully(handle, prefix, 0, path)
    const headerBytes = new DataView(prefix.buffer).getBigUint64(0, true)
    if (headerBytes > BigInt(fileBytes - 8)) throw broken(path, `the header claims ${headerBytes} bytes, but only ${fileBytes - 8} follow`)
    if (headerBytes > BigInt(MAX_HEADER_BYTES)) throw broken(path, `the header claims ${headerBytes} bytes`, undefined, `at most ${MAX_HEADER_BYTES}`)
    const header = new Uint8Array(Number(headerBytes))
    await readFully(handle, header, 8, path)
    const { tensors, metadata } = parseSafetensorsHeader(header, fileBytes, path)
    return {
      path,
      names: [...tensors.values()].toSorted((a, b) => a.offset - b.offset).map((tensor) => tensor.name),
      metadata,
      tensor: (name) => tensors.get(name),
      readFloat32: async (name) => readTensor(handle, tensors.get(name), name, path),
      readStored: async (name, reuse) => readStored(handle, tensors.get(name), name, path, reuse),
      close: async () => handle.close(),
    }
  } catch (error) {
    await handle.close()
    throw error
  }
}

async function openForReading(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'r')
  } catch (error) {
    if (fileErrorCode(error) === 'ENOENT') {
      throw new UserError({
        code: 'not-found',
        what: 'the weights file does not exist',
        place: { file: path },
        remedy: 'Copy the whole model folder again.',
      })
    }
    throw new UserError(
      {
        code: 'bad-input',
        what: `the weights file cannot be opened (${String(error)})`,
        place: { file: path },
        remedy: 'Check that it is a file you may read.',
      },
      { cause: error },
    )
  }
}

async function readTensor(handle: FileHandle, tensor: TensorInfo | undefined, name: string, path: string): Promise<Float32Array> {
  const { elements, dtype, offset } = weightTensor(tensor, name, path)
  const values = new Float32Array(elements)
  if (dtype === 'F32') {
    await readFully(handle, new Uint8Array(values.buffer), offset, path, name)
    return values
  }
  const widen = dtype === 'F16' ? float16ToFloat32 : bfloat16ToFloat32
  const piece = new Uint16Array(Math.min(elements, PIECE_BYTES / 2))
  for (let first = 0; first < elements; first += piece.length) {
    const halves = piece.subarray(0, Math.min(piece.length, elements - first))
    await readFully(handle, new Uint8Array(halves.buffer, 0, halves.byteLength), offset + first * 2, path, name)
    widen(halves, values.subarray(first, first + halves.length))
  }
  return values
}

async function readStored(handle: FileHandle, tensor: TensorInfo | undefined, name: string, path: string, reuse: StoredTensor | undefined): Promise<StoredTensor> {
  const { elements, dtype, offset } = weightTensor(tensor, name, path)
  if (dtype === 'F32') {
    const values = reuse?.format === 'float32' && reuse.values.length === elements ? reuse.values : new Float32Array(elements)
    await readFully(handle, new Uint8Array(values.buffer, values.byteOffset, values.byteLength), offset, path, name)
    return { format: 'float32', values }
  }
  const format = dtype === 'F16' ? 'float16' : 'bfloat16'
  const bits = reuse?.format === format && reuse.bits.length === elements ? reuse.bits : new Uint16Array(elements)
  await readFully(handle, new Uint8Array(bits.buffer, bits.byteOffset, bits.byteLength), offset, path, name)
  return { format, bits }
}

/** The place of a tensor that can be a weight. */
function weightTensor(tensor: TensorInfo | undefined, name: string, path: string): Omit<TensorInfo, 'dtype'> & { readonly dtype: 'F32' | 'F16' | 'BF16' } {
  if (tensor === undefined) {
    throw new UserError({
      code: 'bad-input',
      what: 'the file holds no tensor of this name',
      place: { file: path, field: name },
      remedy: 'Check that the weights belong to this model.',
    })
  }
  const { dtype } = tensor
  if (dtype !== 'F32' && dtype !== 'F16' && dtype !== 'BF16') throw broken(path, `${dtype} is not a type weights can have`, name, 'F32, F16 or BF16')
  return { ...tensor, dtype }
}

/** Fills `target` from `position` of the file, in pieces. */
async function readFully(handle: FileHandle, target: Uint8Array, position: number, path: string, name?: string): Promise<void> {
  let done = 0
  while (done < target.length) {
    const { bytesRead } = await handle.read(target, done, Math.min(PIECE_BYTES, target.length - done), position + done)
    if (bytesRead === 0) throw broken(path, `the file is truncated: byte ${position + done} cannot be read`, name)
    done += bytesRead
  }
}
