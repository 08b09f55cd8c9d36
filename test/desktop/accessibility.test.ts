// The page held against the accessibility rules of axe-core, in both themes and the states it can be in.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import type { Page } from 'playwright-core'
import { button, engineProcessIds, fakeEngine, openApp, untilState } from './app-driver.ts'
import type { OpenedApp } from './app-driver.ts'

const missing = inject('missing')
const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
let app: OpenedApp

/** Violations as short texts: the rule and the places. The inspector runs the checker, because the content policy would not let the page. */
async function violations(page: Page): Promise<string[]> {
  const session = await page.context().newCDPSession(page)
  await session.send('Runtime.evaluate', { expression: axeSource })
  const answer = await session.send('Runtime.evaluate', {
    expression: `axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'best-practice'] }).then((result) => JSON.stringify(result.violations.map((v) => v.id + ': ' + v.nodes.slice(0, 3).map((n) => n.target.join(' ') + ' ' + (n.any[0]?.message ?? n.failureSummary)).join(' | '))))`,
    awaitPromise: true,
  })
  await session.detach()
  return JSON.parse(String(answer.result.value)) as string[]
}

async function inBothThemes(page: Page): Promise<void> {
  for (const theme of ['Light', 'Dark']) {
    await page.getByRole('group', { name: 'Theme' }).getByText(theme).click()
    await page.waitForFunction((name) => document.documentElement.dataset['theme'] === name, theme.toLowerCase())
    expect(await violations(page), theme).toEqual([])
  }
}

beforeAll(async () => {
  if (missing !== '') return
  app = await openApp({ environment: { SATCHEL_ENGINE: fakeEngine, SATCHEL_FAKE_STEP_MILLISECONDS: '60', SATCHEL_FAKE_STEPS: '400' } })
  await app.page.emulateMedia({ reducedMotion: 'reduce' })
})
afterAll(async () => {
  if (missing === '') await app.close()
})

describe.skipIf(missing !== '')(`accessibility${missing === '' ? '' : ` (skipped: ${missing})`}`, () => {
  it('holds on the empty page', async () => {
    await inBothThemes(app.page)
  })

  it('holds while training, with charts, tokens and a table', async () => {
    await button(app.page, 'Start').click()
    await untilState(app.page, 'Training')
    await app.page.getByRole('listbox').waitFor()
    await button(app.page, 'Pause').click()
    await untilState(app.page, 'Paused')
    await app.page.locator('.list button', { hasText: '−' }).first().click()
    await app.page.getByRole('listbox').focus()
    await app.page.getByRole('button', { name: 'Reward as a table' }).click()
    await inBothThemes(app.page)
  })

  it('holds after a crash', async () => {
    process.kill(engineProcessIds(app.application, fakeEngine)[0] as number, 'SIGKILL')
    await untilState(app.page, 'Failed')
    await inBothThemes(app.page)
  })

  it('does without motion when the person asks for it', async () => {
    await app.page.getByRole('alert').getByRole('button', { name: 'Resume' }).click()
    await untilState(app.page, 'Training')
    const animation = await app.page.locator('.title .badge .mark').evaluate((element) => getComputedStyle(element).animationName)
    expect(animation).toBe('none')
  })

  it('can be used with the Tab key alone, each stop visible', async () => {
    const stops: string[] = []
    await app.page.locator('body').press('Tab')
    for (let press = 0; press < 40; press += 1) {
      const stop = await app.page.evaluate(() => {
        const element = document.activeElement
        if (!(element instanceof HTMLElement) || element === document.body) return ''
        const holder = element.matches('.visually-hidden') ? (element.closest('label') ?? element) : element
        const name = (element.getAttribute('aria-label') ?? holder.innerText ?? '').trim() || element.tagName
        return `${name}${getComputedStyle(holder).outlineStyle === 'none' ? ' (invisible)' : ''}`
      })
      stops.push(stop)
      await app.page.keyboard.press('Tab')
    }
    for (const name of ['Demo run', 'Start', 'Pause', 'Resume', 'Stop', 'Tokens of the completion']) expect(stops).toContain(name)
    expect(stops.filter((stop) => stop.endsWith('(invisible)'))).toEqual([])
  })
})
