// What a page offers to the program inside the sandbox: time that stands still until it is moved, seeded chance, a console that
// only counts, storage in memory, and no way out. Everything here is made of the sandbox's own objects.
//
// An entry of its own, evaluated before the kit: React's scheduler picks up its timers while it is being loaded, and imports of
// packages are always evaluated before the code beside them. What the kit needs of it is handed over through one global.

import { addTimer, clearTimers, dropTimer, epoch, nextInstant, PageDate, PageStorage, random, RealDate, runTimers, virtualTime } from './page-time.ts'

/** What the kit takes over from the environment. */
export interface PageEnvironment {
  readonly logged: Logged
  record(kind: 'errors' | 'warnings', values: readonly unknown[]): void
  nextInstant(horizon: number): number | undefined
  virtualTime(): number
  runTimers(instant: number): void
  clearTimers(): void
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
const clock = { now: virtualTime, timeOrigin: epoch, mark: silent, measure: silent }

/** Puts the page's functions onto the global object of the context. */
function furnish(page: Record<string, unknown>): void {
  Object.assign(page, {
    window: page,
    self: page,
    setTimeout: (callback: unknown, delay?: unknown, ...values: unknown[]) => addTimer(callback, delay, false, values),
    setInterval: (callback: unknown, delay?: unknown, ...values: unknown[]) => addTimer(callback, delay, true, values),
    requestAnimationFrame: (callback: unknown) => addTimer(callback, 16, false, [virtualTime() + 16]),
    requestIdleCallback: (callback: unknown) => addTimer(callback, 1, false, [{ didTimeout: false, timeRemaining: () => 10 }]),
    queueMicrotask: (callback: () => void) => void Promise.resolve().then(callback).catch((error: unknown) => record('errors', [error])),
    performance: clock,
    Date: PageDate,
    console: { log: silent, info: silent, debug: silent, trace: silent, table: silent, group: silent, groupEnd: silent, time: silent, timeEnd: silent, assert: silent, count: silent, dir: silent, warn: (...values: unknown[]) => record('warnings', values), error: (...values: unknown[]) => record('errors', values) },
    reportError: (error: unknown) => record('errors', [error]),
    navigator: { userAgent: 'Satchel', language: 'en-US', languages: ['en-US'], onLine: false },
    location: { href: 'about:blank', pathname: 'blank', protocol: 'about:', host: '', hostname: '', search: '', hash: '', origin: 'null', reload: silent, assign: silent, replace: silent },
    localStorage: new PageStorage(),
    sessionStorage: new PageStorage(),
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
  for (const name of ['clearTimeout', 'clearInterval', 'cancelAnimationFrame', 'cancelIdleCallback']) page[name] = (id: number) => dropTimer(id)
  Object.defineProperty(PageDate.prototype, 'constructor', { value: PageDate })
  Object.defineProperty(RealDate.prototype, 'constructor', { value: PageDate })
  Math.random = random
}

const scope = globalThis as unknown as Record<string, unknown>
furnish(scope)
const environment: PageEnvironment = { logged, record, nextInstant, virtualTime, runTimers: (instant) => runTimers(instant, (error) => record('errors', [error])), clearTimers }
scope['satchelEnvironment'] = environment
