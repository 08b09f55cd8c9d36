// The parts of the page that think for themselves, in a browser, in front of the contract's test double: what they ask for and what they show.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Page } from 'playwright-core'
import { goTo } from '../app-driver.ts'
import { missingBrowser, openDouble, requestsOf } from './browser.ts'
import type { DoublePage } from './browser.ts'

let opened: DoublePage
let page: Page

beforeAll(async () => {
  if (missingBrowser !== '') return
  opened = await openDouble()
  page = opened.page
})
afterAll(async () => {
  if (missingBrowser === '') await opened.close()
})

describe.skipIf(missingBrowser !== '')(`the page before its double${missingBrowser === '' ? '' : ` (skipped: ${missingBrowser})`}`, () => {
  describe('a chart', () => {
    it('says its numbers in words, and shows them as a table, newest first', async () => {
      await goTo(page, 'Monitor')
      const reward = page.getByRole('region', { name: 'Reward', exact: true })
      expect(await reward.getByRole('img').getAttribute('aria-label')).toMatch(/from −0\.500 at step 1 to \+0\.690 at step 120/)
      await reward.getByRole('button', { name: 'Reward as a table' }).click()
      expect(await reward.getByRole('row').nth(1).innerText()).toMatch(/^120\s+\+0\.690$/)
      expect(await reward.getByRole('row').count()).toBe(121)
      await reward.getByRole('button', { name: 'Reward as a table' }).click()
    })

    it('hands over what it shows as CSV: all of it, then what is zoomed in on', async () => {
      const entropy = page.getByRole('region', { name: 'Entropy', exact: true })
      await entropy.getByRole('button', { name: 'Entropy as CSV' }).click()
      await page.getByLabel('First step shown').fill('3')
      await page.getByLabel('First step shown').press('Enter')
      await page.getByLabel('Last step shown').fill('5')
      await page.getByLabel('Last step shown').press('Enter')
      await entropy.getByRole('button', { name: 'Entropy as CSV' }).click()
      const [whole, part] = (await requestsOf(page, 'runs.saveCsv')) as { name: string; csv: string }[]
      expect(whole?.name).toBe('demo-1-entropy.csv')
      expect(whole?.csv.trim().split(/\r?\n/)).toHaveLength(121)
      // One over the step, as the double has it.
      expect(part?.csv.trim().split(/\r?\n/).slice(1)).toEqual([`3,${1 / 3}`, '4,0.25', '5,0.2'])
      // Too narrow to show: refused, and not left in the field.
      await page.getByLabel('Last step shown').fill('4')
      await page.getByLabel('Last step shown').press('Enter')
      expect(await page.getByLabel('Last step shown').inputValue()).toBe('5')
      await page.getByRole('button', { name: 'Whole run' }).click()
    })

    it('points at the same step as every other, by keys alone', async () => {
      await page.getByRole('region', { name: 'Gradient norm', exact: true }).getByRole('img').focus()
      await page.keyboard.press('Home')
      await page.keyboard.press('ArrowRight')
      expect(await page.getByRole('region', { name: 'Reward', exact: true }).locator('.legend').innerText()).toMatch(/−0\.500\s+step 1/)
      await page.keyboard.press('Escape')
    })
  })

  describe('painted tokens', () => {
    it('are shaded by sign and size, below zero with a line under them, nothing where nothing is', async () => {
      await goTo(page, 'Rollouts')
      await page.locator('[data-token="7"]').first().waitFor()
      const shades = await page.evaluate(() => Array.from({ length: 8 }, (_, token) => /shade-[np]\d/.exec(document.querySelector(`[data-token="${token}"]`)?.className ?? '')?.[0] ?? ''))
      // Of the largest, two standard deviations: sixths of it.
      expect(shades[5]).toBe('shade-n6')
      expect(shades[2]).toBe('')
      expect(shades[4]).toMatch(/shade-p[45]/)
      expect(shades[6]).toMatch(/shade-n[12]/)
      expect(await page.locator('[data-token="5"]').first().evaluate((element) => getComputedStyle(element).boxShadow)).toMatch(/inset/)
      expect(await page.locator('[data-token="4"]').first().evaluate((element) => getComputedStyle(element).boxShadow)).toBe('none')
    })

    it('are painted by what is chosen, with its own unit', async () => {
      await page.getByRole('group', { name: 'Paint tokens by' }).getByText('Reward').click()
      await expect.poll(() => page.locator('.legend .unit').innerText()).toMatch(/reward/i)
      await page.locator('[data-token="5"]').first().hover()
      expect((await page.getByTestId('token-readout').innerText()).replaceAll('\n', ' ')).toMatch(/Token 6 of 8 Text retrun Id 5 Reward −1\.000 Advantage −2\.000 σ/)
    })

    it('carry what was found at their line', async () => {
      expect(await page.locator('.flag').first().innerText()).toMatch(/compiler[\s\S]*−1\.00[\s\S]*Unexpected keyword or identifier/)
    })
  })

  describe('a table of a million rows', () => {
    it('holds only those in sight, and asks only for them', async () => {
      await goTo(page, 'Datasets')
      await page.getByRole('button', { name: /^numbers\.jsonl/ }).click()
      const grid = page.getByRole('grid', { name: 'Rows' })
      await grid.getByText('What is 3?', { exact: true }).waitFor()
      expect(Number(await grid.getAttribute('aria-rowcount'))).toBe(1_000_001)
      expect(await grid.getByRole('row').count()).toBeLessThan(80)
      const asked = (await requestsOf(page, 'datasets.rows')) as { offset: number; count: number }[]
      expect(asked.reduce((sum, { count }) => sum + count, 0)).toBeLessThan(1000)
    })

    it('names the row a key goes to at once, before anything is drawn', async () => {
      const named = await page.getByRole('grid', { name: 'Rows' }).evaluate(async (grid) => {
        const names: (string | null)[] = []
        for (const key of ['End', 'PageUp', 'Home']) {
          grid.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }))
          await Promise.resolve()
          names.push(grid.getAttribute('aria-activedescendant'))
        }
        return names
      })
      expect(named).toEqual(['row-999999', expect.stringMatching(/^row-9999\d\d$/), 'row-0'])
    })

    it('goes to its last row and back by a key', async () => {
      const grid = page.getByRole('grid', { name: 'Rows' })
      await grid.focus()
      await page.keyboard.press('End')
      await grid.getByText('What is 999999?', { exact: true }).waitFor()
      expect(await grid.getAttribute('aria-activedescendant')).toBe('row-999999')
      await page.keyboard.press('PageUp')
      const active = Number((await grid.getAttribute('aria-activedescendant'))?.replace('row-', ''))
      expect(active).toBeLessThan(999_999)
      expect(active).toBeGreaterThan(999_900)
      await page.keyboard.press('Home')
      await grid.getByText('What is 0?', { exact: true }).waitFor()
    })
  })

  describe('the form of a run', () => {
    it('does the arithmetic of its batches, and marks a mistake at its field', async () => {
      await goTo(page, 'Run setup')
      await page.locator('[id="rollout.promptsPerStep"]').fill('6')
      await page.locator('[id="rollout.promptsPerStep"]').press('Tab')
      await page.locator('[id="rollout.groupSize"]').fill('4')
      await page.locator('[id="rollout.groupSize"]').press('Tab')
      await page.getByText('A step samples 6 prompts × 4 = 24 completions').waitFor()
      await page.locator('[id="rollout.temperature"]').fill('-1')
      await page.locator('[id="rollout.temperature"]').press('Tab')
      expect(await page.locator('[id="rollout.temperature"]').getAttribute('aria-invalid')).toBe('true')
      expect(await page.getByRole('button', { name: 'Start the run' }).getAttribute('aria-disabled')).toBe('true')
    })

    it('shows the fields of the estimator that is chosen, and forgets those of the one before', async () => {
      await page.getByLabel('Show every field').check()
      const estimator = page.locator('[id="estimator"]')
      const pooling = page.locator('[id="estimator.pooling"]')
      await estimator.selectOption('grpo')
      await expect.poll(() => pooling.count()).toBe(0)
      await estimator.selectOption('bot-grpo')
      await pooling.waitFor()
    })
  })

  it('complained of nothing', () => {
    expect(opened.errors).toEqual([])
  })
})
