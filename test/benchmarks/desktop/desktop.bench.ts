// `npm run bench:desktop`: the app's goals of speed and memory, in a real Electron, printed. Goals are shown, never enforced.
import { mkdtempSync, rmSync } from 'node:fs'
import { cpus, loadavg, tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, inject, it } from 'vitest'
import { button, fakeEngine, goTo, openApp, untilState } from '../../desktop/app-driver.ts'
import type { OpenedApp } from '../../desktop/app-driver.ts'
import { makeLongRun, rolloutsOfAStep } from '../../support/long-run.ts'
import { medianOf, rowsTable } from '../rows.ts'
import type { BenchmarkRow } from '../rows.ts'
import { chartsInView, memoryOf, millisecondsToChart, processIds, turnsDuring, watchFrames } from './page-probes.ts'
import type { FrameReport, Turns } from './page-probes.ts'
import { startOnce } from './start-probe.ts'

const missing = inject('missing')
/** A third of everything, to see that it runs. */
const quick = process.env['SATCHEL_BENCH'] === 'smoke'
const rounds = quick ? 1 : 5
const rows: BenchmarkRow[] = []
const watchedSeconds = 5
/** The engine says about seven things a step, so that this makes more than fifty a second, also where others keep it from its turns. */
const stepMilliseconds = 100
const loadBefore = loadavg()[0]
let versions = ''

function report(name: string, values: readonly number[], unit: string, goal?: string, met?: (median: number) => boolean): void {
  const median = medianOf(values)
  const spread = values.length < 2 ? '' : ` (${Math.min(...values).toPrecision(3)} to ${Math.max(...values).toPrecision(3)})`
  rows.push({ name: `${name}${spread}`, value: median, unit, ...(goal === undefined || met === undefined ? {} : { goal, met: met(median) }) })
}

/** What it took of the processors, and how long it was kept from them: on a busy machine the first is what the app answers for. */
function reportTurns(name: string, whose: string, turns: readonly Turns[]): void {
  report(`${name}: ${whose} on a processor`, turns.map(({ ran }) => ran), 'ms')
  report(`${name}: ${whose} waiting for a processor`, turns.map(({ waited }) => waited), 'ms')
}

async function repeated<Value>(act: () => Promise<Value>): Promise<Value[]> {
  const values: Value[] = []
  for (let round = 0; round < rounds; round += 1) values.push(await act())
  return values
}

