// A person's way through the demo, in a real Electron, against the scripted engine.
import { afterEach, describe, expect, inject, it } from 'vitest'
import type { Page } from 'playwright-core'
import { button, engineProcessIds, fakeEngine, openApp, statusText, untilState } from './app-driver.ts'
import type { OpenedApp, OpenOptions } from './app-driver.ts'

let app: OpenedApp | undefined

async function open(environment: Record<string, string> = {}, options: OpenOptions = {}): Promise<{ app: OpenedApp; page: Page }> {
  app = await openApp({ ...options, environment: { SATCHEL_ENGINE: fakeEngine, SATCHEL_FAKE_STEP_MILLISECONDS: '60', SATCHEL_FAKE_STEPS: '400', ...environment } })
  return { app, page: app.page }
}

/** The words of a chart for those who do not see it: they hold its first and last value. */
function chartWords(page: Page, title: string): Promise<string | null> {
  return page.getByRole('region', { name: title, exact: true }).getByRole('img').getAttribute('aria-label')
}

function lastStepOf(words: string | null): number {
  return Number(/(\d+)\.$/.exec(words ?? '')?.[1] ?? Number.NaN)
}

async function untilStep(page: Page, step: number): Promise<void> {
  await expect.poll(async () => lastStepOf(await chartWords(page, 'Reward')), { timeout: 30_000 }).toBeGreaterThanOrEqual(step)
}

afterEach(async () => {
  const errors = app?.consoleErrors ?? []
  await app?.close()
  app = undefined
  expect(errors).toEqual([])
})

