// Makes the sandbox's own building blocks unchangeable before any generated code runs, and takes away what it must not have.
// After this nobody can make `JSON.stringify`, `Array.prototype` or an element's methods tell the evaluator something else.

const AsyncFunction = (async () => {}).constructor
const GeneratorFunction = function* () {}.constructor
const AsyncGeneratorFunction = async function* () {}.constructor

// Memory outside the heap's limit, waiting without end, or code that runs later outside every time limit.
const forbidden = ['ArrayBuffer', 'SharedArrayBuffer', 'DataView', 'Atomics', 'WebAssembly', 'FinalizationRegistry', 'WeakRef', 'Int8Array', 'Uint8Array', 'Uint8ClampedArray', 'Int16Array', 'Uint16Array', 'Int32Array', 'Uint32Array', 'Float16Array', 'Float32Array', 'Float64Array', 'BigInt64Array', 'BigUint64Array', 'eval', 'ShadowRealm', 'gc']

type Fields = Record<string | symbol, unknown>

/**
 * Freezes the intrinsics and the given classes (with their prototypes), and removes what is forbidden from the global object.
 * @param classes constructors of the page's document objects; their instances stay changeable
 * @param kept forbidden names that stay because they have been made harmless
 */
export function lockDown(classes: readonly unknown[], kept: readonly string[] = []): void {
  const page = globalThis as unknown as Fields
  // Without a limit to read, the engine keeps no stack at all: then no function outside the sandbox is called to format one.
  const errors = Error as unknown as Fields
  delete errors['stackTraceLimit']
  delete errors['captureStackTrace']
  delete errors['prepareStackTrace']
  for (const name of forbidden) if (!kept.includes(name)) delete page[name]

  const iterators = [[][Symbol.iterator](), ''[Symbol.iterator](), new Map()[Symbol.iterator](), new Set()[Symbol.iterator](), 'a'.matchAll(/a/g)]
  const roots: unknown[] = [...classes, ...iterators.map((iterator) => Object.getPrototypeOf(iterator) as unknown), AsyncFunction, GeneratorFunction, AsyncGeneratorFunction]
  for (const name of Object.getOwnPropertyNames(globalThis)) if (/^[A-Z]/.test(name)) roots.push(page[name])
  tolerateOverrides(Object.prototype as unknown as Fields, ['toString', 'valueOf', 'toLocaleString', 'constructor'])
  for (const kind of [Error, TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError, AggregateError]) {
    tolerateOverrides(kind.prototype as unknown as Fields, ['name', 'message', 'toString', 'constructor'])
  }
  const seen = new Set<unknown>()
  for (const root of roots) freezeGraph(root, seen)
  for (const name of Object.getOwnPropertyNames(globalThis)) {
    const held = Object.getOwnPropertyDescriptor(globalThis, name)
    if (held?.configurable === true && /^[A-Z]|^console$|^performance$|^satchel/.test(name)) Object.defineProperty(globalThis, name, { ...('value' in held ? { writable: false } : {}), configurable: false })
  }
}

/**
 * An object whose prototype has a frozen `name` cannot be given a `name` of its own by assignment, which honest programs do
 * (`this.name = 'MyError'`). As an accessor whose setter defines the own property it can.
 */
function tolerateOverrides(prototype: Fields, names: readonly string[]): void {
  for (const name of names) {
    const held = Object.getOwnPropertyDescriptor(prototype, name)
    if (held === undefined || !('value' in held)) continue
    const value: unknown = held.value
    Object.defineProperty(prototype, name, {
      get: () => value,
      set(this: object, replacement: unknown) {
        if (this === prototype) throw new TypeError(`${name} cannot be changed here`)
        Object.defineProperty(this, name, { value: replacement, writable: true, enumerable: true, configurable: true })
      },
      enumerable: false,
      configurable: false,
    })
  }
}

function freezeGraph(start: unknown, seen: Set<unknown>): void {
  const waiting: unknown[] = [start]
  while (waiting.length > 0) {
    const value = waiting.pop()
    if (value === null || (typeof value !== 'object' && typeof value !== 'function') || seen.has(value) || value === globalThis) continue
    seen.add(value)
    waiting.push(Object.getPrototypeOf(value))
    for (const key of Reflect.ownKeys(value)) {
      const held = Object.getOwnPropertyDescriptor(value, key)
      if (held === undefined) continue
      if ('value' in held) waiting.push(held.value)
      else waiting.push(held.get, held.set)
    }
    Object.freeze(value)
  }
}
