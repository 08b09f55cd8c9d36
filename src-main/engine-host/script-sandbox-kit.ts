// What lives in the context of a program that is called: a quiet environment, and the few commands the process may give.
// It is bundled into one classic script; nothing in it can reach an object of the process.
//
//   satchelRegister(function)         called once: hands over the program without running it
//   satchelLine(n)                    called by the program before each statement: where it is
//   satchelCommand(secret, name, ..)  called by the process only. Answers are JSON texts, the only thing that leaves the context.
import { lockDown } from './render-sandbox-lockdown.ts'
import { limitTypedArrays } from './typed-array-limit.ts'

type Program = (exports: Record<string, unknown>, require: (name: string) => unknown, module: { exports: unknown }) => void
type Callable = (...parameters: unknown[]) => unknown

const page = globalThis as unknown as Record<string, unknown>
const secret = page['satchelSecret']
delete page['satchelSecret']
const { parse, stringify } = JSON
const { apply } = Reflect

let program: Program | undefined
let callable: Callable | undefined
let line = 0
/** What a promise has come to; undefined while it has come to nothing. */
let settled: string | undefined

page['satchelRegister'] = (handed: unknown): void => {
  if (program === undefined && typeof handed === 'function') program = handed as Program
}
page['satchelLine'] = (at: unknown): void => {
  line = typeof at === 'number' ? at : 0
}
page['satchelCommand'] = (given: unknown, name: unknown, input: unknown): string => {
  if (given !== secret) throw new TypeError('this is not for the program')
  switch (name) {
    case 'load':
      return load()
    case 'call':
      return call(String(input))
    case 'result':
      return settled ?? stringify({ error: 'the promise never comes to anything' })
    case 'line':
      return String(line)
    default:
      return ''
  }
}

/** Runs the program once and finds the function it exports. */
function load(): string {
  if (program === undefined) return stringify({ error: 'nothing was bundled' })
  const module = { exports: {} as unknown }
  try {
    program(module.exports as Record<string, unknown>, missingModule, module)
    const exported = module.exports as { readonly satchelEntry?: unknown; readonly default?: unknown }
    const found = exported.satchelEntry ?? exported.default
    if (typeof found === 'function') callable = found as Callable
  } catch (error) {
    return failure(error)
  }
  return callable === undefined ? stringify({ error: 'there is no function' }) : '{}'
}

function missingModule(name: unknown): never {
  throw new Error(`there is no module ${String(name)} here`)
}

/** Calls the function; an empty text means that it gave a promise, which the next command asks for. */
function call(input: string): string {
  settled = undefined
  line = 0
  try {
    const value = apply(callable as Callable, undefined, parse(input) as unknown[])
    if (typeof value !== 'object' || value === null || typeof (value as { then?: unknown }).then !== 'function') return answer(value)
    void Promise.resolve(value).then((outcome) => (settled = answer(outcome)), (error: unknown) => (settled = failure(error)))
    return ''
  } catch (error) {
    return failure(error)
  }
}

function answer(value: unknown): string {
  try {
    const text = stringify({ value: describe(value, 0, { left: largestValue }) })
    return text.length > largestText ? stringify({ error: 'the result is too large' }) : text
  } catch (error) {
    return failure(error)
  }
}

function failure(error: unknown): string {
  let message = 'an error that cannot be described'
  try {
    message = (error instanceof Error ? `${error.name}: ${error.message}` : `thrown: ${String(error)}`).slice(0, 300)
  } catch {
    // It describes itself with an error; one is enough.
  }
  return stringify({ error: message, line })
}

const largestValue = 100_000
const largestText = 1_000_000
const deepest = 100

/** A value as JSON. What JSON cannot say is an object with one key that begins with a dollar sign; real keys that do so get a second one. */
function describe(value: unknown, depth: number, budget: { left: number }): unknown {
  if (--budget.left < 0 || depth > deepest) throw new RangeError('the result is too large')
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      return Number.isFinite(value) ? value : { $number: String(value) }
    case 'bigint':
      return { $bigint: String(value) }
    case 'undefined':
      return { $undefined: true }
    case 'object':
      break
    default:
      return { $other: typeof value }
  }
  if (value === null) return null
  const inner = (item: unknown): unknown => describe(item, depth + 1, budget)
  if (Array.isArray(value)) {
    const list: unknown[] = []
    for (let index = 0; index < value.length; index++) list[index] = inner(value[index])
    return list
  }
  if (value instanceof Map) return { $map: inner([...value]) }
  if (value instanceof Set) return { $set: inner([...value]) }
  if (value instanceof Date) return { $date: inner(value.getTime()) }
  const plain: Record<string, unknown> = Object.create(null) as Record<string, unknown>
  for (const key of Object.keys(value)) plain[key.startsWith('$') ? `$${key}` : key] = inner((value as Record<string, unknown>)[key])
  return plain
}

const silent = (): void => {}
page['console'] = { log: silent, info: silent, debug: silent, trace: silent, table: silent, group: silent, groupEnd: silent, time: silent, timeEnd: silent, assert: silent, count: silent, dir: silent, warn: silent, error: silent }

// A small generator (mulberry32): chance is the same in every run.
let chance = 0x5a7c4e1
Math.random = () => {
  chance = (chance + 0x6d2b79f5) | 0
  let mixed = Math.imul(chance ^ (chance >>> 15), 1 | chance)
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
}
page['structuredClone'] = (value: unknown): unknown => clone(value, new Map())

function clone(value: unknown, made: Map<unknown, unknown>): unknown {
  if (typeof value !== 'object' || value === null) return value
  const before = made.get(value)
  if (before !== undefined) return before
  const copy: unknown = Array.isArray(value) ? [] : {}
  made.set(value, copy)
  for (const key of Object.keys(value)) (copy as Record<string, unknown>)[key] = clone((value as Record<string, unknown>)[key], made)
  return copy
}

lockDown([], limitTypedArrays())
