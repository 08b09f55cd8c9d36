// Every page in every state it has (stops.ts), held against the accessibility rules of axe-core in both themes.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { violations } from '../axe.ts'
import { missingBrowser, openDouble } from './browser.ts'
import type { DoublePage } from './browser.ts'
import { goToStop, stops } from './stops.ts'

let opened: DoublePage

beforeAll(async () => {
  if (missingBrowser !== '') return
  opened = await openDouble()
  await opened.page.emulateMedia({ reducedMotion: 'reduce' })
})
afterAll(async () => {
  if (missingBrowser === '') await opened.close()
})

describe.skipIf(missingBrowser !== '')(`accessibility of every state${missingBrowser === '' ? '' : ` (skipped: ${missingBrowser})`}`, () => {
  it.each(stops.map((stop) => [stop.name, stop] as const))('%s', async (_, stop) => {
    const { page } = opened
    await opened.show(stop.scene)
    await goToStop(page, stop)
    for (const theme of ['light', 'dark']) {
      await page.evaluate((chosen) => (document.documentElement.dataset['theme'] = chosen), theme)
      expect(await violations(page), theme).toEqual([])
    }
  })

  it('complained of nothing', () => {
    expect(opened.errors).toEqual([])
  })
})
