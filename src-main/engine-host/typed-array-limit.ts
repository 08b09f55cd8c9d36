// Typed arrays for programs inside a context. Their memory lies outside the heap and its limit, so what a context may take of it in all its
// life is counted here, and what would get around the count is taken away.

interface TypedArray {
  readonly byteLength: number
  readonly buffer: object
}
type TypedArrayClass = (new (...values: never[]) => TypedArray) & { readonly BYTES_PER_ELEMENT: number; readonly prototype: object }
type Method = (this: unknown, ...values: unknown[]) => TypedArray

const names = ['Int8Array', 'Uint8Array', 'Uint8ClampedArray', 'Int16Array', 'Uint16Array', 'Int32Array', 'Uint32Array', 'Float32Array', 'Float64Array', 'BigInt64Array', 'BigUint64Array']
const mostBytes = 64 * 1024 * 1024

/** Puts counting constructors into the place of the real ones. Returns the names that may stay. */
export function limitTypedArrays(): readonly string[] {
  const page = globalThis as unknown as Record<string, unknown>
  const { construct, apply } = Reflect
  let taken = 0
  const take = (bytes: number): void => {
    taken += bytes
    if (taken > mostBytes) throw new RangeError('a program may take 64 MiB of typed arrays')
  }
  for (const name of names) {
    const original = page[name] as TypedArrayClass
    const { BYTES_PER_ELEMENT: size, prototype } = original
    const counted = new Proxy(original, {
      construct(target, values: unknown[], newTarget) {
        const [first] = values
        const isObject = (typeof first === 'object' && first !== null) || typeof first === 'function'
        // A length, or a list that says how long it is, is counted beforehand; a view of a buffer (which has no length) takes nothing.
        const announced = size * (Number(isObject ? (first as { length?: unknown }).length : first) || 0)
        take(announced)
        const made = construct(target, values, newTarget) as TypedArray
        // What comes piece by piece, or lied about its length.
        if (made.buffer !== first) take(Math.max(0, made.byteLength - announced))
        return made
      },
    })
    Object.defineProperty(prototype, 'constructor', { value: counted, writable: true, configurable: true })
    page[name] = counted
  }
  // Methods that make an array past the constructors, or can be made to (an array without a constructor is copied by the real one).
  const shared = Object.getPrototypeOf(Int8Array.prototype) as Record<string, Method | undefined>
  for (const name of ['slice', 'map', 'filter', 'toReversed', 'toSorted', 'with']) {
    const method = shared[name]
    if (method === undefined) continue
    shared[name] = function (this: unknown, ...values: unknown[]) {
      take(0)
      const made = apply(method, this, values)
      take(made.byteLength)
      return made
    }
  }
  for (const name of ['slice', 'resize', 'transfer', 'transferToFixedLength', 'constructor']) delete (ArrayBuffer.prototype as unknown as Record<string, unknown>)[name]
  return names
}
