// What the benchmarks of the app measure inside its page and of its processes.
import { readFileSync } from 'node:fs'
import type { ElectronApplication, Page } from 'playwright-core'

export interface FrameReport {
  readonly framesASecond: number
  /** Longest time between two frames, milliseconds. */
  readonly longest: number
  /** 95th percentile of the time between two frames, milliseconds. */
  readonly slow: number
  readonly eventsASecond: number
}

/** Counts frames and events of the selected run for so many seconds. */
export function watchFrames(page: Page, seconds: number): Promise<FrameReport> {
  return page.evaluate(async (duration) => {
    const { subscribe } = (window as unknown as { satchel: { subscribe(name: string, hear: () => void): () => void } }).satchel
    let events = 0
    const unsubscribe = subscribe('run.event', () => (events += 1))
    const gaps: number[] = []
    const begin = performance.now()
    await new Promise<void>((resolve) => {
      let last = begin
      const frame = (now: number): void => {
        gaps.push(now - last)
        last = now
        if (now - begin < duration * 1000) requestAnimationFrame(frame)
        else resolve()
      }
      requestAnimationFrame(frame)
    })
    unsubscribe()
    const took = (performance.now() - begin) / 1000
    const ordered = gaps.toSorted((a, b) => a - b)
    return { framesASecond: gaps.length / took, longest: ordered.at(-1) ?? 0, slow: ordered[Math.floor(ordered.length * 0.95)] ?? 0, eventsASecond: events / took }
  }, seconds)
}

/** Charts with lines that stand at least half inside the window. */
export function chartsInView(page: Page): Promise<number> {
  return page.evaluate(() => [...document.querySelectorAll('main canvas')].filter((canvas) => {
    const { top, bottom } = canvas.getBoundingClientRect()
    const middle = (top + bottom) / 2
    return middle > 0 && middle < window.innerHeight
  }).length)
}

/**
 * Milliseconds from a click on the button of the side that says `button` until a chart's label holds `label` and is painted, two frames later.
 * All of it is watched from inside, frame by frame: a driver that asks from outside looks again after up to half a second.
 */
export function millisecondsToChart(page: Page, button: string, label: string): Promise<number> {
  return page.evaluate(([name, wanted]) => new Promise<number>((resolve, reject) => {
    const target = [...document.querySelectorAll<HTMLElement>('aside button')].find(({ textContent }) => textContent.includes(name))
    if (target === undefined) return reject(new Error(`no button says ${name}`))
    const begin = performance.now()
    const look = (): void => {
      const there = [...document.querySelectorAll('[role="img"]')].some((image) => image.getAttribute('aria-label')?.includes(wanted))
      requestAnimationFrame(there ? () => requestAnimationFrame(() => resolve(performance.now() - begin)) : look)
    }
    target.click()
    look()
  }), [button, label] as const)
}

/** MiB of a process: all its pages, and its share of them (pages that n processes share count a nth). */
export function memoryOf(id: number): { resident: number; share: number } {
  const rollup = readFileSync(`/proc/${id}/smaps_rollup`, 'utf8')
  const mebibytes = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(rollup)?.[1] ?? Number.NaN) / 1024
  return { resident: mebibytes('Rss'), share: mebibytes('Pss') }
}

/** What the first thread of a process had of the processors since it began, milliseconds. A window waits for that thread. */
export interface Turns {
  readonly ran: number
  /** It could have run, and others did. */
  readonly waited: number
}

export function turnsOf(id: number): Turns {
  const [ran = Number.NaN, waited = Number.NaN] = readFileSync(`/proc/${id}/schedstat`, 'utf8').split(' ').map((nanoseconds) => Number(nanoseconds) / 1e6)
  return { ran, waited }
}

/** What `act` took of the turns of a process. */
export async function turnsDuring<Value>(id: number, act: () => Promise<Value>): Promise<{ readonly value: Value; readonly turns: Turns }> {
  const before = turnsOf(id)
  const value = await act()
  const after = turnsOf(id)
  return { value, turns: { ran: after.ran - before.ran, waited: after.waited - before.waited } }
}

/** Ids of the app's main process and of its page's. */
export function processIds(application: ElectronApplication): Promise<{ main: number; page: number }> {
  return application.evaluate(({ BrowserWindow }) => ({ main: process.pid, page: BrowserWindow.getAllWindows()[0]?.webContents.getOSProcessId() ?? 0 }))
}
