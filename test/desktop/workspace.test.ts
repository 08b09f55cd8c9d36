// A person's way from a dropped dataset to a run's draft, through the models, the settings, and a restart; and a page gone bad.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import type { Page } from 'playwright-core'
import { dropFile, engineProcessIds, fakeEngine, goTo, openApp } from './app-driver.ts'
import type { OpenedApp } from './app-driver.ts'
import { networkSockets } from './network.ts'
import { violations as violationsOf, violationsInBothThemes } from './axe.ts'

const missing = inject('missing')
let home: string
let app: OpenedApp
let page: Page

async function open(on: string): Promise<void> {
  app = await openApp({ home, on, environment: { SATCHEL_ENGINE: fakeEngine, HOME: home } })
  page = app.page
  // A colour on its way to another is measured as neither.
  await page.emulateMedia({ reducedMotion: 'reduce' })
}

function cells(): Promise<string[]> {
  return page.getByRole('grid', { name: 'Rows' }).getByRole('gridcell').allInnerTexts()
}

beforeAll(async () => {
  if (missing !== '') return
  home = mkdtempSync(join(tmpdir(), 'satchel-workspace-'))
  const rows = Array.from({ length: 3000 }, (_, at) => (at === 700 ? '{"question": broken' : JSON.stringify({ question: `What is ${at} plus ${at}?`, result: String(2 * at), kind: at % 2 === 0 ? 'even' : 'odd' })))
  writeFileSync(join(home, 'sums.jsonl'), rows.join('\n'))
  await open('Home')
})
afterAll(async () => {
  if (missing !== '') return
  await app.close()
  rmSync(home, { recursive: true, force: true, maxRetries: 5 })
})