describe.skipIf(inject('missing') !== '')(`the demo run${inject('missing') === '' ? '' : ` (skipped: ${inject('missing')})`}`, () => {
  it('starts empty, with only Start to press', async () => {
    const { page } = await open()
    await page.getByRole('heading', { name: 'No run yet' }).waitFor()
    const pressable = await Promise.all(['Start', 'Pause', 'Resume', 'Stop'].map((name) => button(page, name).getAttribute('aria-disabled')))
    expect(pressable).toEqual(['false', 'true', 'true', 'true'])
  })

  it('trains: curves move, tokens are painted, numbers appear under the pointer', async () => {
    const { page } = await open()
    await button(page, 'Start').click()
    await untilState(page, 'Training')
    await untilStep(page, 2)
    const before = lastStepOf(await chartWords(page, 'Reward'))
    await untilStep(page, before + 3)
    expect(await chartWords(page, 'Held-out compile rate')).toMatch(/Render: (from )?\d/)
    expect(await chartWords(page, 'Completion length')).toMatch(/tokens/)
    expect(await statusText(page)).toMatch(/^Step \d+ of 400: (generating|scoring) completions, \d+ of 32\. About .* left\.$/)

    await page.getByRole('group', { name: 'Paint tokens by' }).getByText('Reward').click()
    await page.getByRole('button', { name: 'Hold' }).click()
    await page.locator('.list button', { hasText: '−' }).first().click()
    const token = page.locator('[data-token="3"]').first()
    await expect.poll(() => token.getAttribute('class')).toMatch(/shade-n\d/)
    expect(await token.evaluate((element) => getComputedStyle(element).backgroundColor)).not.toBe('rgba(0, 0, 0, 0)')
    expect(await token.evaluate((element) => getComputedStyle(element).boxShadow)).toMatch(/inset/)
    await token.hover()
    const readout = (await page.getByTestId('token-readout').innerText()).replaceAll('\n', ' ')
    expect(readout).toMatch(/Token 4 of \d+ Text \S+ Id \d+ Reward [+−]\d+\.\d{3} Advantage [+−]\d+\.\d{3} σ Probability .*% Log-probability .* Entropy .* nats/)
    expect(await page.locator('.flag').first().innerText()).toMatch(/^(parse|types)/)
  })

  it('paints by reward or by advantage, and says in which unit', async () => {
    const { page } = await open()
    await button(page, 'Start').click()
    await untilStep(page, 2)
    const legend = page.locator('.legend .unit')
    expect(await legend.innerText()).toMatch(/standard deviations of the group; below zero underlined/)
    await page.getByRole('group', { name: 'Paint tokens by' }).getByText('Reward').click()
    await expect.poll(() => legend.innerText()).toMatch(/reward a token/)
  })

  it('walks over the tokens by keyboard, and holds the step meanwhile', async () => {
    const { page } = await open()
    await button(page, 'Start').click()
    await untilStep(page, 2)
    const tokens = page.getByRole('listbox', { name: 'Tokens of the completion' })
    await tokens.focus()
    for (let press = 0; press < 5; press += 1) await page.keyboard.press('ArrowRight')
    await page.keyboard.press('ArrowLeft')
    const named = await tokens.getAttribute('aria-activedescendant')
    expect(await page.locator(`[id="${named}"]`).getAttribute('aria-label')).toMatch(/^Token 5 of /)
    expect(await page.getByTestId('token-readout').innerText()).toMatch(/5 of/)
    const held = await page.getByRole('region', { name: 'Rollouts' }).locator('h2 .unit').innerText()
    await untilStep(page, Number(/\d+/.exec(held)?.[0]) + 2)
    expect(await page.getByRole('region', { name: 'Rollouts' }).locator('h2 .unit').innerText()).toBe(held)
    await page.getByRole('button', { name: 'Follow' }).click()
    await expect.poll(() => page.getByRole('region', { name: 'Rollouts' }).locator('h2 .unit').innerText()).not.toBe(held)
  })

  it('shows each chart as a table, and back', async () => {
    const { page } = await open()
    await button(page, 'Start').click()
    await untilStep(page, 3)
    const reward = page.getByRole('region', { name: 'Reward', exact: true })
    await reward.getByRole('button', { name: 'Reward as a table' }).click()
    await expect.poll(() => reward.getByRole('row').count()).toBeGreaterThan(3)
    expect(await reward.getByRole('row').last().innerText()).toMatch(/^1\s+[+−]?\d/)
    await reward.getByRole('button', { name: 'Reward as a table' }).click()
    await untilStep(page, 4)
  })

  it('pauses, goes on, and stops', async () => {
    const { page } = await open()
    await button(page, 'Start').click()
    await untilStep(page, 2)
    await button(page, 'Pause').click()
    await untilState(page, 'Paused')
    const paused = lastStepOf(await chartWords(page, 'Reward'))
    expect(await statusText(page)).toBe(`Paused after step ${paused} of 400. Resume goes on from here.`)
    await button(page, 'Resume').click()
    await untilState(page, 'Training')
    await untilStep(page, paused + 1)
    await button(page, 'Stop').click()
    await untilState(page, 'Stopped')
    await expect.poll(() => button(page, 'Start').getAttribute('aria-disabled')).toBe('false')
  })

  it('says so when the engine is killed, and resumes from the checkpoint', async () => {
    const { app, page } = await open()
    await button(page, 'Start').click()
    await untilStep(page, 5)
    const engines = engineProcessIds(app.application, fakeEngine)
    expect(engines).toHaveLength(1)
    process.kill(engines[0] as number, 'SIGKILL')
    await untilState(page, 'Failed')
    const words = await page.getByRole('alert').innerText()
    expect(words).toMatch(/engine process was killed/)
    expect(words).toMatch(/Resume continues from the checkpoint of step \d+/)
    const before = lastStepOf(await chartWords(page, 'Reward'))
    await page.getByRole('alert').getByRole('button', { name: 'Resume' }).click()
    await untilState(page, 'Training')
    await untilStep(page, before + 2)
    expect(engineProcessIds(app.application, fakeEngine)).toHaveLength(1)
  })

  it('shows a run from before it was opened, from its folder alone, and resumes it', async () => {
    const first = await open({ SATCHEL_FAKE_STEPS: '60' })
    await button(first.page, 'Start').click()
    await untilStep(first.page, 5)
    await first.app.application.close()
    const second = await open({ SATCHEL_FAKE_STEPS: '60' }, { home: first.app.home })
    await untilState(second.page, 'Stopped')
    expect(lastStepOf(await chartWords(second.page, 'Reward'))).toBeGreaterThanOrEqual(5)
    expect(await second.page.locator('[data-token]').count()).toBeGreaterThan(50)
    await button(second.page, 'Resume').click()
    await untilState(second.page, 'Done')
    expect(await statusText(second.page)).toMatch(/^All 60 steps are done\. Held-out programs that compile went from .* to /)
    await second.app.close()
    app = first.app
  })

  it('says why an engine refuses to start', async () => {
    const { page } = await open({ SATCHEL_FAKE_ENGINE: 'refuse' })
    await button(page, 'Start').click()
    expect(await page.getByRole('alert').innerText()).toMatch(/model\.safetensors: the built-in model is damaged/)
    await page.getByRole('button', { name: 'Dismiss' }).click()
    await page.getByRole('alert').waitFor({ state: 'detached' })
  })

  it('says why a run could not start, and offers no resume of what never was', async () => {
    const { page } = await open({ SATCHEL_FAKE_ENGINE: 'unready' })
    await button(page, 'Start').click()
    await untilState(page, 'Failed')
    await expect.poll(() => page.getByRole('alert').innerText()).toMatch(/could not start[^]*built-in model is not there/)
    expect(await page.getByRole('button', { name: 'Resume' }).count()).toBe(1)
    expect(await button(page, 'Resume').getAttribute('aria-disabled')).toBe('true')
    await expect.poll(() => button(page, 'Start').getAttribute('aria-disabled')).toBe('false')
  })

  it('refuses a seed that is no whole number', async () => {
    const { page } = await open()
    await page.getByLabel('Seed').fill('-3')
    expect(await page.getByLabel('Seed').getAttribute('aria-invalid')).toBe('true')
    expect(await button(page, 'Start').getAttribute('aria-disabled')).toBe('true')
    await page.getByLabel('Seed').press('Enter')
    await page.getByRole('heading', { name: 'No run yet' }).waitFor()
  })

  it('leaves no engine behind when its window is closed', async () => {
    const { app } = await open()
    await button(app.page, 'Start').click()
    await untilStep(app.page, 2)
    const [engine] = engineProcessIds(app.application, fakeEngine)
    await app.application.close()
    expect(() => process.kill(engine as number, 0)).toThrow()
  })
})
