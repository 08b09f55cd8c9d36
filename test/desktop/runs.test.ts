// A person's way through runs, in a real Electron, against the scripted engine.
import { afterEach, describe, expect, inject, it } from 'vitest'
import type { Page } from 'playwright-core'
import { button, configureDemo, engineProcessIds, fakeEngine, goTo, openApp, startDemo, statusText, untilState } from './app-driver.ts'
import type { OpenedApp, OpenOptions } from './app-driver.ts'

let app: OpenedApp | undefined

async function open(environment: Record<string, string> = {}, options: OpenOptions = {}): Promise<{ app: OpenedApp; page: Page }> {
  app = await openApp({ ...options, environment: { SATCHEL_ENGINE: fakeEngine, SATCHEL_FAKE_STEP_MILLISECONDS: '60', ...environment } })
  return { app, page: app.page }
}

/** The words of a chart for those who do not see it: they hold its first and last value. */
function chartWords(page: Page, title: string): Promise<string | null> {
  return page.getByRole('region', { name: title, exact: true }).getByRole('img').getAttribute('aria-label')
}

function lastStepOf(words: string | null): number {
  return Number(/Reward: (?:from \S+ at step \d+ to )?\S+ at step (\d+)\./.exec(words ?? '')?.[1] ?? Number.NaN)
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

describe.skipIf(inject('missing') !== '')(`runs${inject('missing') === '' ? '' : ` (skipped: ${inject('missing')})`}`, () => {
  it('begin empty, with the way to a first one', async () => {
    const { page } = await open()
    await page.getByRole('heading', { name: 'No run yet' }).waitFor()
    await page.getByRole('button', { name: 'Set up a run' }).click()
    await page.getByRole('heading', { name: 'Run setup', level: 1 }).waitFor()
    expect(await page.getByRole('button', { name: 'Start the run' }).getAttribute('aria-disabled')).toBe('true')
  })

  it('are configured: the form marks what is wrong at its field, does the arithmetic, and starts', async () => {
    const { page } = await open()
    await configureDemo(page, { 'rollout.groupSize': '1', 'training.steps': '300' })
    await page.getByText('rollout.groupSize').first().waitFor()
    expect(await page.locator('[id="rollout.groupSize"]').getAttribute('aria-invalid')).toBe('true')
    expect(await page.getByRole('button', { name: 'Start the run' }).getAttribute('aria-disabled')).toBe('true')
    await page.locator('[id="rollout.groupSize"]').fill('4')
    await page.locator('[id="rollout.groupSize"]').press('Tab')
    await page.getByText('A step samples 8 prompts × 4 = 32 completions of up to 112 tokens').waitFor()
    await page.getByRole('button', { name: 'Start the run' }).click()
    await untilState(page, 'Training')
    expect(await page.locator('.title .name').innerText()).toMatch(/^demo-1$/)
  })

  it('train: curves move, health is told, the log is kept', async () => {
    const { page } = await open()
    await startDemo(page, 300)
    await untilState(page, 'Training')
    await untilStep(page, 2)
    const before = lastStepOf(await chartWords(page, 'Reward'))
    await untilStep(page, before + 3)
    expect(await chartWords(page, 'Held-out score')).toMatch(/Renders: (from )?\d/)
    expect(await chartWords(page, 'Memory against plan')).toMatch(/Planned peak/)
    expect(await statusText(page)).toMatch(/^Step \d+ of 300: (generating|scoring) completions, \d+ of 32\. About .* left\.$/)
    expect(await page.getByRole('region', { name: 'Health' }).innerText()).toMatch(/Gradient norm/)
    expect(await page.getByRole('region', { name: 'Log' }).innerText()).toMatch(/Held-out evaluation after step 0/)
  })

  it('share one axis: what is zoomed and pointed at in one chart is so in all', async () => {
    const { page } = await open()
    await startDemo(page, 40)
    await untilState(page, 'Done')
    const reward = page.getByRole('region', { name: 'Reward', exact: true }).getByRole('img')
    const box = await reward.boundingBox()
    if (box === null) throw new Error('the chart has no box')
    await page.mouse.move(box.x + box.width * 0.3, box.y + 60)
    await page.mouse.down()
    await page.mouse.move(box.x + box.width * 0.6, box.y + 60, { steps: 4 })
    await page.mouse.up()
    const from = Number(await page.getByLabel('First step shown').inputValue())
    const to = Number(await page.getByLabel('Last step shown').inputValue())
    expect(from).toBeGreaterThan(2)
    expect(to).toBeGreaterThan(from)
    expect(to).toBeLessThan(38)
    await reward.focus()
    await page.keyboard.press('Home')
    expect(await page.getByRole('region', { name: 'Entropy', exact: true }).locator('.at').innerText()).toBe(`step ${from}`)
    await page.keyboard.press('0')
    expect(await page.getByLabel('Last step shown').inputValue()).toBe('40')
  })

  it('show each chart as a table, and back', async () => {
    const { page } = await open()
    await startDemo(page, 300)
    await untilStep(page, 3)
    const reward = page.getByRole('region', { name: 'Reward', exact: true })
    await reward.getByRole('button', { name: 'Reward as a table' }).click()
    await expect.poll(() => reward.getByRole('row').count()).toBeGreaterThan(3)
    expect(await reward.getByRole('row').last().innerText()).toMatch(/^1\s+[+−]?\d/)
    await reward.getByRole('button', { name: 'Reward as a table' }).click()
    await untilStep(page, 4)
  })

  it('open rollout by rollout: a token is read by pointer and by keyboard, painted as the person chooses', async () => {
    const { page } = await open()
    await startDemo(page, 300)
    await untilStep(page, 3)
    await goTo(page, 'Rollouts')
    await page.getByRole('button', { name: 'Hold' }).click()
    await page.locator('.list button', { hasText: '−' }).first().click()
    await page.getByRole('group', { name: 'Paint tokens by' }).getByText('Reward').click()
    const token = page.locator('[data-token="3"]').first()
    await expect.poll(() => token.getAttribute('class')).toMatch(/shade-n\d/)
    expect(await token.evaluate((element) => getComputedStyle(element).boxShadow)).toMatch(/inset/)
    await token.hover()
    const readout = (await page.getByTestId('token-readout').innerText()).replaceAll('\n', ' ')
    expect(readout).toMatch(/Token 4 of \d+ Text \S+ Id \d+ Reward [+−]\d+\.\d{3} Advantage [+−]\d+\.\d{3} σ Probability .*% Log-probability .* Entropy .* nats/)
    expect(await page.locator('.flag').first().innerText()).toMatch(/^(parse|types)/)
    await page.getByRole('group', { name: 'Paint tokens by' }).getByText('Probability').click()
    await expect.poll(() => page.locator('.legend .unit').innerText()).toMatch(/unlikely/)
    const tokens = page.getByRole('listbox', { name: 'Tokens of the completion' })
    await tokens.focus()
    for (let press = 0; press < 2; press += 1) await page.keyboard.press('ArrowRight')
    const named = await tokens.getAttribute('aria-activedescendant')
    expect(await page.locator(`[id="${named}"]`).getAttribute('aria-label')).toMatch(/^Token 6 of /)
  })

  it('are searched over all steps, and show one prompt across them', async () => {
    const { page } = await open()
    await startDemo(page, 30)
    await untilState(page, 'Done')
    await goTo(page, 'Rollouts')
    await page.getByLabel('Text to look for').fill('Lantern')
    await page.getByRole('button', { name: 'Search all steps' }).click()
    await page.getByText(/found in 30 of 30 steps/).waitFor()
    await page.locator('.list li button').first().click()
    await page.getByRole('button', { name: 'Same prompt across steps' }).click()
    await expect.poll(() => page.getByRole('region', { name: 'The same prompt across steps' }).getByRole('listitem').count()).toBeGreaterThan(3)
  })

  it('pause, go on, write a checkpoint, and stop', async () => {
    const { page } = await open()
    await startDemo(page, 400)
    await untilStep(page, 2)
    await button(page, 'Pause').click()
    await untilState(page, 'Paused')
    expect(await statusText(page)).toMatch(/^Paused after step \d+ of 400\. Resume goes on from here\.$/)
    await button(page, 'Resume').click()
    await untilState(page, 'Training')
    await button(page, 'Checkpoint').click()
    await button(page, 'Stop after step').click()
    await untilState(page, 'Stopped')
  })

  it('say so when their engine is killed, and resume from the checkpoint', async () => {
    const { app, page } = await open()
    await startDemo(page, 400)
    await untilStep(page, 5)
    const engines = engineProcessIds(app.application, fakeEngine)
    expect(engines).toHaveLength(1)
    process.kill(engines[0] as number, 'SIGKILL')
    await untilState(page, 'Failed')
    const words = await page.getByRole('alert').innerText()
    expect(words).toMatch(/engine process was killed/)
    expect(words).toMatch(/Resume continues from the checkpoint of step \d+/)
    const before = lastStepOf(await chartWords(page, 'Reward'))
    await page.getByRole('alert').getByRole('button', { name: /^Resume from step \d+$/ }).click()
    await untilState(page, 'Training')
    await untilStep(page, before + 2)
    expect(engineProcessIds(app.application, fakeEngine)).toHaveLength(1)
  })

  it('wait for their turn, and are compared', async () => {
    const { page } = await open()
    await startDemo(page, 400)
    await untilStep(page, 5)
    await configureDemo(page, { 'training.steps': '24', seed: '2' })
    await page.getByRole('button', { name: 'Start the run' }).click()
    await page.getByRole('region', { name: 'Waiting runs' }).waitFor()
    await button(page, 'Stop now').click()
    await expect.poll(() => page.locator('aside').getByText('Done').count(), { timeout: 60_000 }).toBe(1)
    await goTo(page, 'Compare')
    await page.getByRole('region', { name: 'Differences, table' }).getByText('seed', { exact: true }).waitFor()
    await expect.poll(() => chartWords(page, 'Reward')).toMatch(/demo-2: from .* to .* at step 24\..*demo-1: /)
    expect(await page.getByRole('region', { name: 'Steps to a held-out score' }).getByRole('row').count()).toBe(3)
    await page.getByRole('button', { name: 'Left is better' }).click()
    await page.getByText(/You preferred the left side in 1 of 1/).waitFor()
  })

  it('show themselves from their folder alone after the app was closed, and resume', async () => {
    const first = await open()
    await startDemo(first.page, 60)
    await untilStep(first.page, 5)
    await first.app.application.close()
    const second = await open({}, { home: first.app.home })
    await untilState(second.page, 'Stopped')
    expect(lastStepOf(await chartWords(second.page, 'Reward'))).toBeGreaterThanOrEqual(5)
    await button(second.page, 'Resume').click()
    await untilState(second.page, 'Done')
    expect(await statusText(second.page)).toMatch(/^All 60 steps are done\. Held-out programs that compile went from .* to /)
    await second.app.close()
    app = first.app
  })

  it('say why an engine refuses to start', async () => {
    const { page } = await open({ SATCHEL_FAKE_ENGINE: 'refuse' })
    await configureDemo(page, {})
    await page.getByRole('button', { name: 'Start the run' }).click()
    await expect.poll(() => page.getByRole('alert').innerText()).toMatch(/model\.safetensors: the built-in model is damaged/)
    await page.getByRole('button', { name: 'Dismiss' }).click()
    await page.getByRole('alert').waitFor({ state: 'detached' })
  })

  it('ask before the window closes on them, and go on behind it', async () => {
    const { app, page } = await open()
    await startDemo(page, 400)
    await untilStep(page, 2)
    await app.application.evaluate(({ dialog }) => {
      dialog.showMessageBox = async () => ({ response: 2, checkboxChecked: false })
    })
    await app.application.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.close())
    await new Promise((resolve) => setTimeout(resolve, 500))
    expect(app.application.windows()).toHaveLength(1)
    await app.application.evaluate(({ dialog }) => {
      dialog.showMessageBox = async () => ({ response: 0, checkboxChecked: false })
    })
    await app.application.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.close())
    await expect.poll(() => app.application.windows().length).toBe(0)
    expect(engineProcessIds(app.application, fakeEngine)).toHaveLength(1)
  })

  it('leave no engine behind when the app ends', async () => {
    const { app } = await open()
    await startDemo(app.page, 400)
    await untilStep(app.page, 2)
    const [engine] = engineProcessIds(app.application, fakeEngine)
    await app.application.close()
    expect(() => process.kill(engine as number, 0)).toThrow()
  })
})