describe.skipIf(missing !== '')(`the workspace${missing === '' ? '' : ` (skipped: ${missing})`}`, () => {
  it('opens a dataset that is dropped anywhere, its columns guessed', async () => {
    await goTo(page, 'Datasets')
    await page.getByText('No dataset yet').waitFor()
    expect(await violationsInBothThemes(page)).toEqual([])
    await goTo(page, 'Home')
    await dropFile(page, join(home, 'sums.jsonl'))
    await page.getByRole('grid', { name: 'Rows' }).waitFor()
    await expect.poll(cells).toContain('What is 1 plus 1?')
    await page.getByText('3,000 rows').waitFor()
    expect(await page.getByRole('combobox', { name: 'Prompt', exact: true }).inputValue()).toBe('question')
    expect(await page.getByRole('combobox', { name: 'Answer', exact: true }).inputValue()).toBe('')
  })

  it('scrolls to any row without loading the file, and shows bad rows as such', async () => {
    const grid = page.getByRole('grid', { name: 'Rows' })
    await grid.focus()
    await page.keyboard.press('End')
    await expect.poll(cells).toContain('What is 2999 plus 2999?')
    expect(await grid.getByRole('row').count()).toBeLessThan(80)
    await page.keyboard.press('Home')
    for (let press = 0; press < 3; press += 1) await page.keyboard.press('ArrowDown')
    expect(await grid.getAttribute('aria-activedescendant')).toBe('row-3')
    await expect.poll(() => page.getByRole('region', { name: 'As the model reads it' }).innerText()).toContain('What is 3 plus 3?')
  })

  it('maps a column, checks every row, and hands the prompts to the next run', async () => {
    await page.getByRole('combobox', { name: 'Answer', exact: true }).selectOption('result')
    await page.getByRole('button', { name: 'Check all rows' }).click()
    const report = page.getByRole('region', { name: 'Report' })
    await report.getByText('Line 701').waitFor()
    expect(await report.innerText()).toMatch(/2,999\s+prompts/)
    expect(await violationsInBothThemes(page), 'Report').toEqual([])
    await page.getByRole('button', { name: 'Use in a run' }).click()
    await page.getByRole('heading', { name: 'Run setup', level: 1 }).waitFor()
    const notice = await page.getByText(/2,999 prompts are ready/).innerText()
    const file = /: (.*\.jsonl)/.exec(notice)?.[1] ?? ''
    expect(file.startsWith(join(home, 'prompts'))).toBe(true)
    const first = JSON.parse(readFileSync(file, 'utf8').split('\n')[0] ?? '') as unknown
    expect(first).toMatchObject({ prompt: 'What is 0 plus 0?', answer: '0' })
  })

  it('verifies the built-in model, and plans its memory', async () => {
    await goTo(page, 'Models')
    const card = page.getByRole('article', { name: 'Built-in model' })
    await card.getByRole('button', { name: 'Verify', exact: true }).click()
    await card.getByText('Generation', { exact: true }).waitFor({ timeout: 90_000 })
    expect(await card.locator('header').innerText()).toMatch(/Verified/)
    expect(await card.innerText()).toMatch(/it wrote/)
    await card.getByRole('button', { name: 'Plan memory' }).click()
    await card.getByText(/Fits into the .* of this machine/).waitFor()
  })

  it('shows a base model that is not here, with what to do', async () => {
    const card = page.getByRole('article', { name: 'SmolLM3-3B' })
    expect(await card.innerText()).toMatch(/Not here.*Locate….*Download 6\.2/s)
  })

  it('breaks no rule of accessibility on any of its pages, in either theme', async () => {
    expect(await violationsInBothThemes(page), 'Models').toEqual([])
    for (const title of ['Home', 'Datasets', 'Settings']) {
      await goTo(page, title)
      expect(await violationsInBothThemes(page), title).toEqual([])
    }
  })

  it('keeps settings over a restart, and refuses what is none', async () => {
    await goTo(page, 'Settings')
    await page.getByLabel('Threads').fill('3')
    await page.getByLabel('Threads').press('Enter')
    await page.getByLabel('Mirror').fill('not an address')
    await page.getByLabel('Mirror').press('Enter')
    await page.getByText(/must be an address/).waitFor()
    await page.getByRole('group', { name: 'Appearance' }).getByText('Dark').click()
    await expect.poll(() => (existsSync(join(home, 'profile', 'settings.json')) ? readFileSync(join(home, 'profile', 'settings.json'), 'utf8') : '')).toMatch(/"theme": "dark"/)
    await app.close()
    await open('Settings')
    expect(await page.getByLabel('Threads').inputValue()).toBe('3')
    expect(await page.getByLabel('Mirror').inputValue()).toBe('https://huggingface.co')
    expect(await page.evaluate(() => document.documentElement.dataset['theme'])).toBe('dark')
  })

  it('remembers the dataset with its mapping, and opens it again', async () => {
    await goTo(page, 'Datasets')
    await page.getByRole('button', { name: /^sums\.jsonl/ }).click()
    await page.getByRole('grid', { name: 'Rows' }).waitFor()
    expect(await page.getByRole('combobox', { name: 'Answer', exact: true }).inputValue()).toBe('result')
  })

  it('goes to any page by a few letters', async () => {
    await page.keyboard.press('Control+k')
    await page.getByRole('dialog', { name: 'Go to' }).waitFor()
    expect(await violationsOf(page)).toEqual([])
    const field = page.getByRole('combobox', { name: 'Go to' })
    await field.fill('models')
    await field.press('Enter')
    await page.getByRole('heading', { name: 'Models', level: 1 }).waitFor()
  })

  it('opens no socket: the tools work on files alone', () => {
    const ids = engineProcessIds(app.application, 'tools.js')
    expect(ids.length).toBeGreaterThan(0)
    // The inspector these tests drive the app with has some, which its children inherit.
    const inherited = new Set(networkSockets(app.application.process().pid as number))
    expect(ids.flatMap(networkSockets).filter((socket) => !inherited.has(socket))).toEqual([])
  })

  it('lets the page name no path that no person chose', async () => {
    const outcomes = await page.evaluate(async (paths) => {
      const { call, offer } = (window as unknown as { satchel: { call(name: string, request: unknown): Promise<unknown>; offer(files: unknown[]): Promise<unknown> } }).satchel
      const made = new File(['x'], '/etc/passwd')
      return [...(await Promise.all(paths.map((path) => call('datasets.inspect', { path })))), await call('models.add', { path: '/etc' }), await call('files.reveal', { path: '/' }), await offer([made])]
    }, ['/etc/passwd', resolve('package.json'), join(home, 'profile', 'settings.json')])
    for (const outcome of outcomes.slice(0, -1)) expect(outcome).toMatchObject({ ok: false, error: { what: 'The page may not name this path.' } })
    expect(outcomes.at(-1)).toEqual({ ok: true, value: [] })
  })
})
