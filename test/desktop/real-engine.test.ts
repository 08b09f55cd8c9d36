// The whole house once: the page, the app and the real engine, from Start over a killed engine to a stopped run with its checkpoint.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import type { Page } from 'playwright-core'
import { button, configureDemo, engineProcessIds, goTo, openApp, statusText, untilState } from './app-driver.ts'
import type { OpenedApp } from './app-driver.ts'

const engine = 'engine-child.js'
const unbuilt = existsSync(resolve('out', 'main', engine)) ? '' : 'the engine is not built: npm run build'
const missing = inject('missing') || unbuilt
/** Loading, the evaluation before the first step, and a few steps on a slow machine. */
const patience = 240_000

let app: OpenedApp
let page: Page

beforeAll(async () => {
  if (missing === '') {
    app = await openApp()
    page = app.page
  } else if (process.env['CI'] === 'true') {
    throw new Error(`The desktop test of the real engine cannot run: ${missing}`)
  }
})
afterAll(async () => {
  if (missing === '') await app.close()
})

function rewardWords(): Promise<string | null> {
  return page.getByRole('region', { name: 'Reward', exact: true }).getByRole('img').getAttribute('aria-label')
}

async function lastStep(): Promise<number> {
  return Number(/Reward: (?:from \S+ at step \d+ to )?\S+ at step (\d+)\./.exec((await rewardWords()) ?? '')?.[1] ?? 0)
}

/** The engine of the app; its reward workers and sandboxes have other entries. */
function engineIds(): number[] {
  return engineProcessIds(app.application, engine)
}

function checkpoints(): string[] {
  const runs = join(app.home, 'runs')
  return readdirSync(runs).flatMap((run) => readdirSync(join(runs, run, 'checkpoints')).filter((name) => /^\d+$/.test(name)))
}

describe.skipIf(missing !== '')(`the demo with the real engine${missing === '' ? '' : ` (skipped: ${missing})`}`, () => {
  it('plans, evaluates, then trains, and paints what it taught', async () => {
    await configureDemo(page, { 'training.steps': '60', 'evaluation.prompts': '4', 'evaluation.samples': '4' })
    await expect.poll(() => page.getByRole('region', { name: 'Memory plan' }).innerText(), { timeout: patience }).toMatch(/Fits: at most/)
    await page.getByRole('button', { name: 'Start the run' }).click()
    await untilState(page, 'Training', patience)
    await expect.poll(lastStep, { timeout: patience, interval: 500 }).toBeGreaterThanOrEqual(2)
    expect(await page.getByRole('region', { name: 'Held-out score' }).getByRole('img').getAttribute('aria-label')).toMatch(/Parses: \d.*Renders: \d/)
    await goTo(page, 'Rollouts')
    await page.getByRole('button', { name: 'Hold' }).click()
    await expect.poll(() => page.locator('[class*="shade-n"], [class*="shade-p"]').count()).toBeGreaterThan(20)
    await page.locator('[data-token="2"]').first().hover()
    expect((await page.getByTestId('token-readout').innerText()).replaceAll('\n', ' ')).toMatch(/Token 3 of \d+ .* Reward [+−]?\d.* Advantage [+−]?\d/)
    await goTo(page, 'Monitor')
  })

  it('pauses between two calls of the runtime, and goes on', async () => {
    await button(page, 'Pause').click()
    await untilState(page, 'Paused', patience)
    const step = await lastStep()
    expect(await statusText(page)).toMatch(/^Paused/)
    await button(page, 'Resume').click()
    await untilState(page, 'Training')
    await expect.poll(lastStep, { timeout: patience, interval: 500 }).toBeGreaterThan(step)
  })

  it('says so when the engine is killed, and resumes', async () => {
    const [id] = engineIds()
    process.kill(id as number, 'SIGKILL')
    await untilState(page, 'Failed')
    expect(await page.getByRole('alert').innerText()).toMatch(/killed.*Nothing already written is lost/s)
    const step = await lastStep()
    await button(page, 'Resume').click()
    await untilState(page, 'Training', patience)
    await expect.poll(lastStep, { timeout: patience, interval: 500 }).toBeGreaterThan(step)
    expect(engineIds()).toHaveLength(1)
  })

  it('stops after the step, with a checkpoint, and leaves no process behind', async () => {
    await button(page, 'Stop after step').click()
    await untilState(page, 'Stopped', patience)
    const step = await lastStep()
    expect(checkpoints().map(Number)).toContain(step)
    await expect.poll(engineIds, { timeout: 30_000 }).toEqual([])
  })

  it('writes a report that opens, and becomes a PDF', async () => {
    await goTo(page, 'Export and report')
    await page.getByRole('button', { name: 'Write the report' }).click()
    await page.getByText(/report\.html$/).waitFor({ timeout: patience })
    await app.application.evaluate(({ shell }) => {
      shell.openPath = async (path) => {
        ;(globalThis as { opened?: string }).opened = path
        return ''
      }
    })
    await page.getByRole('button', { name: 'Open', exact: true }).click()
    await expect.poll(() => app.application.evaluate(() => (globalThis as { opened?: string }).opened ?? '')).toMatch(/report\.html$/)
    const pdf = join(app.home, 'report.pdf')
    await app.application.evaluate(({ dialog }, filePath) => {
      dialog.showSaveDialog = async () => ({ canceled: false, filePath })
    }, pdf)
    await page.getByRole('button', { name: 'Save as PDF…' }).click()
    await expect.poll(() => (existsSync(pdf) ? readFileSync(pdf).subarray(0, 5).toString() : ''), { timeout: patience }).toBe('%PDF-')
    expect(readFileSync(pdf).length).toBeGreaterThan(20_000)
  })

  it('exports the adapter, and shows what its check found', async () => {
    await page.getByRole('region', { name: 'Adapter' }).getByRole('button', { name: 'Export' }).click()
    await page.getByText('The files answer as the run does.').waitFor({ timeout: patience })
    expect(await page.getByRole('region', { name: 'Adapter' }).innerText()).toMatch(/log-probabilities differ by .* greedy continuations/s)
    await page.getByRole('heading', { name: 'Exported so far' }).waitFor()
  })

  it('answers beside its base, with the same seed', async () => {
    await goTo(page, 'Try it')
    await page.getByRole('textbox', { name: 'Prompt' }).fill('Make a counter titled "Stars" with a button named "Add".')
    await page.getByRole('button', { name: 'Ask both' }).click()
    await expect.poll(() => page.locator('.answers pre').count(), { timeout: patience }).toBe(2)
    expect(await page.getByRole('region', { name: 'Base model' }).innerText()).toMatch(/tokens, mean probability/)
    expect(app.consoleErrors).toEqual([])
  })
}, 600_000)
