// Seeded damage for files: the kinds a bad disk, a broken download or ill will do.
import type { RandomStream } from '../../src-main/engine/runtime/random.ts'

const below = (stream: RandomStream, limit: number): number => stream.integer(limit)
const oneOf = <Item>(stream: RandomStream, items: readonly Item[]): Item => items[below(stream, items.length)] as Item

/** Lengths, counts and offsets as a liar would set them. */
const EXTREME_INTEGERS = [0n, 1n, 7n, 8n, 0x7fn, 0xffn, 0xffffn, 0x7fff_ffffn, 0x8000_0000n, 0xffff_ffffn, 0x1_0000_0000n, (1n << 53n) - 1n, 1n << 53n, (1n << 63n) - 1n, 1n << 63n, (1n << 64n) - 1n]

/**
 * A damaged copy: one to three of a flipped bit, another byte, an extreme 32- or 64-bit number, a cut, a piece left out, doubled, zeroed or
 * moved, and bytes at the end.
 * @param hot bytes from the start that are hit more often than the rest: headers
 */
export function mutateBytes(stream: RandomStream, original: Uint8Array, hot = original.length): Uint8Array {
  let bytes = Buffer.from(original)
  for (let change = below(stream, 3); change >= 0; change -= 1) bytes = Buffer.from(mutateOnce(stream, bytes, Math.min(hot, bytes.length)))
  return bytes
}

function mutateOnce(stream: RandomStream, bytes: Buffer, hot: number): Uint8Array {
  if (bytes.length === 0) return Buffer.of(below(stream, 256))
  const at = below(stream, stream.uniform() < 0.8 && hot > 0 ? hot : bytes.length)
  const length = 1 + below(stream, Math.min(64, bytes.length - at))
  switch (below(stream, 10)) {
    case 0:
    case 1:
      bytes[at]! ^= 1 << below(stream, 8)
      return bytes
    case 2:
      bytes[at] = below(stream, 256)
      return bytes
    case 3:
      if (at + 8 <= bytes.length) bytes.writeBigUInt64LE(oneOf(stream, EXTREME_INTEGERS), at)
      return bytes
    case 4:
      if (at + 4 <= bytes.length) bytes.writeUInt32LE(Number(oneOf(stream, EXTREME_INTEGERS) & 0xffff_ffffn), at)
      return bytes
    case 5:
      return bytes.subarray(0, at)
    case 6:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + length)])
    case 7:
      return Buffer.concat([bytes.subarray(0, at + length), bytes.subarray(at)])
    case 8:
      return bytes.fill(0, at, at + length)
    default:
      return Buffer.concat([bytes, Buffer.alloc(1 + below(stream, 64), below(stream, 256))])
  }
}

const EXTREME_VALUES: readonly unknown[] = [
  null, true, false, 0, -1, 1, 0.5, 3, 1e8, 2 ** 31, 2 ** 32, 2 ** 53, 1e300, -1e300, '', 'x', '\u0000', '\ud800', 'x'.repeat(5000), '(', '[a-', '\\p{L', [], {}, [[]], [null], { type: 'Sequence' }, ['a', 'b', 'c'], '__proto__', { constructor: 1 },
]

/**
 * A damaged JSON text: values swapped for extreme or foreign ones, fields left out, doubled or renamed, lists cut or repeated, deep nesting; or the
 * text itself damaged like any other bytes.
 */
export function mutateJson(stream: RandomStream, text: string): Uint8Array {
  if (stream.uniform() < 0.25) return mutateBytes(stream, Buffer.from(text))
  if (stream.uniform() < 0.03) return Buffer.from(nested(text, 10 ** (1 + below(stream, 5))))
  const root = { value: JSON.parse(text) as unknown }
  for (let change = below(stream, 3); change >= 0; change -= 1) {
    const places = containersOf(root)
    mutateContainer(stream, oneOf(stream, places), places)
  }
  return Buffer.from(JSON.stringify(root.value) ?? '')
}

/** The text inside so many lists, or inside one of its own fields. */
function nested(text: string, depth: number): string {
  return `${'['.repeat(depth)}${text}${']'.repeat(depth)}`
}

type Container = Record<string, unknown> | unknown[]

/** Every object and list below a value, large lists by their first entries; the objects nearest to the root are there several times, so that they are hit as often. */
function containersOf(root: Container): Container[] {
  const found: Container[] = []
  const visit = (value: unknown, depth: number): void => {
    if (typeof value !== 'object' || value === null) return
    for (let times = Math.max(1, 6 - 2 * depth); times > 0; times -= 1) found.push(value as Container)
    for (const child of Object.values(value).slice(0, 40)) visit(child, depth + 1)
  }
  visit(root, 0)
  return found
}

function mutateContainer(stream: RandomStream, container: Container, places: readonly Container[]): void {
  const keys = Object.keys(container)
  const key = keys.length === 0 ? 'x' : oneOf(stream, keys)
  const fields = container as Record<string, unknown>
  const foreign = (): unknown => structuredClone(Object.values(oneOf(stream, places)).at(below(stream, 8)))
  switch (below(stream, 7)) {
    case 0:
    case 1:
    case 2:
      fields[key] = structuredClone(oneOf(stream, EXTREME_VALUES))
      return
    case 3:
      fields[key] = foreign()
      return
    case 4:
      if (Array.isArray(container)) container.splice(Number(key) || 0, 1 + below(stream, 4))
      else delete fields[key]
      return
    case 5:
      if (Array.isArray(container)) container.push(...Array.from({ length: below(stream, 40) }, () => container[0]))
      else fields[`${key}${oneOf(stream, ['s', '_', '\u0000', ''])}`] = foreign()
      return
    default:
      fields[key] = nestedValue(10 ** (1 + below(stream, 3)), oneOf(stream, ['pretokenizers', 'normalizers', 'decoders', 'processors']))
  }
}

function nestedValue(depth: number, field: string): unknown {
  let value: unknown = 1
  for (let level = 0; level < depth; level += 1) value = level % 2 === 0 ? [value] : { type: 'Sequence', [field]: value }
  return value
}