async function withApp<Value>(prepare: (home: string) => void, environment: Record<string, string>, act: (app: OpenedApp) => Promise<Value>, on = 'Home'): Promise<Value> {
  const home = mkdtempSync(join(tmpdir(), 'satchel-bench-'))
  prepare(home)
  const app = await openApp({ home, on, environment: { SATCHEL_ENGINE: fakeEngine, ...environment } })
  try {
    return await act(app)
  } finally {
    await app.close()
    rmSync(home, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** Makes the window so large that twelve charts stand in it, and shows them. */
async function showTwelveCharts(app: OpenedApp): Promise<number> {
  await app.application.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.setContentSize(1560, 1180))
  await app.page.getByRole('region', { name: 'Reward', exact: true }).scrollIntoViewIfNeeded()
  await app.page.evaluate(() => document.querySelector('main canvas')?.closest('section')?.scrollIntoView({ block: 'start' }))
  return chartsInView(app.page)
}

/** Resumes a long run in the app, so that its events arrive, and watches frames. */
async function framesOfRun(steps: number): Promise<{ charts: number; frames: (FrameReport & { turns: Turns })[] }> {
  return withApp((home) => makeLongRun(join(home, 'runs'), 'long', { steps, totalSteps: 2 * steps, rollouts: false }), { SATCHEL_FAKE_STEP_MILLISECONDS: String(stepMilliseconds) }, async (app) => {
    await app.page.locator('aside').getByRole('button', { name: /long/ }).click()
    await goTo(app.page, 'Monitor')
    await button(app.page, 'Resume').click()
    await untilState(app.page, 'Training', 240_000)
    const charts = await showTwelveCharts(app)
    await app.page.waitForTimeout(2000)
    const { page } = await processIds(app.application)
    const frames = await repeated(async () => {
      const { value, turns } = await turnsDuring(page, () => watchFrames(app.page, quick ? 1 : watchedSeconds))
      return { ...value, turns }
    })
    await button(app.page, 'Stop now').click()
    return { charts, frames }
  })
}

afterAll(() => {
  if (missing !== '') return
  const machine = `${cpus()[0]?.model.trim() ?? 'unknown'}, ${cpus().length} threads, ${Math.round(totalmem() / 2 ** 30)} GiB, ${process.platform}-${process.arch}, load ${loadBefore?.toFixed(1)} at the start, ${loadavg()[0]?.toFixed(1)} at the end\n${versions}`
  process.stdout.write(`\n${machine}\nMedian of ${rounds} (least to most), graphics in software\n\n${rowsTable(rows)}\n\n`)
})

describe.skipIf(missing !== '')(`the app${missing === '' ? '' : ` (skipped: ${missing})`}`, () => {
  it('starts', async () => {
    const { NODE_OPTIONS: _dropped, ...environment } = process.env as Record<string, string>
    const starts = await repeated(() => startOnce(inject('electron'), { ...environment, DISPLAY: inject('display'), SATCHEL_NODE: process.execPath, SATCHEL_ENGINE: fakeEngine }))
    report('from start to first content in the window', starts.map(({ painted }) => painted), 'ms', 'under 1500 ms', (value) => value < 1500)
    reportTurns('start', 'main', starts.map(({ main }) => main))
    reportTurns('start', 'page', starts.map(({ page }) => page))
    expect(starts.every(({ painted }) => painted > 0)).toBe(true)
  }, 900_000)

  it('rests', async () => {
    const { main, page } = await withApp(() => undefined, {}, async (app) => {
      // The devices are tried once, in a process of their own.
      await app.page.waitForTimeout(quick ? 2000 : 20_000)
      const ids = await processIds(app.application)
      versions = await app.application.evaluate(({ app: itself }) => `Satchel ${itself.getVersion()}, Electron ${process.versions.electron}, Chromium ${process.versions['chrome']}, Node ${process.versions.node}`)
      return { main: memoryOf(ids.main), page: memoryOf(ids.page) }
    })
    report('idle, main and renderer: memory, shared pages by share', [main.share + page.share], 'MiB', 'under 350 MiB', (value) => value < 350)
    report('idle, main: memory, shared pages by share', [main.share], 'MiB')
    report('idle, renderer: memory, shared pages by share', [page.share], 'MiB')
    report('idle, main and renderer: resident, shared pages twice', [main.resident + page.resident], 'MiB')
    expect(main.share).toBeGreaterThan(0)
  }, 300_000)

  it('draws twelve charts of 10,000 points while 50 events a second arrive', async () => {
    const { charts, frames } = await framesOfRun(quick ? 1000 : 10_000)
    report(`${charts} charts of 10,000 points: events that arrived`, frames.map(({ eventsASecond }) => eventsASecond), '/s')
    report(`${charts} charts of 10,000 points: frames`, frames.map(({ framesASecond }) => framesASecond), '/s', 'above 50 a second', (value) => value > 50)
    report(`${charts} charts of 10,000 points: 95 % of frames come within`, frames.map(({ slow }) => slow), 'ms')
    report(`${charts} charts of 10,000 points: longest frame`, frames.map(({ longest }) => longest), 'ms')
    reportTurns(`${charts} charts of 10,000 points, ${watchedSeconds} s`, 'page', frames.map(({ turns }) => turns))
    expect(frames.every(({ eventsASecond }) => eventsASecond > 0)).toBe(true)
  }, 600_000)

  it('opens 10,000 steps and 640,000 rollouts', async () => {
    const steps = quick ? 500 : 10_000
    const opened = await repeated(() => withApp((home) => {
      makeLongRun(join(home, 'runs'), 'long', { steps, rollouts: true })
      makeLongRun(join(home, 'runs'), 'short', { steps: 5, rollouts: true })
    }, {}, async (app) => {
      await app.page.locator('aside').getByRole('button', { name: /short/ }).click()
      await goTo(app.page, 'Monitor')
      const { main, page } = await processIds(app.application)
      const open = (): Promise<number> => millisecondsToChart(app.page, 'long', `at step ${steps}.`)
      const { value: { value: milliseconds, turns: mainTurns }, turns: pageTurns } = await turnsDuring(page, () => turnsDuring(main, open))
      return { milliseconds, mainTurns, pageTurns }
    }))
    report(`a run of ${steps} steps and ${steps * rolloutsOfAStep} rollouts: click to curves`, opened.map(({ milliseconds }) => milliseconds), 'ms', 'under 1000 ms', (value) => value < 1000)
    reportTurns('click to curves', 'main', opened.map(({ mainTurns }) => mainTurns))
    reportTurns('click to curves', 'page', opened.map(({ pageTurns }) => pageTurns))
    expect(opened).toHaveLength(rounds)
  }, 900_000)

  it('stays smooth over 100,000 steps', async () => {
    const steps = quick ? 5000 : 100_000
    const { charts, frames } = await framesOfRun(steps)
    report(`${charts} charts of ${steps} steps: frames while events arrive`, frames.map(({ framesASecond }) => framesASecond), '/s', 'above 50 a second', (value) => value > 50)
    report(`${charts} charts of ${steps} steps: longest frame`, frames.map(({ longest }) => longest), 'ms')
    expect(frames.every(({ eventsASecond }) => eventsASecond > 0)).toBe(true)
  }, 900_000)
})
