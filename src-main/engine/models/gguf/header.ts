// The header of a GGUF file - metadata and the list of tensors - with every lie caught before a byte of data is trusted.
// Layout: magic | u32 version | u64 tensors | u64 key-value pairs | pairs | tensor entries | padding | data.
import { UserError } from '../../../contract/errors.ts'
import { DEFAULT_ALIGNMENT, GGUF_MAGIC, isReadable, READABLE_TYPES, TENSOR_TYPES, VALUE_BYTES, VALUE_TYPES } from './format.ts'
import type { GgufValue, ValueType } from './format.ts'

/** One tensor of a file. `shape` is row-major as everywhere in Satchel (the file lists dimensions the other way round). */
export interface GgufTensor {
  readonly name: string
  /** Name of the type, or its number where it has none. */
  readonly type: string
  readonly shape: readonly number[]
  /** First byte, counted from the start of the file. */
  readonly offset: number
  /** 0 for a type that is not read. */
  readonly byteLength: number
  readonly elements: number
}

/** A checked header. */
export interface GgufHeader {
  readonly version: number
  readonly metadata: ReadonlyMap<string, GgufValue>
  readonly tensors: ReadonlyMap<string, GgufTensor>
}

/** Longest header that is read: a vocabulary of 262,144 tokens with its merges and a tokenizer.json beside them stays well below. */
export const MAX_HEADER_BYTES = 128 * 1024 * 1024
/** Longest list of numbers or texts in the metadata. */
const MAX_ARRAY = 4_000_000
const MAX_NESTING = 4
/** Longest metadata key or tensor name; those in use are much shorter. */
const MAX_NAME = 1024
const CONTROL_CHARACTER = /\p{Cc}/u
const MAX_DIMENSIONS = 4

/** The error for a file that breaks the format; `field` is the metadata key or the tensor. */
export function brokenGguf(file: string, what: string, field?: string, expected = ''): UserError {
  return new UserError({
    code: 'bad-input',
    what,
    place: field === undefined ? { file } : { file, field },
    expected,
    remedy: 'The file is damaged or was not written completely: copy it again and compare its checksum.',
  })
}

/**
 * Parses and checks a header.
 * @param bytes the beginning of the file
 * @param fileBytes size of the whole file
 * @returns undefined when the header goes on behind `bytes`: call again with more of the file
 * @throws UserError `bad-input` naming file and key or tensor for: another magic, an old, newer or big-endian version, counts and lengths that
 * the file cannot hold, unknown value types, names twice, shapes that do not fit their blocks, tensors that overlap or end behind the file
 */
export function parseGgufHeader(bytes: Uint8Array, fileBytes: number, file: string): GgufHeader | undefined {
  try {
    return parse(createReader(bytes, fileBytes, file), fileBytes, file)
  } catch (error) {
    if (error === MORE_BYTES) return undefined
    throw error
  }
}

const MORE_BYTES = new Error('the header goes on behind the bytes at hand')

function parse(reader: Reader, fileBytes: number, file: string): GgufHeader {
  const magic = reader.ascii(4)
  if (magic !== GGUF_MAGIC) throw brokenGguf(file, `this is not a GGUF file: it starts with ${JSON.stringify(magic)}`, undefined, `"${GGUF_MAGIC}"`)
  const version = checkedVersion(reader.u32(), file)
  const tensorCount = reader.count(24, 'tensors')
  const pairCount = reader.count(13, 'metadata entries')
  const metadata = new Map<string, GgufValue>()
  for (let i = 0; i < pairCount; i += 1) {
    const key = reader.name('a metadata key')
    if (metadata.has(key)) throw brokenGguf(file, 'the metadata names this key twice', key)
    metadata.set(key, reader.value(reader.valueType(key), key))
  }
  const entries: Omit<GgufTensor, 'byteLength' | 'elements'>[] = []
  for (let i = 0; i < tensorCount; i += 1) entries.push(reader.tensorEntry())
  const alignment = alignmentOf(metadata, file)
  const dataStart = Math.ceil(reader.position() / alignment) * alignment
  return { version, metadata, tensors: checkedTensors(entries, { dataStart, alignment, fileBytes, file }) }
}

