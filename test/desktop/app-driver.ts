// Opens the built app in Electron and speaks of its page as a person would.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { _electron } from 'playwright-core'
import type { ElectronApplication, Locator, Page } from 'playwright-core'
import { inject } from 'vitest'

export interface OpenedApp {
  readonly application: ElectronApplication
  readonly page: Page
  /** Holds the app's own data and, in `runs`, the run folders. */
  readonly home: string
  /** Everything the page wrote to its console as an error. */
  readonly consoleErrors: string[]
  close(): Promise<void>
}

export interface OpenOptions {
  /** Environment of the app; SATCHEL_* reaches the engine. */
  readonly environment?: Record<string, string>
  /** A folder of an earlier app, to open it again. It is then left in place at the end. */
  readonly home?: string
  /** The page to go to, by its title; Monitor where left out. */
  readonly on?: string
  /** More switches of the command line. */
  readonly switches?: readonly string[]
}

export const fakeEngine = resolve('test/support/fake-engine.mjs')

/** Opens the app on a folder of its own. Chromium's sandbox needs a user that is not root, so it is off here; the page's own sandbox is not. */
export async function openApp(options: OpenOptions = {}): Promise<OpenedApp> {
  const home = options.home ?? mkdtempSync(join(tmpdir(), 'satchel-desktop-'))
  const { NODE_OPTIONS: _dropped, ...inherited } = process.env
  const application = await _electron.launch({
    executablePath: inject('electron'),
    args: ['--no-sandbox', '--disable-gpu', `--user-data-dir=${join(home, 'profile')}`, ...(options.switches ?? [])],
    env: { ...definedOnly(inherited), DISPLAY: inject('display'), SATCHEL_RUNS: home, ...(inject('packaged') === '' ? { SATCHEL_NODE: process.execPath } : {}), ...options.environment },
  })
  const consoleErrors: string[] = []
  const page = await application.firstWindow()
  page.on('console', (message) => {
    if (message.type() === 'error') consoleErrors.push(`${message.text()} ${message.location().url}:${String(message.location().lineNumber)}`)
  })
  page.on('pageerror', (error) => consoleErrors.push(String(error)))
  await goTo(page, options.on ?? 'Monitor')
  return {
    application,
    page,
    home,
    consoleErrors,
    close: async () => {
      await application.close()
      if (options.home === undefined) rmSync(home, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/** Goes to a page through the navigation. */
export async function goTo(page: Page, title: string): Promise<void> {
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('button', { name: title, exact: true }).click()
  await page.getByRole('heading', { name: title, level: 1 }).waitFor()
}

function definedOnly(environment: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(Object.entries(environment).filter((entry): entry is [string, string] => entry[1] !== undefined))
}

/** Sets up the demo with so many steps, starts it, and waits for it on the Monitor page. */
export async function startDemo(page: Page, steps: number): Promise<void> {
  await configureDemo(page, { 'training.steps': String(steps) })
  await page.getByRole('button', { name: 'Start the run' }).click()
  await page.getByRole('heading', { name: 'Monitor', level: 1 }).waitFor()
}

/** Fills the form of Run setup with the demo, then with these values by field. */
export async function configureDemo(page: Page, fields: Readonly<Record<string, string>>): Promise<void> {
  await goTo(page, 'Run setup')
  await page.getByRole('button', { name: 'Demo', exact: true }).click()
  await page.locator('[id="training.steps"]').waitFor()
  await page.waitForFunction(() => (document.getElementById('model') as HTMLInputElement | null)?.value !== '')
  for (const [field, value] of Object.entries(fields)) {
    await page.locator(`[id="${field}"]`).fill(value)
    await page.locator(`[id="${field}"]`).press('Tab')
  }
}

export function button(page: Page, name: string): Locator {
  return page.getByRole('group', { name: 'Run controls' }).getByRole('button', { name, exact: true })
}

/** Waits until the page shows the run in a state, by the word on its badge beside the title. */
export async function untilState(page: Page, word: string, timeout = 60_000): Promise<void> {
  await page.locator('.title .badge', { hasText: word }).waitFor({ timeout })
}

export async function statusText(page: Page): Promise<string> {
  return (await page.getByTestId('status').textContent()) ?? ''
}

/** Process ids of the engines the app has started, by the parent id in /proc (these tests run on Linux only). */
export function engineProcessIds(application: ElectronApplication, script: string): number[] {
  const parent = application.process().pid
  return processes().filter(({ parentId, command }) => parentId === parent && command.includes(script)).map(({ id }) => id)
}

/** A process and everything it has started, by their ids. */
export function processTree(root: number): number[] {
  const all = processes()
  const under = (id: number): number[] => [id, ...all.filter(({ parentId }) => parentId === id).flatMap(({ id: child }) => under(child))]
  return under(root)
}

/** Drops files that lie on the disk on the window: they go through a file field, because a page can make no file with a path. */
export async function dropFile(page: Page, path: string): Promise<void> {
  await page.evaluate(() => {
    const field = document.createElement('input')
    field.type = 'file'
    field.id = 'dropped-file'
    field.setAttribute('aria-label', 'dropped')
    document.body.append(field)
  })
  await page.setInputFiles('#dropped-file', path)
  await page.evaluate(() => {
    const field = document.querySelector<HTMLInputElement>('#dropped-file')
    const data = new DataTransfer()
    for (const file of field?.files ?? []) data.items.add(file)
    field?.remove()
    for (const type of ['dragenter', 'dragover', 'drop']) window.dispatchEvent(new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true }))
  })
}

interface RunningProcess {
  readonly id: number
  readonly parentId: number
  readonly command: string
}

function processes(): RunningProcess[] {
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name)).flatMap((name) => {
    try {
      const status = readFileSync(`/proc/${name}/status`, 'utf8')
      return [{ id: Number(name), parentId: Number(/^PPid:\s+(\d+)/m.exec(status)?.[1]), command: readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ') }]
    } catch {
      // It ended while we looked.
      return []
    }
  })
}
