// Time that stands still until it is moved, seeded chance, a date that follows that time, storage in memory, and no way out: what makes a
// generated page the same in every run, whether it is shown in the sandbox or in a real browser. Everything is made of the page's own objects.

type Callback = (...values: unknown[]) => void

interface Timer {
  readonly id: number
  readonly callback: Callback
  readonly values: readonly unknown[]
  readonly every: number | undefined
  at: number
}

let now = 0
let nextId = 1
const timers = new Map<number, Timer>()

/** Makes a timer; a frame is one of 16 milliseconds. */
function addTimer(callback: unknown, delay: unknown, every: boolean, values: readonly unknown[]): number {
  const id = nextId++
  const wait = Math.max(0, Number(delay) || 0)
  if (typeof callback === 'function') timers.set(id, { id, callback: callback as Callback, values, every: every ? Math.max(1, wait) : undefined, at: now + wait })
  return id
}

/** The instant of the next timer that is due no later than `horizon`, or undefined. */
export function nextInstant(horizon: number): number | undefined {
  let earliest: number | undefined
  for (const timer of timers.values()) if (timer.at <= horizon && (earliest === undefined || timer.at < earliest)) earliest = timer.at
  return earliest
}

/** Milliseconds of virtual time since the page was opened. */
export function virtualTime(): number {
  return now
}

/** Moves time to `instant` and runs what is due then, each timer once, in the order of their making. `onError` hears what a timer throws. */
export function runTimers(instant: number, onError: (error: unknown) => void): void {
  now = Math.max(now, instant)
  const due = [...timers.values()].filter((timer) => timer.at <= now).sort((a, b) => a.at - b.at || a.id - b.id)
  for (const timer of due) {
    if (!timers.has(timer.id)) continue
    if (timer.every === undefined) timers.delete(timer.id)
    else timer.at = now + timer.every
    try {
      timer.callback(...timer.values)
    } catch (error) {
      onError(error)
    }
  }
}

/** Forgets one timer. */
function dropTimer(id: number): void {
  timers.delete(id)
}

/** Forgets every timer, so that a page that is opened again starts from nothing. */
export function clearTimers(): void {
  timers.clear()
}

// A small generator (mulberry32): the page's chance is the same in every run.
let chance = 0x5a7c4e1

/** The next number of the page's chance, 0 to below 1. */
function random(): number {
  chance = (chance + 0x6d2b79f5) | 0
  let mixed = Math.imul(chance ^ (chance >>> 15), 1 | chance)
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
}

/** 2026-01-01T12:00:00Z: the page's clock starts here. */
const epoch = 1_767_268_800_000
const RealDate = Date

class PageDate extends RealDate {
  constructor(...values: []) {
    // With no argument a date is the present, and the present is virtual.
    if (values.length === 0) super(epoch + now)
    else super(...values)
  }
  static override now(): number {
    return epoch + now
  }
}

class PageStorage {
  readonly #values = new Map<string, string>()
  get length(): number {
    return this.#values.size
  }
  getItem(key: unknown): string | null {
    return this.#values.get(String(key)) ?? null
  }
  setItem(key: unknown, value: unknown): void {
    this.#values.set(String(key), String(value))
  }
  removeItem(key: unknown): void {
    this.#values.delete(String(key))
  }
  clear(): void {
    this.#values.clear()
  }
  key(index: number): string | null {
    return [...this.#values.keys()][index] ?? null
  }
}

export const silent = (): void => {}

/** A console that takes everything and keeps nothing; what becomes of warnings and errors is for the page's keeper to say. */
export const silentConsole = { log: silent, info: silent, debug: silent, trace: silent, table: silent, group: silent, groupEnd: silent, time: silent, timeEnd: silent, assert: silent, count: silent, dir: silent }

/** Global functions and objects of every page, by their names. */
export const pageFurniture: Readonly<Record<string, unknown>> = {
  setTimeout: (callback: unknown, delay?: unknown, ...values: unknown[]) => addTimer(callback, delay, false, values),
  setInterval: (callback: unknown, delay?: unknown, ...values: unknown[]) => addTimer(callback, delay, true, values),
  requestAnimationFrame: (callback: unknown) => addTimer(callback, 16, false, [virtualTime() + 16]),
  requestIdleCallback: (callback: unknown) => addTimer(callback, 1, false, [{ didTimeout: false, timeRemaining: () => 10 }]),
  ...Object.fromEntries(['clearTimeout', 'clearInterval', 'cancelAnimationFrame', 'cancelIdleCallback'].map((name) => [name, dropTimer])),
  performance: { now: virtualTime, timeOrigin: epoch, mark: silent, measure: silent },
  Date: PageDate,
  localStorage: new PageStorage(),
  sessionStorage: new PageStorage(),
  fetch: () => Promise.reject(new TypeError('there is no network here')),
  alert: silent,
  confirm: () => false,
  prompt: () => null,
  scrollTo: silent,
}

/** What a page would reach around its globals: chance, and the date behind every date. */
export function alterBuiltIns(): void {
  Object.defineProperty(PageDate.prototype, 'constructor', { value: PageDate })
  Object.defineProperty(RealDate.prototype, 'constructor', { value: PageDate })
  Math.random = random
}