function checkedVersion(version: number, file: string): number {
  if (version === 2 || version === 3) return version
  // A version number in the upper half is one written the other way round.
  const what = version !== 0 && (version & 0xffff) === 0 ? 'the file is big-endian' : `GGUF version ${version} is not read`
  throw new UserError({ code: 'bad-input', what, place: { file }, expected: 'a little-endian file of version 2 or 3', remedy: 'Convert the model again with a current version of llama.cpp.' })
}

function alignmentOf(metadata: ReadonlyMap<string, GgufValue>, file: string): number {
  const value = metadata.get('general.alignment') ?? DEFAULT_ALIGNMENT
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 1 || value > 1 << 20 || (value & (value - 1)) !== 0) {
    throw brokenGguf(file, `an alignment of ${String(value)} cannot be`, 'general.alignment', 'a power of two')
  }
  return value
}

interface DataArea {
  readonly dataStart: number
  readonly alignment: number
  readonly fileBytes: number
  readonly file: string
}

function checkedTensors(entries: readonly Omit<GgufTensor, 'byteLength' | 'elements'>[], area: DataArea): Map<string, GgufTensor> {
  const { dataStart, alignment, fileBytes, file } = area
  const tensors = new Map<string, GgufTensor>()
  for (const entry of entries) {
    const { name, shape, type } = entry
    if (tensors.has(name)) throw brokenGguf(file, 'the header lists this tensor twice', name)
    const elements = shape.reduce((product, dimension) => product * dimension, 1)
    if (!Number.isSafeInteger(elements * 8)) throw brokenGguf(file, `shape [${shape.join(', ')}] is too large`, name)
    if (entry.offset % alignment !== 0) throw brokenGguf(file, `its bytes start at ${entry.offset}`, name, `a multiple of ${alignment}`)
    const byteLength = isReadable(type) ? packedBytes(shape, type, name, file) : 0
    const offset = dataStart + entry.offset
    if (offset + byteLength > fileBytes) throw brokenGguf(file, `the file is truncated: the tensor ends at byte ${offset + byteLength}, the file at ${fileBytes}`, name)
    tensors.set(name, { name, type, shape, offset, byteLength, elements })
  }
  let end = dataStart
  for (const tensor of [...tensors.values()].toSorted((a, b) => a.offset - b.offset)) {
    if (tensor.offset < end) throw brokenGguf(file, 'its bytes overlap those of another tensor', tensor.name)
    end = tensor.offset + tensor.byteLength
  }
  return tensors
}

function packedBytes(shape: readonly number[], type: keyof typeof READABLE_TYPES, name: string, file: string): number {
  const { block, bytes } = READABLE_TYPES[type]
  const row = shape.at(-1) ?? 1
  if (row % block !== 0) throw brokenGguf(file, `rows of ${row} values cannot be stored as ${type}`, name, `a multiple of ${block}`)
  return (shape.reduce((product, dimension) => product * dimension, 1) / block) * bytes
}

