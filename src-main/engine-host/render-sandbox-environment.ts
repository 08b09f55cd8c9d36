// What a page offers to the program inside the sandbox: time that stands still until it is moved, seeded chance, a console that
// only counts, storage in memory, and no way out. Everything here is made of the sandbox's own objects.
//
// An entry of its own, evaluated before the kit: React's scheduler picks up its timers while it is being loaded, and imports of
// packages are always evaluated before the code beside them. What the kit needs of it is handed over through one global.

/** What the kit takes over from the environment. */
export interface PageEnvironment {
  readonly logged: Logged
  record(kind: 'errors' | 'warnings', values: readonly unknown[]): void
  nextInstant(horizon: number): number | undefined
  virtualTime(): number
  runTimers(instant: number): void
  clearTimers(): void
}

type Callback = (...values: unknown[]) => void

interface Timer {
  readonly id: number
  readonly callback: Callback
  readonly values: readonly unknown[]
  readonly every: number | undefined
  at: number
}

interface Logged {
  readonly errors: string[]
  readonly warnings: string[]
}

/** Messages the page has logged; capped, so that a flood costs nothing. */
const logged: Logged = { errors: [], warnings: [] }
const maximumMessages = 20
const maximumMessageLength = 300

/** Records an error or warning. Never throws. */
function record(kind: 'errors' | 'warnings', values: readonly unknown[]): void {
  const list = logged[kind]
  if (list.length < maximumMessages) list.push(describe(values))
}

function describe(values: readonly unknown[]): string {
  try {
    return values
      .map((value) => (value instanceof Error ? `${value.name}: ${value.message}` : String(value)))
      .join(' ')
      .slice(0, maximumMessageLength)
  } catch {
    return 'an error that cannot be described'
  }
}

let now = 0
let nextId = 1
const timers = new Map<number, Timer>()

function addTimer(callback: unknown, delay: unknown, every: boolean, values: readonly unknown[]): number {
  const id = nextId++
  const wait = Math.max(0, Number(delay) || 0)
  if (typeof callback === 'function') timers.set(id, { id, callback: callback as Callback, values, every: every ? Math.max(1, wait) : undefined, at: now + wait })
  return id
}

/** The instant of the next timer that is due no later than `horizon`, or undefined. */
function nextInstant(horizon: number): number | undefined {
  let earliest: number | undefined
  for (const timer of timers.values()) if (timer.at <= horizon && (earliest === undefined || timer.at < earliest)) earliest = timer.at
  return earliest
}

/** Milliseconds of virtual time since the page was opened. */
function virtualTime(): number {
  return now
}

/** Moves time to `instant` and runs what is due then, each timer once, in the order of their making. */
function runTimers(instant: number): void {
  now = Math.max(now, instant)
  const due = [...timers.values()].filter((timer) => timer.at <= now).sort((a, b) => a.at - b.at || a.id - b.id)
  for (const timer of due) {
    if (!timers.has(timer.id)) continue
    if (timer.every === undefined) timers.delete(timer.id)
    else timer.at = now + timer.every
    try {
      timer.callback(...timer.values)
    } catch (error) {
      record('errors', [error])
    }
  }
}

/** Forgets every timer, so that a page that is opened again starts from nothing. */
function clearTimers(): void {
  timers.clear()
}

// A small generator (mulberry32): the page's chance is the same in every run.
let chance = 0x5a7c4e1
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

class Storage {
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

class Observer {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
  takeRecords(): unknown[] {
    return []
  }
}

const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

function atob(text: unknown): string {
  let out = ''
  let bits = 0
  let held = 0
  for (const character of String(text)) {
    const value = digits.indexOf(character)
    if (value < 0) continue
    bits = ((bits << 6) | value) & 0xffff
    held += 6
    if (held >= 8) {
      held -= 8
      out += String.fromCharCode((bits >> held) & 0xff)
    }
  }
  return out
}

function btoa(text: unknown): string {
  const source = String(text)
  let out = ''
  for (let index = 0; index < source.length; index += 3) {
    const [a, b, c] = [source.charCodeAt(index), source.charCodeAt(index + 1), source.charCodeAt(index + 2)]
    const word = (a << 16) | ((b || 0) << 8) | (c || 0)
    out += digits.charAt(word >> 18) + digits.charAt((word >> 12) & 63)
    out += Number.isNaN(b) ? '=' : digits.charAt((word >> 6) & 63)
    out += Number.isNaN(c) ? '=' : digits.charAt(word & 63)
  }
  return out
}

const silent = (): void => {}
const clock = { now: () => now, timeOrigin: epoch, mark: silent, measure: silent }

/** Puts the page's functions onto the global object of the context. */
function furnish(page: Record<string, unknown>): void {
  Object.assign(page, {
    window: page,
    self: page,
    setTimeout: (callback: unknown, delay?: unknown, ...values: unknown[]) => addTimer(callback, delay, false, values),
    setInterval: (callback: unknown, delay?: unknown, ...values: unknown[]) => addTimer(callback, delay, true, values),
    requestAnimationFrame: (callback: unknown) => addTimer(callback, 16, false, [now + 16]),
    requestIdleCallback: (callback: unknown) => addTimer(callback, 1, false, [{ didTimeout: false, timeRemaining: () => 10 }]),
    queueMicrotask: (callback: () => void) => void Promise.resolve().then(callback).catch((error: unknown) => record('errors', [error])),
    performance: clock,
    Date: PageDate,
    console: { log: silent, info: silent, debug: silent, trace: silent, table: silent, group: silent, groupEnd: silent, time: silent, timeEnd: silent, assert: silent, count: silent, dir: silent, warn: (...values: unknown[]) => record('warnings', values), error: (...values: unknown[]) => record('errors', values) },
    reportError: (error: unknown) => record('errors', [error]),
    navigator: { userAgent: 'Satchel', language: 'en-US', languages: ['en-US'], onLine: false },
    location: { href: 'about:blank', pathname: 'blank', protocol: 'about:', host: '', hostname: '', search: '', hash: '', origin: 'null', reload: silent, assign: silent, replace: silent },
    localStorage: new Storage(),
    sessionStorage: new Storage(),
    fetch: () => Promise.reject(new TypeError('there is no network here')),
    alert: silent,
    confirm: () => false,
    prompt: () => null,
    scrollTo: silent,
    matchMedia: (media: string) => ({ media, matches: false, addEventListener: silent, removeEventListener: silent, addListener: silent, removeListener: silent }),
    getComputedStyle: (element: { style?: unknown }) => element.style ?? {},
    ResizeObserver: Observer,
    IntersectionObserver: Observer,
    atob,
    btoa,
    innerWidth: 1280,
    innerHeight: 800,
    devicePixelRatio: 1,
  })
  for (const name of ['clearTimeout', 'clearInterval', 'cancelAnimationFrame', 'cancelIdleCallback']) page[name] = (id: number) => void timers.delete(id)
  Object.defineProperty(PageDate.prototype, 'constructor', { value: PageDate })
  Object.defineProperty(RealDate.prototype, 'constructor', { value: PageDate })
  Math.random = random
}

const scope = globalThis as unknown as Record<string, unknown>
furnish(scope)
const environment: PageEnvironment = { logged, record, nextInstant, virtualTime, runTimers, clearTimers }
scope['satchelEnvironment'] = environment
