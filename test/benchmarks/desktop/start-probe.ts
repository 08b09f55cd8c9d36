// Starts the app as a person does, with nothing that holds it up, and asks only afterwards when its page was painted.
import { spawn } from 'node:child_process'
import type { Readable } from 'node:stream'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { chromium } from 'playwright-core'
import type { Page } from 'playwright-core'
import { processTree } from '../../desktop/app-driver.ts'
import { turnsOf } from './page-probes.ts'
import type { Turns } from './page-probes.ts'

export interface StartReport {
  /** Milliseconds from the start of the program to the first content painted in its window. */
  readonly painted: number
  /** What the first threads of main and page had of the processors until then, and a little longer. */
  readonly main: Turns
  readonly page: Turns
}

const patience = 180_000

export async function startOnce(electron: string, environment: Readonly<Record<string, string>>): Promise<StartReport> {
  const home = mkdtempSync(join(tmpdir(), 'satchel-start-'))
  const begun = Date.now()
  const child = spawn(electron, ['--no-sandbox', '--disable-gpu', `--user-data-dir=${join(home, 'profile')}`, '--remote-debugging-port=0'], { env: { ...environment, SATCHEL_RUNS: home }, stdio: ['ignore', 'ignore', 'pipe'] })
  const gone = new Promise((resolve) => child.once('exit', resolve))
  try {
    const address = await debuggerAddress(child.stderr)
    // Asking earlier would take its turns.
    await sleep(1000)
    const browser = await chromium.connectOverCDP(address, { timeout: patience })
    const pages = (): Page[] => browser.contexts().flatMap((context) => context.pages())
    for (let left = patience; pages().length === 0 && left > 0; left -= 50) await sleep(50)
    const painted = await pages()[0]?.evaluate(async () => {
      const first = (): PerformanceEntry | undefined => performance.getEntriesByName('first-contentful-paint')[0]
      while (first() === undefined) await new Promise((resolve) => setTimeout(resolve, 20))
      return performance.timeOrigin + (first()?.startTime ?? Number.NaN)
    })
    const root = child.pid ?? 0
    const page = processTree(root).find((id) => readFileSync(`/proc/${id}/cmdline`, 'utf8').includes('--type=renderer'))
    const report = { painted: (painted ?? Number.NaN) - begun, main: turnsOf(root), page: turnsOf(page ?? root) }
    await browser.close()
    return report
  } finally {
    child.kill()
    await gone
    rmSync(home, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** Where the program's debugger listens, which it says on its error stream. The stream is read on, so that it never fills. */
function debuggerAddress(stream: Readable): Promise<string> {
  let text = ''
  return new Promise((resolve, reject) => {
    stream.on('data', (chunk: Buffer) => {
      text += chunk.toString('utf8')
      const address = /DevTools listening on (\S+)/.exec(text)?.[1]
      if (address !== undefined) resolve(address)
    })
    stream.once('end', () => reject(new Error(`The app ended before it listened: ${text}`)))
  })
}