/** Reads one after the other; whatever would leave the file is an error, whatever would leave `bytes` asks for more of it. */
function createReader(bytes: Uint8Array, fileBytes: number, file: string) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let at = 0

  /** Position of the next `length` bytes. */
  function take(length: number, what: string): number {
    if (length > fileBytes - at) throw brokenGguf(file, `the file is truncated: ${what} at byte ${at} needs ${length} bytes, ${fileBytes - at} follow`)
    if (at + length > MAX_HEADER_BYTES) throw brokenGguf(file, `the header is longer than ${MAX_HEADER_BYTES} bytes`)
    if (at + length > bytes.length) throw MORE_BYTES
    at += length
    return at - length
  }
  const u32 = (): number => view.getUint32(take(4, 'a number'), true)
  const u64 = (what: string): number => {
    const value = view.getBigUint64(take(8, what), true)
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw brokenGguf(file, `${what} is ${value}`, undefined, 'a number the file can hold')
    return Number(value)
  }
  /** A count of things that take at least `least` bytes each. */
  const count = (least: number, what: string): number => {
    const value = u64(`the number of ${what}`)
    if (value * least > fileBytes - at) throw brokenGguf(file, `the header claims ${value} ${what}, but only ${fileBytes - at} bytes follow`)
    return value
  }
  const text = (what: string): string => {
    const length = u64(`the length of ${what}`)
    const start = take(length, what)
    return buffer.toString('utf8', start, start + length)
  }
  const integer = (value: bigint): number | bigint => (value >= -9007199254740991n && value <= 9007199254740991n ? Number(value) : value)

  const name = (what: string): string => {
    const value = text(what)
    if (value === '' || value.length > MAX_NAME) throw brokenGguf(file, `${what} has ${value.length} characters`, undefined, `1 to ${MAX_NAME}`)
    if (CONTROL_CHARACTER.test(value)) throw brokenGguf(file, `${what} has control characters: ${JSON.stringify(value)}`)
    return value
  }
  const valueType = (key: string): ValueType => {
    const type = VALUE_TYPES[u32()]
    if (type === undefined) throw brokenGguf(file, 'the value has an unknown type', key, `one of ${VALUE_TYPES.join(', ')}`)
    return type
  }
  const value = (type: ValueType, key: string, depth = 0): GgufValue => {
    switch (type) {
      case 'string':
        return text(`the text of ${key}`)
      case 'array':
        return array(key, depth + 1)
      default:
        return scalar(type, take(VALUE_BYTES[type], key))
    }
  }
  const scalar = (type: Exclude<ValueType, 'string' | 'array'>, start: number): number | bigint | boolean => {
    switch (type) {
      case 'u8': return view.getUint8(start)
      case 'i8': return view.getInt8(start)
      case 'u16': return view.getUint16(start, true)
      case 'i16': return view.getInt16(start, true)
      case 'u32': return view.getUint32(start, true)
      case 'i32': return view.getInt32(start, true)
      case 'f32': return view.getFloat32(start, true)
      case 'f64': return view.getFloat64(start, true)
      case 'bool': return view.getUint8(start) !== 0
      case 'u64': return integer(view.getBigUint64(start, true))
      case 'i64': return integer(view.getBigInt64(start, true))
    }
  }
  const array = (key: string, depth: number): GgufValue[] => {
    if (depth > MAX_NESTING) throw brokenGguf(file, `lists are nested more than ${MAX_NESTING} deep`, key)
    const type = valueType(key)
    const length = count(VALUE_BYTES[type], `values of ${key}`)
    if (length > MAX_ARRAY) throw brokenGguf(file, `the list has ${length} values`, key, `at most ${MAX_ARRAY}`)
    const values: GgufValue[] = []
    for (let i = 0; i < length; i += 1) values.push(value(type, key, depth))
    return values
  }
  const tensorEntry = (): Omit<GgufTensor, 'byteLength' | 'elements'> => {
    const tensor = name('a tensor name')
    const rank = u32()
    if (rank < 1 || rank > MAX_DIMENSIONS) throw brokenGguf(file, `the tensor has ${rank} dimensions`, tensor, `1 to ${MAX_DIMENSIONS}`)
    const shape = Array.from({ length: rank }, () => u64(`a dimension of ${tensor}`)).toReversed()
    if (shape.includes(0)) throw brokenGguf(file, `shape [${shape.join(', ')}] is empty`, tensor)
    const type = u32()
    return { name: tensor, shape, type: TENSOR_TYPES.get(type) ?? String(type), offset: u64(`the place of ${tensor}`) }
  }
  return { ascii: (length: number) => buffer.toString('latin1', take(length, 'the magic'), at), u32, count, name, valueType, value, tensorEntry, position: () => at }
}

type Reader = ReturnType<typeof createReader>
