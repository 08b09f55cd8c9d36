// A browser with the page of the double in it. Nothing is served over a socket: the browser is handed the built files.
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { svelte } from '@sveltejs/vite-plugin-svelte'
import { chromium } from 'playwright-core'
import type { Browser, Page } from 'playwright-core'
import { build } from 'vite'
import type { CallName } from '../../../src-main/contract/calls.ts'
import type { SceneName } from './scenes.ts'

const places = [process.env['SATCHEL_CHROMIUM'], '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome', '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome', 'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe']

/** The browser of this machine, or undefined. SATCHEL_CHROMIUM names another one. */
function findBrowser(): string | undefined {
  return places.find((place) => place !== undefined && place !== '' && existsSync(place))
}

/** Why the page cannot be shown to a browser here; empty where it can. A machine that is there to run these tests must have one. */
export const missingBrowser = findBrowser() === undefined ? 'there is no Chromium (Debian: apt-get install chromium; or name one in SATCHEL_CHROMIUM)' : ''
if (missingBrowser !== '' && process.env['CI'] === 'true') throw new Error(missingBrowser)

/** What the page asked for so far by one call, oldest first. */
export function requestsOf(page: Page, name: CallName): Promise<unknown[]> {
  return page.evaluate((call) => (window as unknown as { requestsOf(name: string): unknown[] }).requestsOf(call), name)
}

const address = 'http://double.satchel.example/'
const document = '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Satchel</title><link rel="stylesheet" href="/page.css"></head><body><div id="app"></div><script type="module" src="/page.js"></script></body></html>'
const types: Readonly<Record<string, string>> = { js: 'text/javascript', css: 'text/css' }

/** Builds the page of the double; file name to content. */
async function buildPage(): Promise<Map<string, string | Uint8Array>> {
  const folder = resolve('test', 'desktop', 'page-double')
  const result = await build({
    configFile: false, root: folder, logLevel: 'error', plugins: [svelte({ configFile: false })],
    build: { write: false, target: 'chrome130', minify: false, rollupOptions: { input: join(folder, 'entry.ts'), output: { entryFileNames: 'page.js', chunkFileNames: '[name].js', assetFileNames: 'page.[ext]' } } },
  })
  const files = new Map<string, string | Uint8Array>()
  for (const { output } of [result].flat().filter((one) => 'output' in one)) for (const file of output) files.set(`/${file.fileName}`, file.type === 'chunk' ? file.code : file.source)
  return files
}

export interface DoublePage {
  readonly page: Page
  /** Everything the page wrote to its console as an error. */
  readonly errors: string[]
  /** Begins anew in another state of the app (scenes.ts). */
  show(scene: SceneName): Promise<void>
  close(): Promise<void>
}

/** Opens the page in a state of the app. */
export async function openDouble(scene: SceneName = 'usual'): Promise<DoublePage> {
  const executablePath = findBrowser()
  if (executablePath === undefined) throw new Error(missingBrowser)
  const files = await buildPage()
  const browser: Browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
  const errors: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(message.text())
  })
  page.on('pageerror', (error) => errors.push(String(error)))
  await page.route('**/*', async (route) => {
    const { pathname } = new URL(route.request().url())
    const body = files.get(pathname)
    if (pathname === '/') await route.fulfill({ contentType: 'text/html', body: document })
    else if (body === undefined) await route.abort()
    else await route.fulfill({ contentType: types[pathname.split('.').at(-1) ?? ''] ?? 'application/octet-stream', body: Buffer.from(body) })
  })
  const show = async (next: SceneName): Promise<void> => {
    await page.goto(`${address}?scene=${next}`)
  }
  await show(scene)
  return { page, errors, show, close: () => browser.close() }
}
