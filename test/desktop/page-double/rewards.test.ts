// The composer of rewards and its bench, in a browser, in front of the contract's test double: what is asked for when something is composed,
// and what is shown of the answer.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Locator, Page } from 'playwright-core'
import { goTo } from '../app-driver.ts'
import { missingBrowser, openDouble, requestsOf } from './browser.ts'
import type { DoublePage } from './browser.ts'

let opened: DoublePage
let page: Page

interface ScoreRequest {
  readonly reward: Readonly<Record<string, unknown>>
  readonly scorings: number
  readonly samples: readonly { readonly completion: string }[]
}

beforeAll(async () => {
  if (missingBrowser !== '') return
  opened = await openDouble('filled')
  page = opened.page
  await page.emulateMedia({ reducedMotion: 'reduce' })
  await goTo(page, 'Rewards')
  await summary().waitFor()
})
afterAll(async () => {
  if (missingBrowser === '') await opened.close()
})

const summary = (): Locator => page.getByTestId('bench-summary')
const field = (path: string): Locator => page.locator(`[id="reward.${path}"]`)
const choose = (label: string): Promise<void> => page.locator('main label', { hasText: new RegExp(`^\\s*${label}\\s*$`) }).first().click()
const scored = async (): Promise<ScoreRequest[]> => (await requestsOf(page, 'rewards.score')) as ScoreRequest[]
const lastReward = async (): Promise<unknown> => (await scored()).at(-1)?.reward

/** Opens a source or a group of fields by its name. */
async function open(name: string): Promise<void> {
  const details = page.locator('main details', { has: page.locator('summary', { hasText: new RegExp(`^\\s*${name}`) }) }).last()
  if ((await details.getAttribute('open')) === null) await details.locator('summary').first().click()
}

async function enter(path: string, text: string): Promise<void> {
  await field(path).fill(text)
  await field(path).press('Tab')
}

describe.skipIf(missingBrowser !== '')(`the composer of rewards${missingBrowser === '' ? '' : ` (skipped: ${missingBrowser})`}`, () => {
  it('scores again under a source’s weight, and says so beside its name', async () => {
    await open('Compiler')
    await enter('compiler.globalWeight', '2')
    await expect.poll(lastReward).toMatchObject({ compiler: { globalWeight: 2 } })
    await page.locator('main summary', { hasText: /^\s*Compiler\s*G 2 · S 1/ }).waitFor()
  })

  it('scores again under a rung of the ladder and a bound', async () => {
    await open('What is measured')
    await enter('ladder.parse', '-1.5')
    await enter('localBound', '0.5')
    await expect.poll(lastReward).toMatchObject({ ladder: { parse: -1.5 }, localBound: 0.5, compiler: { globalWeight: 2 } })
  })

  it('marks a bound that cannot be, scores nothing, and hands nothing on until it is mended', async () => {
    const before = (await scored()).length
    await enter('localBound', '-1')
    await page.getByRole('alert').getByText('reward.localBound').first().waitFor()
    expect(await field('localBound').getAttribute('aria-invalid')).toBe('true')
    expect(await page.getByRole('button', { name: 'Use in a run' }).getAttribute('aria-disabled')).toBe('true')
    expect(await scored()).toHaveLength(before)
    await enter('localBound', '0.25')
    await expect.poll(lastReward).toMatchObject({ localBound: 0.25 })
    expect(await page.getByRole('button', { name: 'Use in a run' }).getAttribute('aria-disabled')).toBe('false')
  })

  it('keeps what was composed of each recipe, and goes back to its defaults when asked', async () => {
    await choose('Maths')
    await expect.poll(lastReward).toMatchObject({ recipe: 'maths' })
    expect(((await requestsOf(page, 'rewards.samples')) as { recipe: string }[]).at(-1)?.recipe).toBe('maths')
    await choose('React')
    expect(await field('localBound').inputValue()).toBe('0.25')
    await page.getByRole('button', { name: 'Back to the defaults' }).click()
    await expect.poll(() => field('localBound').inputValue()).toBe('1')
    await expect.poll(lastReward).toEqual({ recipe: 'react' })
  })

  it('paints every word by what it is worth, by one source where that is wanted, and flags the line', async () => {
    await page.getByRole('group', { name: 'Samples' }).getByRole('button', { name: /a bracket lost/ }).first().click()
    const shade = (at: number): Promise<string> => page.locator(`[data-token="${at}"]`).first().evaluate((element: HTMLElement) => /shade-\w+/.exec(element.className)?.[0] ?? '')
    await page.locator('.flag').first().waitFor()
    expect(await page.locator('.flag').first().innerText()).toMatch(/compiler[\s\S]*'\)' expected\./)
    // The whole completion failed: all of it is below zero, most of all where it went wrong.
    expect(await shade(0)).toMatch(/shade-n\d/)
    expect(await shade(24)).toBe('shade-n6')
    await choose('compiler')
    await expect.poll(() => shade(0)).toBe('shade-0')
    expect(await shade(24)).toMatch(/shade-n\d/)
    await choose('together')
    await page.locator('[data-token="24"]').first().hover()
    expect((await page.getByTestId('reward-readout').innerText()).replaceAll('\n', ' ')).toMatch(/Word 25 of 52 .* Reward −1\.900 compiler −1\.000/)
  })

  it('says in words what would go wrong, and asks every source again when repeatability is wanted', async () => {
    await summary().getByRole('button', { name: '1 warning' }).click()
    expect(await page.getByRole('region', { name: 'What would go wrong' }).innerText()).toMatch(/junk attributes/)
    expect(await page.getByRole('region', { name: 'Known cheats' }).locator('li').allInnerTexts()).toEqual([expect.stringMatching(/junk attributes[\s\S]*−1\.400/), expect.stringMatching(/a bracket lost[\s\S]*−1\.520/), expect.stringMatching(/an empty component[\s\S]*−1\.610/)])
    await page.getByRole('button', { name: 'Score three times' }).click()
    await page.getByText('Everything was scored 3 times.').waitFor()
    expect((await scored()).at(-1)?.scorings).toBe(3)
    await choose('Completions')
  })

  it('takes a pasted completion for a sample', async () => {
    await choose('Pasted')
    await page.getByLabel('Prompt', { exact: true }).fill('Say hello.')
    await page.getByLabel('Completion', { exact: true }).fill('export default () => <p>hello</p>')
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await expect.poll(async () => (await scored()).at(-1)?.samples.map(({ completion }) => completion)).toEqual(['export default () => <p>hello</p>'])
    await choose('Examples')
  })

  it('marks type errors in a function as it is written, and leads to them', async () => {
    await choose('Your own')
    const editor = page.getByRole('textbox', { name: 'Reward function' })
    await editor.getByText('named').first().waitFor()
    await page.getByText('No type errors.').waitFor()
    await editor.focus()
    await page.keyboard.press('Control+a')
    await page.keyboard.insertText('// a longer text is better\nexport default ({ completion }) => completion.size\n')
    const problems = page.getByRole('status', { name: 'Type errors' })
    await problems.getByText(/Row 2/).waitFor()
    expect(await problems.innerText()).toMatch(/Property 'size' does not exist on type 'string'/)
    await page.keyboard.press('Control+a')
    await page.keyboard.insertText('export default ({ completion }) => completion.length\n')
    await page.getByText('No type errors.').waitFor()
    await choose('React')
  })
})

