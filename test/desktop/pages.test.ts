// Pages of rollouts in a real Electron, drawn by its own program started as a render service.
import { afterEach, describe, expect, inject, it } from 'vitest'
import { fakeEngine, goTo, openApp, startDemo, untilState } from './app-driver.ts'
import type { OpenedApp } from './app-driver.ts'
import { violationsInBothThemes } from './axe.ts'

let app: OpenedApp | undefined

afterEach(async () => {
  const errors = app?.consoleErrors ?? []
  await app?.close()
  app = undefined
  expect(errors).toEqual([])
})

describe.skipIf(inject('missing') !== '')(`pages of rollouts${inject('missing') === '' ? '' : ` (skipped: ${inject('missing')})`}`, () => {
  it('stand beside the tokens, larger when pressed, and in the gallery of their prompt across steps', async () => {
    app = await openApp({ environment: { SATCHEL_ENGINE: fakeEngine, SATCHEL_FAKE_STEPS: '12' } })
    const { page } = app
    await startDemo(page, 12)
    await untilState(page, 'Done')
    await goTo(page, 'Rollouts')
    await page.getByRole('combobox', { name: 'Kind' }).selectOption('passed')
    await page.locator('.list').getByRole('button', { name: /reward/ }).first().click()
    const picture = page.getByRole('complementary', { name: 'The page of this rollout' }).getByRole('img', { name: /^The page of rollout \d+ of step 12\. It says: / })
    await picture.waitFor({ timeout: 90_000 })
    expect(await picture.evaluate((image: HTMLImageElement) => [image.naturalWidth, image.naturalHeight])).toEqual([1280, 800])
    await page.getByText(/^\d+ elements, no errors\.$/).waitFor()
    expect(await violationsInBothThemes(page)).toEqual([])

    await page.getByRole('button', { name: /^The page of rollout/ }).click()
    await page.getByRole('dialog').getByRole('img').waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0)

    await page.getByRole('button', { name: 'Same prompt across steps' }).click()
    const thumbnails = page.getByRole('region', { name: 'The same prompt across steps' }).getByRole('img', { name: /^The page of the rollout of step \d+/ })
    await expect.poll(() => thumbnails.count(), { timeout: 90_000 }).toBeGreaterThan(1)
    expect(await violationsInBothThemes(page)).toEqual([])
  })
})
