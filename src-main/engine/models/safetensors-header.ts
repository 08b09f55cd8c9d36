// The header of a safetensors file, with every lie caught before a byte of data is trusted.
// Layout: u64 little-endian header length | header JSON | data. The rules are those of the reference reader.
import { z } from 'zod'
import { UserError } from '../../contract/errors.ts'

/** Bytes of one element, by the format's names. */
export const ELEMENT_BYTES = {
  BOOL: 1, U8: 1, I8: 1, F8_E5M2: 1, F8_E4M3: 1, F8_E8M0: 1, F8_E4M3FNUZ: 1, F8_E5M2FNUZ: 1,
  I16: 2, U16: 2, F16: 2, BF16: 2, I32: 4, U32: 4, F32: 4, I64: 8, U64: 8, F64: 8, C64: 8,
} as const

/** Element type names as they stand in the file. */
export type ElementType = keyof typeof ELEMENT_BYTES

/** One tensor of a file: `offset` is its first byte counted from the start of the file. */
export interface TensorInfo {
  readonly name: string
  readonly dtype: ElementType
  readonly shape: readonly number[]
  readonly offset: number
  readonly byteLength: number
  readonly elements: number
}

/** A checked header. */
export interface SafetensorsHeader {
  readonly tensors: ReadonlyMap<string, TensorInfo>
  readonly metadata: Readonly<Record<string, string>>
}

/** Longest header that is read, the reference reader's limit. */
export const MAX_HEADER_BYTES = 100_000_000

const entrySchema = z.object({
  dtype: z.string('dtype must be a text'),
  shape: z.array(z.number().int().nonnegative(), 'shape must be a list of sizes'),
  data_offsets: z.tuple([z.number().int().nonnegative(), z.number().int().nonnegative()], 'data_offsets must be two byte positions'),
})
const metadataSchema = z.record(z.string(), z.string('metadata values must be texts'))

/**
 * Parses and checks a header.
 * @param bytes header JSON (without the 8 length bytes)
 * @param fileBytes size of the whole file
 * @throws UserError `bad-input` naming file and tensor for: not UTF-8, not JSON, a name twice, an unknown dtype, a shape that
 * does not fit its bytes, offsets that overlap, leave holes, or end before or behind the end of the file.
 */
export function parseSafetensorsHeader(bytes: Uint8Array, fileBytes: number, file: string): SafetensorsHeader {
  const json = decodeHeader(bytes, file)
  const dataStart = 8 + bytes.length
  const tensors = new Map<string, TensorInfo>()
  let metadata: Record<string, string> = {}
  for (const [name, value] of Object.entries(json)) {
    if (name === '__metadata__') {
      const checked = metadataSchema.safeParse(value)
      if (!checked.success) throw broken(file, 'the metadata is not a map of texts', '__metadata__')
      metadata = checked.data
    } else {
      tensors.set(name, parseEntry(name, value, dataStart, file))
    }
  }
  checkCoverage([...tensors.values()], dataStart, fileBytes, file)
  return { tensors, metadata }
}

/** The error for a file that breaks the format; `field` is the tensor. */
export function broken(file: string, what: string, field?: string, expected = ''): UserError {
  return new UserError({
    code: 'bad-input',
    what,
    place: field === undefined ? { file } : { file, field },
    expected,
    remedy: 'The file is damaged or was not written completely: copy it again and compare its checksum.',
  })
}

function decodeHeader(bytes: Uint8Array, file: string): Record<string, unknown> {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (error) {
    throw new UserError(broken(file, 'the safetensors header is not UTF-8').envelope, { cause: error })
  }
  if (!text.startsWith('{')) throw broken(file, 'this is not a safetensors file: the header does not start with "{"')
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (error) {
    throw new UserError(broken(file, `the safetensors header is not JSON (${(error as Error).message})`).envelope, { cause: error })
  }
  const duplicate = findDuplicateKey(text)
  if (duplicate !== undefined) throw broken(file, `the safetensors header names "${duplicate}" twice`, duplicate)
  return json as Record<string, unknown>
}

/** First object key that stands twice in one object of a valid JSON text: JSON.parse would silently keep the last. */
function findDuplicateKey(text: string): string | undefined {
  const open: (Set<string> | null)[] = [] // null stands for an array
  for (let i = 0; i < text.length; i += 1) {
    const char = text[i]
    if (char === '{') open.push(new Set())
    else if (char === '[') open.push(null)
    else if (char === '}' || char === ']') open.pop()
    else if (char === '"') {
      const start = i
      for (i += 1; text[i] !== '"'; i += 1) if (text[i] === '\\') i += 1
      let next = i + 1
      while (/\s/.test(text[next] ?? '')) next += 1
      const keys = open.at(-1)
      if (text[next] !== ':' || keys === null || keys === undefined) continue
      const key = JSON.parse(text.slice(start, i + 1)) as string
      if (keys.has(key)) return key
      keys.add(key)
    }
  }
  return undefined
}

function parseEntry(name: string, value: unknown, dataStart: number, file: string): TensorInfo {
  const checked = entrySchema.safeParse(value)
  if (!checked.success) throw broken(file, `the header entry is not valid (${checked.error.issues[0]?.message ?? 'unknown'})`, name, 'dtype, shape and data_offsets')
  const { dtype, shape, data_offsets: [begin, end] } = checked.data
  if (!isElementType(dtype)) throw broken(file, `unknown element type "${dtype}"`, name, `one of ${Object.keys(ELEMENT_BYTES).join(', ')}`)
  const elements = shape.reduce((product, dimension) => product * dimension, 1)
  const bytes = elements * ELEMENT_BYTES[dtype]
  if (!Number.isSafeInteger(bytes)) throw broken(file, `shape [${shape.join(', ')}] is too large`, name)
  if (end < begin) throw broken(file, `data_offsets [${begin}, ${end}] run backwards`, name)
  if (end - begin !== bytes) throw broken(file, `shape [${shape.join(', ')}] of ${dtype} needs ${bytes} bytes, but data_offsets hold ${end - begin}`, name)
  return { name, dtype, shape, offset: dataStart + begin, byteLength: bytes, elements }
}

/** Tensors must lie end to end from the first data byte to the end of the file: nothing shared, nothing hidden. */
function checkCoverage(tensors: TensorInfo[], dataStart: number, fileBytes: number, file: string): void {
  const ordered = tensors.toSorted((a, b) => a.offset - b.offset || a.byteLength - b.byteLength)
  let position = dataStart
  for (const tensor of ordered) {
    if (tensor.offset < position) throw broken(file, `its bytes overlap those of another tensor`, tensor.name)
    if (tensor.offset > position) throw broken(file, `${tensor.offset - position} bytes before it belong to no tensor`, tensor.name)
    position += tensor.byteLength
    if (position > fileBytes) throw broken(file, `the file is truncated: the tensor ends at byte ${position}, the file at ${fileBytes}`, tensor.name)
  }
  if (position < fileBytes) throw broken(file, `${fileBytes - position} bytes at the end of the file belong to no tensor`)
}

function isElementType(name: string): name is ElementType {
  return Object.hasOwn(ELEMENT_BYTES, name)
}
