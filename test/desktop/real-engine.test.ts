// The whole house once: the page, the app and the real engine, from Start over a killed engine to a stopped run with its checkpoint.
import { existsSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import type { Page } from 'playwright-core'
import { button, engineProcessIds, openApp, statusText, untilState } from './app-driver.ts'
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
  return Number(/step (\d+)\.$/.exec((await rewardWords()) ?? '')?.[1] ?? 0)
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
  it('evaluates, then trains, and paints what it taught', async () => {
    await button(page, 'Start').click()
    await untilState(page, 'Training', patience)
    await expect.poll(lastStep, { timeout: patience, interval: 500 }).toBeGreaterThanOrEqual(2)
    expect(await page.getByRole('region', { name: 'Held-out compile rate' }).getByRole('img').getAttribute('aria-label')).toMatch(/Parse: \d.*Render: \d/)
    expect(await page.locator('[data-token]').count()).toBeGreaterThan(20)
    expect(await page.locator('[class*="shade-n"], [class*="shade-p"]').count()).toBeGreaterThan(20)
    await page.getByRole('button', { name: 'Hold' }).click()
    await page.locator('[data-token="2"]').first().hover()
    expect((await page.getByTestId('token-readout').innerText()).replaceAll('\n', ' ')).toMatch(/Token 3 of \d+ .* Reward [+−]?\d.* Advantage [+−]?\d/)
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
    await button(page, 'Stop').click()
    await untilState(page, 'Stopped', patience)
    const step = await lastStep()
    expect(checkpoints().map(Number)).toContain(step)
    await expect.poll(engineIds, { timeout: 30_000 }).toEqual([])
    expect(app.consoleErrors).toEqual([])
  })
}, 600_000)
