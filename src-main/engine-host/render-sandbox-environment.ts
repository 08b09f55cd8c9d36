// What a page offers to the program inside the sandbox: time that stands still until it is moved, seeded chance, a console that
// only counts, storage in memory, and no way out. Everything here is made of the sandbox's own objects.
//
// An entry of its own, evaluated before the kit: React's scheduler picks up its timers while it is being loaded, and imports of
// packages are always evaluated before the code beside them. What the kit needs of it is handed over through one global.

import { alterBuiltIns, clearTimers, nextInstant, pageFurniture, runTimers, silent, silentConsole, virtualTime } from './page-time.ts'

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

/** Puts the page's functions onto the global object of the context. */
function furnish(page: Record<string, unknown>): void {
  Object.assign(page, {
    window: page,
    self: page,
    ...pageFurniture,
    queueMicrotask: (callback: () => void) => void Promise.resolve().then(callback).catch((error: unknown) => record('errors', [error])),
    console: { ...silentConsole, warn: (...values: unknown[]) => record('warnings', values), error: (...values: unknown[]) => record('errors', values) },
    reportError: (error: unknown) => record('errors', [error]),
    navigator: { userAgent: 'Satchel', language: 'en-US', languages: ['en-US'], onLine: false },
    location: { href: 'about:blank', pathname: 'blank', protocol: 'about:', host: '', hostname: '', search: '', hash: '', origin: 'null', reload: silent, assign: silent, replace: silent },
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
  alterBuiltIns()
}

const scope = globalThis as unknown as Record<string, unknown>
furnish(scope)
const environment: PageEnvironment = { logged, record, nextInstant, virtualTime, runTimers: (instant) => runTimers(instant, (error) => record('errors', [error])), clearTimers }
scope['satchelEnvironment'] = environment
