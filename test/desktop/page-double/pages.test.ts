// The pages that ask and show more than they think, in a browser, in front of the contract's test double: each does what its buttons say.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Page } from 'playwright-core'
import { goTo } from '../app-driver.ts'
import { missingBrowser, openDouble, requestsOf } from './browser.ts'
import type { DoublePage } from './browser.ts'

let opened: DoublePage
let page: Page

beforeAll(async () => {
  if (missingBrowser !== '') return
  opened = await openDouble('filled')
  page = opened.page
  await page.emulateMedia({ reducedMotion: 'reduce' })
})
afterAll(async () => {
  if (missingBrowser === '') await opened.close()
})

/** The newest request of a call. */
async function last(name: Parameters<typeof requestsOf>[1]): Promise<unknown> {
  return (await requestsOf(page, name)).at(-1)
}
const runs = '/home/ada/Satchel/runs'

describe.skipIf(missingBrowser !== '')(`pages before the double${missingBrowser === '' ? '' : ` (skipped: ${missingBrowser})`}`, () => {
  it('Home opens a run on the Monitor', async () => {
    await goTo(page, 'Home')
    await page.locator('main').getByRole('button', { name: /^sums-grpo/ }).click()
    await page.getByRole('heading', { name: 'Monitor', level: 1 }).waitFor()
    await page.getByRole('alert').getByText('The run was interrupted.').waitFor()
    expect(await last('runs.open')).toEqual({ directory: `${runs}/sums-grpo` })
  })

  it('Models verifies with a generated text, plans, and hands a model to Run setup under its name', async () => {
    await goTo(page, 'Models')
    const card = page.getByRole('article', { name: 'Built-in model' })
    await card.getByRole('button', { name: 'Verify' }).click()
    await card.getByText('27 tensors with the names and shapes of the family').waitFor()
    expect(await last('models.verify')).toMatchObject({ path: '/opt/satchel/resources/demo/model', accept: false, generate: true })
    await card.getByRole('button', { name: 'Plan memory' }).click()
    await card.getByText('4 bits').click()
    await expect.poll(() => last('models.plan')).toMatchObject({ run: { weights: { precision: 'int4' } } })
    await card.getByRole('button', { name: 'Use in a run' }).click()
    await page.getByRole('region', { name: 'Arithmetic' }).getByText('Built-in model').waitFor()
  })

  it('Datasets maps a column, checks, and brings prompts and recipe to Run setup', async () => {
    await goTo(page, 'Datasets')
    await page.locator('main').getByRole('button', { name: /^sums\.jsonl/ }).click()
    await page.getByLabel('System text').selectOption('source')
    await page.getByRole('button', { name: 'Check all rows' }).click()
    await page.getByText('This line is no JSON: Unexpected end of input.').waitFor()
    expect(await last('datasets.check')).toMatchObject({ mapping: { prompt: 'question', system: 'source', answer: 'result' }, heldoutShare: 0.2 })
    await page.getByRole('button', { name: 'Use in a run' }).click()
    await expect.poll(() => page.locator('[id="data.prompts"]').inputValue()).toBe('/home/ada/Satchel/datasets/sums.jsonl')
    expect(await page.locator('[id="reward"]').inputValue()).toBe('maths')
  })

  it('Compare lays runs over each other, and counts which side a person prefers without saying whose it is', async () => {
    await goTo(page, 'Compare')
    await page.getByLabel(/sums-grpo/).check()
    // Two runs may have the same name in different folders.
    await page.getByLabel(/demo-1/).last().check()
    await page.getByLabel('Seeds together, as median and range').uncheck()
    const legend = page.getByRole('region', { name: 'Held-out score', exact: true }).locator('.legend li')
    await expect.poll(async () => (await legend.allInnerTexts()).map((text) => text.split(/\s/)[0])).toEqual(['demo-2', 'demo-1', 'sums-grpo', 'demo-1'])
    const blind = page.getByRole('region', { name: 'Blind preference' })
    expect(await blind.innerText()).not.toMatch(/demo-[12]/)
    await blind.getByRole('button', { name: 'Left is better' }).click()
    await blind.getByText(/^1 of 3 judged/).waitFor()
    await blind.getByRole('button', { name: 'Enough' }).click()
    await blind.getByText('demo-2').waitFor()
  })

  it('Try it asks the base model, then the trained one, with the same seed', async () => {
    await goTo(page, 'Try it')
    await page.getByLabel('Prompt', { exact: true }).fill('Make a counter.')
    await page.getByLabel('Seed').fill('7')
    await page.getByRole('button', { name: 'Ask both' }).click()
    await page.getByRole('region', { name: /^Trained/ }).getByText(/52 tokens/).waitFor()
    const asked = (await requestsOf(page, 'runs.try')) as { who: string; seed: number; prompt: string }[]
    expect(asked.map(({ who, seed, prompt }) => [who, seed, prompt])).toEqual([['base', 7, 'Make a counter.'], ['trained', 7, 'Make a counter.']])
  })

  it('Export writes a format with its type and tells what the check found; the report opens once it is written', async () => {
    await goTo(page, 'Export and report')
    const card = page.getByRole('region', { name: 'GGUF' })
    await card.getByLabel('Stored as').selectOption('q8_0')
    await card.getByRole('button', { name: 'Export' }).click()
    await card.getByText('The files answer as the run does.').waitFor()
    expect(await last('runs.export')).toMatchObject({ format: 'gguf', type: 'q8_0' })
    expect(await page.getByRole('button', { name: 'Open', exact: true }).getAttribute('aria-disabled')).toBe('true')
    await page.getByRole('button', { name: 'Write the report' }).click()
    await page.getByText('/home/ada/Satchel/runs/demo-1/report.html').waitFor()
    await page.getByRole('button', { name: 'Open', exact: true }).click()
    await expect.poll(() => last('runs.openReport')).toEqual({ file: '/home/ada/Satchel/runs/demo-1/report.html' })
  })

  it('Settings takes a value at once, says at the field what is refused, and tries the judge', async () => {
    await goTo(page, 'Settings')
    await page.locator('main').getByText('Graphics card').click()
    await expect.poll(() => last('settings.change')).toEqual({ device: 'webgpu' })
    await page.getByLabel('Threads').fill('13')
    await page.getByLabel('Threads').press('Tab')
    await page.getByText('an even number of threads').waitFor()
    await page.getByRole('button', { name: 'Try it' }).last().click()
    await page.getByText('qwen2.5-7b-instruct answered after 2.4 s.').waitFor()
  })

  it('what could not be read offers to try again, and does', async () => {
    await opened.show('failing')
    await goTo(page, 'Home')
    await page.locator('main').getByText('The runs folder could not be read').waitFor()
    const before = (await requestsOf(page, 'runs.list')).length
    await page.getByRole('region', { name: 'Recent runs' }).getByRole('button', { name: 'Try again' }).click()
    await expect.poll(async () => (await requestsOf(page, 'runs.list')).length).toBe(before + 1)
    await goTo(page, 'Datasets')
    await page.getByText('The datasets could not be listed').waitFor()
    // The same message twice is one message.
    const notices = await page.getByRole('alert').allInnerTexts()
    expect(new Set(notices).size).toBe(notices.length)
  })

  it('complained of nothing', () => {
    expect(opened.errors).toEqual([])
  })
})
