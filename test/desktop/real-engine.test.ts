// The whole house once: the page, the app and the real engine, from a dropped dataset over a killed engine to two compared runs, an export and a report.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import type { Page } from 'playwright-core'
import { button, dropFile, engineProcessIds, goTo, openApp, statusText, untilState } from './app-driver.ts'
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

async function fill(fields: Readonly<Record<string, string>>): Promise<void> {
  for (const [field, value] of Object.entries(fields)) {
    await page.locator(`[id="${field}"]`).fill(value)
    await page.locator(`[id="${field}"]`).press('Tab')
  }
}

/** The built-in model's own prompts as a stranger's file would hold them: under other names. */
function writeStrangeDataset(file: string): void {
  const lines = readFileSync(resolve('resources', 'demo', 'prompts.jsonl'), 'utf8').trim().split('\n')
  const rows = lines.map((line) => JSON.parse(line) as { prompt: string; requirements: unknown; split: string })
  writeFileSync(file, rows.map(({ prompt, requirements, split }) => JSON.stringify({ wish: prompt, checks: requirements, half: split })).join('\n'))
}

function checkpoints(): string[] {
  const runs = join(app.home, 'runs')
  return readdirSync(runs).flatMap((run) => readdirSync(join(runs, run, 'checkpoints')).filter((name) => /^\d+$/.test(name)))
}

describe.skipIf(missing !== '')(`the built-in model with the real engine${missing === '' ? '' : ` (skipped: ${missing})`}`, () => {
  it('takes prompts from a dropped dataset whose columns are mapped', async () => {
    const file = join(app.home, 'wishes.jsonl')
    writeStrangeDataset(file)
    await goTo(page, 'Home')
    await dropFile(page, file)
    await page.getByRole('grid', { name: 'Rows' }).waitFor()
    await page.getByRole('combobox', { name: 'Prompt', exact: true }).selectOption('wish')
    await page.getByText('More fields').click()
    await page.getByRole('combobox', { name: 'Requirements', exact: true }).selectOption('checks')
    await page.getByRole('combobox', { name: 'Side', exact: true }).selectOption('half')
    await page.getByRole('button', { name: 'Use in a run' }).click()
    await page.getByText(/prompts are ready/).waitFor({ timeout: patience })
  })

  it('is given the reward that was composed, and the built-in model', async () => {
    await goTo(page, 'Rewards')
    // The composer keeps what is rarely changed closed.
    await page.evaluate(() => document.querySelectorAll('main details').forEach((details) => details.setAttribute('open', '')))
    await fill({ 'reward.requirementWeight': '2' })
    await page.getByRole('button', { name: 'Use in a run' }).click()
    await page.getByRole('heading', { name: 'Run setup', level: 1 }).waitFor()
    await goTo(page, 'Models')
    await page.getByRole('article', { name: 'Built-in model' }).getByRole('button', { name: 'Use in a run' }).click()
    await page.getByRole('heading', { name: 'Run setup', level: 1 }).waitFor()
    expect(await page.locator('[id="data.prompts"]').inputValue()).toMatch(/wishes.*\.jsonl$/)
    expect(await page.locator('[id="reward.requirementWeight"]').inputValue()).toBe('2')
  })

  it('plans, evaluates, then trains, and paints what it taught', async () => {
    await page.locator('[id="device"]').selectOption('cpu')
    await fill({ name: 'wishes', 'rollout.promptsPerStep': '4', 'rollout.groupSize': '8', 'rollout.maxNewTokens': '112', 'optimizer.learningRate': '0.002', 'training.steps': '60', 'evaluation.prompts': '4', 'evaluation.samples': '4' })
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

  it('is compared with a second run of another seed', async () => {
    await goTo(page, 'Run setup')
    await fill({ seed: '2', 'training.steps': '3' })
    await page.getByRole('button', { name: 'Start the run' }).click()
    await page.getByRole('heading', { name: 'Monitor', level: 1 }).waitFor()
    await untilState(page, 'Done', patience)
    await goTo(page, 'Compare')
    await page.getByRole('region', { name: 'Differences, table' }).getByText('seed', { exact: true }).waitFor()
    await expect.poll(() => page.getByRole('region', { name: 'Reward', exact: true }).getByRole('img').getAttribute('aria-label')).toMatch(/at step 3\./)
    await page.getByRole('region', { name: 'Blind preference' }).waitFor()
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
