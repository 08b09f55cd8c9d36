// Starts the packaged app with nothing of this machine but a display, and holds its page through Chromium's own protocol: its fuses leave
// no other way in.
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import type { Page } from 'playwright-core'
import { inject } from 'vitest'
import type { Installation } from './installed.ts'

export interface RunningApp {
  readonly page: Page
  readonly process: ChildProcess
  /** Everything the program wrote. */
  readonly output: () => string
  /** Asks it to leave; resolves with its exit code. */
  close(): Promise<number | null>
}

/** The whole environment of a person without Node, npm or anything else on the PATH. As in the other desktop tests Chromium's sandbox is off, because it needs a user that is not root. */
export function bareEnvironment(home: string, path: string): Record<string, string> {
  const authority = process.env['XAUTHORITY']
  return { HOME: home, PATH: path, LANG: 'C.UTF-8', DISPLAY: inject('display'), ...(authority === undefined ? {} : { XAUTHORITY: authority }), XDG_CONFIG_HOME: join(home, 'config'), SATCHEL_ELECTRON_NO_SANDBOX: '1' }
}

export async function startInstalled(installation: Installation, home: string, path: string): Promise<RunningApp> {
  mkdirSync(home, { recursive: true })
  const child = spawn(installation.executable, ['--no-sandbox', '--disable-gpu', '--remote-debugging-port=0'], { cwd: home, env: bareEnvironment(home, path), stdio: ['ignore', 'pipe', 'pipe'] })
  let written = ''
  const gone = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)))
  const address = await new Promise<string>((resolve, reject) => {
    const hear = (chunk: Buffer): void => {
      written += chunk.toString('utf8')
      const found = /DevTools listening on (ws:\S+)/.exec(written)
      if (found !== null) resolve(found[1] as string)
    }
    child.stdout.on('data', hear)
    child.stderr.on('data', hear)
    child.once('error', reject)
    void gone.then((code) => reject(new Error(`the app ended with code ${code} before its window was there:\n${written}`)))
  })
  const browser = await chromium.connectOverCDP(address)
  const [context] = browser.contexts()
  if (context === undefined) throw new Error('the app has no page')
  const page = context.pages()[0] ?? (await context.waitForEvent('page'))
  page.setDefaultTimeout(120_000)
  await page.getByRole('navigation', { name: 'Pages' }).waitFor()
  return {
    page,
    process: child,
    output: () => written,
    close: async () => {
      await browser.close()
      child.kill('SIGTERM')
      return gone
    },
  }
}
