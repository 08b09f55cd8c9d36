// The page held against the accessibility rules of axe-core, in both themes and the states it can be in.
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import type { Page } from 'playwright-core'
import { button, configureDemo, engineProcessIds, fakeEngine, goTo, openApp, startDemo, untilState } from './app-driver.ts'
import type { OpenedApp } from './app-driver.ts'
import { violationsInBothThemes } from './axe.ts'

const missing = inject('missing')
const runPages = ['Run setup', 'Monitor', 'Rollouts', 'Compare', 'Try it', 'Export and report']
let app: OpenedApp

async function inBothThemes(page: Page): Promise<void> {
  expect(await violationsInBothThemes(page)).toEqual([])
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
  it('holds on the pages of runs before there is one', async () => {
    for (const title of runPages) {
      await goTo(app.page, title)
      await inBothThemes(app.page)
    }
  })

  it('holds on a whole form, with a mistake in it', async () => {
    await configureDemo(app.page, { 'rollout.groupSize': '1' })
    await app.page.getByLabel('Show every field').check()
    await inBothThemes(app.page)
    await app.page.getByLabel('Show every field').uncheck()
  })

  it('holds while training, with charts, tokens and a table', async () => {
    await startDemo(app.page, 400)
    await untilState(app.page, 'Training')
    await expect.poll(() => app.page.getByTestId('status').innerText()).toMatch(/^Step [3-9]/)
    await button(app.page, 'Pause').click()
    await untilState(app.page, 'Paused')
    await app.page.getByRole('button', { name: 'Reward as a table' }).click()
    await inBothThemes(app.page)
    await goTo(app.page, 'Rollouts')
    await app.page.getByRole('listbox').focus()
    await inBothThemes(app.page)
    await app.page.getByRole('button', { name: 'Same prompt across steps' }).click()
    await inBothThemes(app.page)
    for (const title of ['Compare', 'Try it', 'Export and report']) {
      await goTo(app.page, title)
      await inBothThemes(app.page)
    }
    await goTo(app.page, 'Monitor')
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

  it('holds with two runs beside each other', async () => {
    await button(app.page, 'Stop now').click()
    await untilState(app.page, 'Stopped')
    await startDemo(app.page, 8)
    await untilState(app.page, 'Done')
    await goTo(app.page, 'Compare')
    await app.page.getByRole('region', { name: 'Blind preference' }).waitFor()
    await inBothThemes(app.page)
  })

  it('can be used with the Tab key alone, each stop visible', async () => {
    await goTo(app.page, 'Monitor')
    const stops: string[] = []
    await app.page.locator('body').press('Tab')
    for (let press = 0; press < 60; press += 1) {
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
    for (const name of ['Rollouts', 'Pause', 'Resume', 'Stop after step', 'New run', 'First step shown']) expect(stops).toContain(name)
    expect(stops.some((stop) => stop.startsWith('Reward, mean of a step'))).toBe(true)
    expect(stops.filter((stop) => stop.endsWith('(invisible)'))).toEqual([])
  })
})
