// What a generated page finds in the real browser of the render service: time that stands still until it is moved, seeded chance, storage in
// memory, a console that keeps errors only, and nothing that speaks to anyone. The barriers are the window's (no network, no sandbox
// exceptions); this makes the page the same in every run and tells a program about them as politely as the DOM sandbox does.
//
// An entry of its own, evaluated before the kit: React's scheduler picks up its timers while it is being loaded.
import { alterBuiltIns, nextInstant, pageFurniture, runTimers, silent, silentConsole, virtualTime } from './page-time.ts'

/** What the kit takes over from the environment. */
export interface BrowserEnvironment {
  nextInstant(horizon: number): number | undefined
  virtualTime(): number
  runTimers(instant: number): void
  /** Reports an error as the browser does when nobody catches it. */
  report(error: unknown): void
  /** Waits until the browser has done what is waiting: microtasks, observers, layout. */
  breathe(): Promise<void>
}

/** A flood of messages costs time and says nothing new. */
const maximumMessages = 50

const page = globalThis as unknown as Record<string, unknown>
const native = page as unknown as {
  readonly console: { error(...values: unknown[]): void; warn(...values: unknown[]): void }
  reportError(error: unknown): void
  setTimeout(callback: () => void, delay: number): number
  requestAnimationFrame(callback: () => void): number
}
const nativeConsole = native.console
const [tell, warn] = [nativeConsole.error.bind(nativeConsole), nativeConsole.warn.bind(nativeConsole)]
const [nativeReport, nativeTimeout, nativeFrame] = [native.reportError.bind(page), native.setTimeout.bind(page), native.requestAnimationFrame.bind(page)]

let told = 0
const limited = (say: (...values: unknown[]) => void) => (...values: unknown[]): void => {
  if (told++ < maximumMessages) say(...values)
}
const report = limited(nativeReport)

/** An error keeps its name and message only: its stack names scripts of ours. */
const described = (value: unknown): unknown => (value instanceof Error ? `${value.name}: ${value.message}` : value)

function define(name: string, value: unknown): void {
  Object.defineProperty(page, name, { value, writable: true, configurable: true, enumerable: true })
}

const furniture: Record<string, unknown> = {
  ...pageFurniture,
  console: { ...silentConsole, warn: limited((...values) => warn(...values.map(described))), error: limited((...values) => tell(...values.map(described))) },
  reportError: report,
  print: silent,
}
for (const [name, value] of Object.entries(furniture)) define(name, value)
// Ways to other machines and to other processes; the window bars them as well.
for (const name of ['RTCPeerConnection', 'webkitRTCPeerConnection', 'RTCDataChannel', 'WebTransport', 'WebSocketStream', 'Worker', 'SharedWorker', 'SharedArrayBuffer', 'Notification', 'speechSynthesis']) delete page[name]
// Without it React's scheduler takes the timers above.
delete page['MessageChannel']
alterBuiltIns()

/** Two frames of the browser; where it draws none, a moment. */
function breathe(): Promise<void> {
  return new Promise((resolve) => {
    nativeFrame(() => nativeFrame(() => resolve()))
    nativeTimeout(resolve, 100)
  })
}

const environment: BrowserEnvironment = { nextInstant, virtualTime, runTimers: (instant) => runTimers(instant, report), report, breathe }
define('satchelEnvironment', environment)
