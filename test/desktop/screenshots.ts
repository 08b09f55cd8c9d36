// `npm run screenshots`: the pictures of the README, taken of the app with a short real run of the built-in model. They are written to
// docs/screenshots, reduced to a palette so that each stays small.
import { mkdirSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import type { Page } from 'playwright-core'
import { configureDemo, goTo, openApp, untilState } from './app-driver.ts'
import type { OpenedApp } from './app-driver.ts'
import { palettePng } from './palette-png.ts'

const missing = inject('missing')
/** Where the pictures go; a person may look at them before they replace those of the README. */
const folder = process.env['SATCHEL_SCREENSHOTS'] ?? resolve('docs', 'screenshots')
/** A folder of an earlier app whose `runs` are shown; without it one is trained. Pages that name folders of this machine are not taken. */
const ready = process.env['SATCHEL_SCREENSHOT_HOME']
const size = { width: 1280, height: 800 }
const largestBytes = 200_000
let app: OpenedApp
let page: Page

beforeAll(async () => {
  if (missing !== '') throw new Error(missing)
  mkdirSync(folder, { recursive: true })
  app = await openApp({ on: 'Home', ...(ready === undefined ? {} : { home: ready }) })
  page = app.page
  await page.emulateMedia({ reducedMotion: 'reduce' })
  await app.application.evaluate(({ BrowserWindow }, [width, height]) => BrowserWindow.getAllWindows()[0]?.setContentSize(width as number, height as number), [size.width, size.height])
  if (ready !== undefined) return
  await configureDemo(page, {})
  await page.getByRole('button', { name: 'Start the run' }).click()
  await untilState(page, 'Done', 1_500_000)
}, 3_600_000)
afterAll(async () => {
  if (missing === '') await app.close()
})

async function take(name: string): Promise<void> {
  for (const theme of ['Light', 'Dark']) {
    await page.getByRole('group', { name: 'Theme', exact: true }).getByText(theme).click()
    await page.waitForFunction((wanted) => document.documentElement.dataset['theme'] === wanted, theme.toLowerCase())
    await page.mouse.move(0, 0)
    // Curves are drawn at their own pace.
    await page.waitForTimeout(1500)
    const png = palettePng(await page.screenshot())
    expect(png.length, name).toBeLessThan(largestBytes)
    writeFileSync(resolve(folder, `${name}-${theme.toLowerCase()}.png`), png)
  }
}

describe('the pictures of the README', () => {
  it('monitor', async () => {
    await page.locator('aside').getByRole('button', { name: /demo/ }).first().click()
    await goTo(page, 'Monitor')
    await take('monitor')
  })

  it('rollouts', async () => {
    await goTo(page, 'Rollouts')
    await page.locator('.list li button', { hasText: '−' }).first().click()
    await page.locator('[data-token]').first().waitFor()
    await page.getByRole('listbox', { name: 'Tokens of the completion' }).focus()
    for (let press = 0; press < 12; press += 1) await page.keyboard.press('ArrowRight')
    await take('rollouts')
  })

  it('rewards', async () => {
    await goTo(page, 'Rewards')
    await page.getByTestId('bench-summary').waitFor({ timeout: 120_000 })
    await take('rewards')
  })
}, 600_000)
