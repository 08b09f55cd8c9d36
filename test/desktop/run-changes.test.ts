// A run changed on the way, one that closing the app stopped, and what lies elsewhere: in a real Electron, against the scripted engine.
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, inject, it } from 'vitest'
import type { Page } from 'playwright-core'
import { button, dropFile, fakeEngine, goTo, openApp, startDemo, untilState } from './app-driver.ts'
import type { OpenedApp, OpenOptions } from './app-driver.ts'

let app: OpenedApp | undefined

async function open(options: OpenOptions = {}): Promise<Page> {
  app = await openApp({ ...options, environment: { SATCHEL_ENGINE: fakeEngine, SATCHEL_FAKE_STEP_MILLISECONDS: '60', ...options.environment } })
  return app.page
}

afterEach(async () => {
  const errors = app?.consoleErrors ?? []
  await app?.close()
  app = undefined
  expect(errors).toEqual([])
})

const log = (page: Page): Promise<string> => page.getByRole('region', { name: 'Log' }).innerText()
const words = (page: Page): Promise<string | null> => page.getByRole('region', { name: 'Reward', exact: true }).getByRole('img').getAttribute('aria-label')

describe.skipIf(inject('missing') !== '')(`runs on the way${inject('missing') === '' ? '' : ` (skipped: ${inject('missing')})`}`, () => {
  it('are changed from the Monitor, with a mark in the log, in the folder and on the curves', async () => {
    // Slow enough that the run is still at work when the panel has been filled in.
    const page = await open({ environment: { SATCHEL_FAKE_STEP_MILLISECONDS: '1000' } })
    await startDemo(page, 300)
    await untilState(page, 'Training')
    await button(page, 'Change…').click()
    const panel = page.getByRole('region', { name: 'Change rates and weights' })
    await panel.getByRole('textbox', { name: /^optimizer\.learningRate/ }).fill('much')
    await panel.getByText('learningRate: not a number.').waitFor()
    await panel.getByRole('textbox', { name: /^optimizer\.learningRate/ }).fill('0.0005')
    await panel.getByRole('button', { name: 'Apply from the next step on' }).click()
    await expect.poll(() => log(page)).toMatch(/optimizer\.learningRate changed from [\d.]+ to 0\.0005, from step \d+ on/)
    await expect.poll(() => words(page)).toMatch(/Changed at step \d+: learningRate [\d.]+ → 0\.0005\./)
    const [row] = readFileSync(join(app?.home ?? '', 'runs', 'demo-1', 'changes.jsonl'), 'utf8').trim().split('\n')
    expect(JSON.parse(row ?? '')).toMatchObject({ field: 'optimizer.learningRate', to: 0.0005 })
    // What the engine would refuse is refused in words before it is asked.
    await panel.getByRole('textbox', { name: /^optimizer\.learningRate/ }).fill('-1')
    await panel.getByRole('button', { name: 'Apply from the next step on' }).click()
    await panel.getByText(/optimizer\.learningRate: .*The run goes on as it was/).waitFor()
  })

  it('that closing the app stopped are offered to be resumed at the next start', async () => {
    const home = mkdtempSync(join(tmpdir(), 'satchel-desktop-'))
    try {
      const page = await open({ home, environment: { SATCHEL_FAKE_STEP_MILLISECONDS: '400' } })
      await startDemo(page, 300)
      await untilState(page, 'Training')
      const first = app?.application.process()
      // The second start meets the first while it is still closing otherwise, and gives way to it.
      const gone = new Promise((settle) => first?.once('exit', settle))
      await app?.application.evaluate(({ app: electron }) => electron.quit()).catch(() => undefined)
      await gone
      await expect.poll(() => { try { return readFileSync(join(home, 'profile', 'runs.json'), 'utf8') } catch { return '' } }).toMatch(/demo-1/)
      const again = await open({ home })
      await again.getByText(/It was stopped when Satchel was closed, at step \d+ of 300/).waitFor()
      await again.locator('.stack').getByRole('button', { name: 'Resume' }).click()
      await untilState(again, 'Training')
      await app?.close()
    } finally {
      rmSync(home, { recursive: true, force: true, maxRetries: 5 })
    }
  })

  it('lie elsewhere and are dropped: a run is looked at only, a configuration fills the form', async () => {
    const page = await open()
    await startDemo(page, 3)
    await untilState(page, 'Done')
    const elsewhere = mkdtempSync(join(tmpdir(), 'satchel-elsewhere-'))
    try {
      cpSync(join(app?.home ?? '', 'runs', 'demo-1'), join(elsewhere, 'copied'), { recursive: true })
      await dropFile(page, join(elsewhere, 'copied', 'metrics.jsonl'))
      await page.getByText('outside the runs folder, only looked at').waitFor()
      expect(await page.getByRole('group', { name: 'Run controls' }).count()).toBe(0)
      await expect.poll(() => words(page)).toMatch(/Reward: from /)
      const config = JSON.parse(readFileSync(join(elsewhere, 'copied', 'run.json'), 'utf8')) as { training: object }
      writeFileSync(join(elsewhere, 'mine.json'), JSON.stringify({ ...config, name: 'dropped', training: { ...config.training, steps: 77 } }))
      await dropFile(page, join(elsewhere, 'mine.json'))
      await page.getByRole('heading', { name: 'Run setup', level: 1 }).waitFor()
      await expect.poll(() => page.locator('[id="training.steps"]').inputValue()).toBe('77')
      expect(await page.locator('[id="name"]').inputValue()).toBe('dropped')
    } finally {
      rmSync(elsewhere, { recursive: true, force: true })
    }
    await goTo(page, 'Monitor')
  })
})
