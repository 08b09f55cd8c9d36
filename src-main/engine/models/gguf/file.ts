// Reads GGUF files by tensor, with positioned reads: never more in memory than the header, the tensor asked for and one piece.
import { open } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { UserError } from '../../../contract/errors.ts'
import { fileErrorCode } from '../json-file.ts'
import type { StoredTensor } from '../safetensors.ts'
import { dequantise } from './dequantise.ts'
import { isReadable, READABLE_TYPES } from './format.ts'
import type { ReadableType } from './format.ts'
import { brokenGguf, MAX_HEADER_BYTES, parseGgufHeader } from './header.ts'
import type { GgufHeader, GgufTensor } from './header.ts'

/** An open GGUF file. `close` it when done; reads may run side by side. */
export interface GgufFile extends GgufHeader {
  readonly path: string
  /** A tensor in row-major order. @throws UserError for a name that is not there and a type that is not read. */
  readFloat32(name: string): Promise<Float32Array>
  /** The same, with half formats as bit patterns; packed types are widened. */
  readStored(name: string): Promise<StoredTensor>
  close(): Promise<void>
}

/** Bytes of the first look at a header; most are larger than one megabyte and smaller than this. */
const FIRST_LOOK = 4 * 1024 * 1024
const PIECE_BYTES = 8 * 1024 * 1024

/**
 * Opens a file and checks its header.
 * @throws UserError `not-found` or `bad-input`, naming file and key or tensor
 */
export async function openGguf(path: string): Promise<GgufFile> {
  const handle = await openForReading(path)
  try {
    const header = await readHeader(handle, path)
    return {
      ...header,
      path,
      readFloat32: async (name) => readTensor(handle, tensorOf(header, name, path), path),
      readStored: async (name) => readStored(handle, tensorOf(header, name, path), path),
      close: async () => handle.close(),
    }
  } catch (error) {
    await handle.close()
    throw error
  }
}

async function openForReading(path: string): Promise<FileHandle> {
  const fields = { place: { file: path }, expected: 'a GGUF file', remedy: 'Check the path, and that it is a file you may read.' }
  try {
    return await open(path, 'r')
  } catch (error) {
    if (fileErrorCode(error) === 'ENOENT') throw new UserError({ code: 'not-found', what: 'the file does not exist', ...fields })
    throw new UserError({ code: 'bad-input', what: `the file cannot be read (${String(error)})`, ...fields }, { cause: error })
  }
}

async function readHeader(handle: FileHandle, path: string): Promise<GgufHeader> {
  const stat = await handle.stat()
  if (!stat.isFile()) throw new UserError({ code: 'bad-input', what: 'this is not a file', place: { file: path }, expected: 'a GGUF file' })
  for (let look = FIRST_LOOK; ; look *= 4) {
    const bytes = new Uint8Array(Math.min(look, stat.size, MAX_HEADER_BYTES))
    await readFully(handle, bytes, 0, path)
    const header = parseGgufHeader(bytes, stat.size, path)
    if (header !== undefined) return header
  }
}

interface ReadableTensor extends GgufTensor {
  readonly type: ReadableType
}

function tensorOf({ tensors }: GgufHeader, name: string, path: string): ReadableTensor {
  const tensor = tensors.get(name)
  if (tensor === undefined) throw new UserError({ code: 'bad-input', what: 'the file holds no tensor of this name', place: { file: path, field: name }, remedy: 'Check that the weights belong to this model.' })
  const { type } = tensor
  if (!isReadable(type)) throw unreadable(path, tensor)
  return { ...tensor, type }
}

async function readTensor(handle: FileHandle, { name, type, elements, offset, byteLength }: ReadableTensor, path: string): Promise<Float32Array> {
  const { block, bytes: blockBytes } = READABLE_TYPES[type]
  const values = new Float32Array(elements)
  const piece = new Uint8Array(Math.min(byteLength, Math.floor(PIECE_BYTES / blockBytes) * blockBytes))
  for (let done = 0; done < byteLength; done += piece.length) {
    const bytes = piece.subarray(0, Math.min(piece.length, byteLength - done))
    await readFully(handle, bytes, offset + done, path, name)
    const first = (done / blockBytes) * block
    dequantise(type, bytes, values.subarray(first, first + (bytes.length / blockBytes) * block))
  }
  return values
}

async function readStored(handle: FileHandle, tensor: ReadableTensor, path: string): Promise<StoredTensor> {
  if (tensor.type !== 'F16' && tensor.type !== 'BF16') return { format: 'float32', values: await readTensor(handle, tensor, path) }
  const bits = new Uint16Array(tensor.elements)
  await readFully(handle, new Uint8Array(bits.buffer), tensor.offset, path, tensor.name)
  return { format: tensor.type === 'F16' ? 'float16' : 'bfloat16', bits }
}

/** The error for a tensor of a type that is not read. */
export function unreadable(path: string, { name, type }: Pick<GgufTensor, 'name' | 'type'>): UserError {
  return new UserError({
    code: 'bad-input',
    what: `tensors of type ${type} cannot be read`,
    place: { file: path, field: name },
    expected: `one of ${Object.keys(READABLE_TYPES).join(', ')}`,
    remedy: 'Choose a file of this model in another quantisation, for example Q4_K_M, Q8_0 or F16.',
  })
}

async function readFully(handle: FileHandle, target: Uint8Array, position: number, path: string, name?: string): Promise<void> {
  let done = 0
  while (done < target.length) {
    const { bytesRead } = await handle.read(target, done, Math.min(PIECE_BYTES, target.length - done), position + done)
    if (bytesRead === 0) throw brokenGguf(path, `the file is truncated: byte ${position + done} cannot be read`, name)
    done += bytesRead
  }
}
