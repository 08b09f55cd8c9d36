// A reward composed, tried and handed to a run, in the real app with the real tools: examples, weights, a function of one's own, a replay.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import type { Page } from 'playwright-core'
import { writeReplayableRun } from '../support/replayable-run.ts'
import { goTo, openApp } from './app-driver.ts'
import type { OpenedApp } from './app-driver.ts'
import { violationsInBothThemes } from './axe.ts'

const missing = inject('missing')
/** Workers start, types are read, pages are rendered, perhaps on a busy machine. */
const patience = 240_000

let home: string
let app: OpenedApp
let page: Page

/** The next dialog answers with this path. */
async function answerDialogs(path: string): Promise<void> {
  await app.application.evaluate(({ dialog }, chosen) => {
    dialog.showOpenDialog = async () => ({ canceled: false, filePaths: [chosen] })
    dialog.showSaveDialog = async () => ({ canceled: false, filePath: chosen })
  }, path)
}

const summary = (): Promise<string> => page.getByTestId('bench-summary').innerText()
const choose = (label: string): Promise<void> => page.locator('main label', { hasText: new RegExp(`^\\s*${label}\\s*$`) }).first().click()
/** G of the sample that is shown. */
const shownScore = (): Promise<string> => page.getByRole('list', { name: 'What each source adds to the score' }).locator('li').first().innerText()
/** The editor lies in a shadow tree, which locators look into. */
const editor = (): ReturnType<Page['getByRole']> => page.getByRole('textbox', { name: 'Reward function' })

async function writeFunction(text: string): Promise<void> {
  await editor().focus()
  await page.keyboard.press('Control+a')
  await page.keyboard.insertText(text)
}

beforeAll(async () => {
  if (missing !== '') return
  home = mkdtempSync(join(tmpdir(), 'satchel-rewards-desktop-'))
  writeReplayableRun(join(home, 'runs', 'earlier'), 4)
  app = await openApp({ home, on: 'Rewards' })
  page = app.page
  await page.setViewportSize({ width: 1280, height: 800 })
  await page.emulateMedia({ reducedMotion: 'reduce' })
})
afterAll(async () => {
  if (missing !== '') return
  await app.close()
  rmSync(home, { recursive: true, force: true, maxRetries: 5 })
})