describe.skipIf(missingBrowser !== '')('the composer by keys alone', () => {
  /** The name of what has the focus, and whether it shows. */
  const focused = (): Promise<{ name: string; visible: boolean }> =>
    page.evaluate(() => {
      const element = document.activeElement
      // Behind the last stop lies the window itself.
      if (!(element instanceof HTMLElement) || element === document.body) return { name: '', visible: true }
      const holder = element.matches('.visually-hidden') ? (element.closest('label') ?? element) : element
      const label = element.id === '' ? '' : (document.querySelector<HTMLElement>(`label[for="${CSS.escape(element.id)}"]`)?.innerText ?? '')
      return { name: (element.getAttribute('aria-label') ?? (label === '' ? holder.innerText : label)).trim().split('\n')[0] ?? '', visible: getComputedStyle(holder).outlineStyle !== 'none' }
    })

  it('comes by every part of the page, each stop visible', async () => {
    await opened.show('filled')
    await page.emulateMedia({ reducedMotion: 'reduce' })
    await goTo(page, 'Rewards')
    await summary().waitFor()
    await page.getByRole('button', { name: 'Import…' }).focus()
    // A focus that came by a key shows.
    await page.keyboard.press('Tab')
    const names: string[] = []
    for (let press = 0; press < 60; press += 1) {
      const { name, visible } = await focused()
      expect(visible, name).toBe(true)
      names.push(name)
      await page.keyboard.press('Tab')
    }
    for (const name of ['Use in a run', 'React', 'Sources', 'Compiler', 'Global weight', 'Local bound', 'Completions', '1 warning', 'Examples', 'together', 'Tokens of the completion']) expect(names).toContain(name)
  })

  it('chooses a recipe, opens a source, changes a weight, and reads a word', async () => {
    await page.getByRole('radio', { name: 'React' }).focus()
    await page.keyboard.press('ArrowRight')
    await expect.poll(lastReward).toMatchObject({ recipe: 'maths' })
    await page.keyboard.press('ArrowLeft')
    await page.locator('main summary', { hasText: 'Linter' }).focus()
    await page.keyboard.press('Enter')
    await page.locator('main details', { has: page.locator('summary', { hasText: 'Linter' }) }).last().locator('[id="reward.linter.enabled"]').focus()
    await page.keyboard.press('Space')
    await page.keyboard.press('Tab')
    await expect.poll(lastReward).toMatchObject({ linter: { enabled: false } })
    await page.getByRole('listbox', { name: 'Tokens of the completion' }).focus()
    await page.keyboard.press('End')
    expect((await page.getByTestId('reward-readout').innerText()).replaceAll('\n', ' ')).toMatch(/Word 52 of 52/)
  })

  it('moves nothing when no motion is wanted', async () => {
    expect(await page.evaluate(() => document.getAnimations().filter(({ playState }) => playState === 'running').length)).toBe(0)
  })

  it('complained of nothing', () => {
    // Where a selection in an editable text is replaced, Chromium itself gives the new line a style attribute; the content policy refuses it.
    expect(opened.errors.filter((text) => !text.startsWith('Refused to apply inline style'))).toEqual([])
  })
})