describe.skipIf(missing !== '')(`rewards${missing === '' ? '' : ` (skipped: ${missing})`}`, { timeout: 3 * patience }, () => {
  it('tries the React reward on examples as soon as the page is there, word by word', async () => {
    await expect.poll(summary, { timeout: patience }).toMatch(/^15 completions of 4 prompts: 47/)
    expect(await shownScore()).toMatch(/^G \+1\.000/)
    await page.getByRole('group', { name: 'Samples' }).getByRole('button', { name: /a closing tag lost/ }).first().click()
    await expect.poll(shownScore).toMatch(/^G \u2212/)
    await page.getByRole('listbox').focus()
    await page.keyboard.press('End')
    expect((await page.getByTestId('reward-readout').innerText()).replaceAll('\n', ' ')).toMatch(/Word \d+ of \d+ Text .* Reward \u2212\d.* compiler/)
    expect(await page.locator('.flag').first().innerText()).toMatch(/compiler/)
    expect(await violationsInBothThemes(page)).toEqual([])
  })

  it('weighs what it knows anew when a weight is changed, and marks what cannot be', async () => {
    await page.locator('summary', { hasText: 'Compiler' }).click()
    const weight = page.locator('[id="reward.compiler.globalWeight"]')
    const before = await shownScore()
    await weight.fill('2')
    await weight.press('Tab')
    await expect.poll(shownScore, { timeout: patience }).not.toBe(before)
    await weight.fill('much')
    await weight.press('Tab')
    await page.getByRole('alert').getByText('reward.compiler.globalWeight').waitFor()
    expect(await page.getByRole('button', { name: 'Use in a run' }).getAttribute('aria-disabled')).toBe('true')
    await page.getByRole('button', { name: 'Back to the defaults' }).click()
    await page.getByRole('alert').waitFor({ state: 'detached' })
  })

  it('says in words what would go wrong, and whether a source says the same twice', async () => {
    await choose('Sources')
    expect(await page.getByRole('region', { name: 'What would go wrong' }).innerText()).toMatch(/known cheat/i)
    await choose('Maths')
    await expect.poll(summary, { timeout: patience }).toMatch(/of 4 prompts: 25/)
    const repeat = page.getByRole('button', { name: 'Score three times' })
    await repeat.click()
    await page.getByText('Everything was scored 3 times.').waitFor({ timeout: patience })
    expect(await violationsInBothThemes(page)).toEqual([])
  })

  it('scores a pasted completion', async () => {
    await choose('Completions')
    await choose('Pasted')
    await page.getByLabel('Prompt', { exact: true }).fill('What is 6 times 7?')
    await page.getByLabel('Completion', { exact: true }).fill('<step_1> 6 * 7 = 42 </step_1>\n<final> 42 </final>')
    await page.getByLabel(/^More fields/).fill('{"answer": "42"}')
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await expect.poll(summary, { timeout: patience }).toMatch(/^1 completion of 1 prompt: 100/)
    expect(await violationsInBothThemes(page)).toEqual([])
    await choose('Examples')
  })

  it('checks a function as it is written, and tries it before it lies in a file', async () => {
    await choose('Your own')
    await page.getByText('No type errors.').waitFor({ timeout: patience })
    await expect.poll(summary, { timeout: patience }).toMatch(/of 4 prompts/)
    expect(await violationsInBothThemes(page)).toEqual([])
    await writeFunction("import type { RewardFunction } from 'satchel'\nconst score: RewardFunction = ({ completion }) => completion.size\nexport default score\n")
    await page.getByRole('status', { name: 'Type errors' }).getByText(/Row 2/).waitFor({ timeout: patience })
    await writeFunction("import type { RewardFunction } from 'satchel'\nconst score: RewardFunction = ({ completion }) => completion.length / 1000\nexport default score\n")
    await page.getByText('No type errors.').waitFor({ timeout: patience })
    await expect.poll(shownScore, { timeout: patience }).toMatch(/^G \+0\.1/)
  })

  it('saves the function and hands the reward to Run setup', async () => {
    const file = join(home, 'mine.ts')
    await answerDialogs(file)
    await page.getByRole('button', { name: 'Use in a run' }).click()
    await page.getByRole('heading', { name: 'Run setup', level: 1 }).waitFor()
    expect(readFileSync(file, 'utf8')).toMatch(/completion\.length/)
    expect(await page.locator('[id="reward.file"]').inputValue()).toBe(file)
    expect(await page.locator('[id="reward"]').inputValue()).toBe('custom')
  })

  it('writes the reward as JSON, and reads it back', async () => {
    await goTo(page, 'Rewards')
    const file = join(home, 'reward.json')
    await answerDialogs(file)
    await page.getByRole('button', { name: 'Export…' }).click()
    await page.getByText('Reward saved.').waitFor()
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ recipe: 'custom', file: join(home, 'mine.ts') })
    writeFileSync(file, JSON.stringify({ recipe: 'maths', globalWeight: 5 }))
    await page.getByRole('button', { name: 'Import…' }).click()
    await expect.poll(() => page.locator('[id="reward.globalWeight"]').inputValue()).toBe('5')
  })

  it('scores what a run logged, and replays it under other weights', async () => {
    await choose('React')
    await choose('Run')
    await expect.poll(summary, { timeout: patience }).toMatch(/^4 completions of 1 prompt/)
    await page.getByText(/The prompts of this run are no longer there/).waitFor()
    await choose('Replay a run')
    await page.getByRole('combobox', { name: 'Estimator' }).selectOption('grpo')
    await page.getByRole('button', { name: 'Replay', exact: true }).click()
    await page.getByText(/^In 4 steps/).waitFor({ timeout: patience })
    expect(await violationsInBothThemes(page)).toEqual([])
  })

  it('wrote no error to the console', () => {
    // Where a selection in an editable text is replaced, Chromium itself gives the new line a style attribute; the content policy refuses it.
    expect(app.consoleErrors.filter((text) => !text.startsWith('Refused to apply inline style'))).toEqual([])
  })
})
