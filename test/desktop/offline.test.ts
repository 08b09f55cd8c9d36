// With the network denied the whole app works: every page, in both themes, while everything that could leave is watched: the page's requests, the processes' sockets, and Chromium's own log of its network.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { dropFile, fakeEngine, goTo, openApp, processTree, startDemo, untilState } from './app-driver.ts'
import type { OpenedApp } from './app-driver.ts'
import { violationsInBothThemes } from './axe.ts'
import { outsideConnections, requestsInLog } from './network.ts'

const missing = inject('missing')
let home: string
let app: OpenedApp
/** Every address the page asked for, whether or not it got anything. */
const asked: string[] = []

beforeAll(async () => {
  if (missing !== '') return
  home = mkdtempSync(join(tmpdir(), 'satchel-offline-'))
  writeFileSync(join(home, 'sums.csv'), ['question,answer', ...Array.from({ length: 400 }, (_, at) => `What is ${at} plus ${at}?,${2 * at}`)].join('\n'))
  app = await openApp({
    home, on: 'Home', switches: [`--log-net-log=${join(home, 'network.json')}`],
    environment: { SATCHEL_ENGINE: fakeEngine, SATCHEL_FAKE_STEP_MILLISECONDS: '20', HOME: home },
  })
  app.page.on('request', (request) => asked.push(request.url()))
  await app.page.emulateMedia({ reducedMotion: 'reduce' })
})
afterAll(async () => {
  if (missing !== '') return
  await app.close()
  rmSync(home, { recursive: true, force: true, maxRetries: 5 })
})

function isOwnFile(address: string): boolean {
  return address.startsWith('app://satchel/') || address.startsWith('data:')
}

describe.skipIf(missing !== '')(`without a network${missing === '' ? '' : ` (skipped: ${missing})`}`, () => {
  it('there is something to show: two runs and a dataset', async () => {
    for (let run = 0; run < 2; run += 1) {
      await startDemo(app.page, 8)
      await untilState(app.page, 'Done')
    }
    await dropFile(app.page, join(home, 'sums.csv'))
    await app.page.getByRole('grid', { name: 'Rows' }).waitFor()
  })

  it('every page works in both themes: nothing leaves, nothing breaks a rule of accessibility, nothing is complained of', async () => {
    const { page } = app
    await page.reload()
    const titles = await page.getByRole('navigation', { name: 'Pages' }).getByRole('button').allInnerTexts()
    expect(titles.length).toBeGreaterThanOrEqual(10)
    const outside = new Set<string>()
    for (const title of titles) {
      await goTo(page, title)
      expect(await violationsInBothThemes(page), title).toEqual([])
      expect(await page.getByRole('alert').allInnerTexts(), title).toEqual([])
      for (const id of processTree(app.application.process().pid as number)) for (const remote of outsideConnections(id)) outside.add(`${title}: ${remote}`)
    }
    expect([...outside]).toEqual([])
    expect(asked.some((address) => address.endsWith('.js'))).toBe(true)
    expect(asked.filter((address) => !isOwnFile(address))).toEqual([])
    expect(app.consoleErrors).toEqual([])
  })

  it('no part of Chromium asked for anything, and what would have been asked would be known', async () => {
    await app.application.evaluate(async ({ session }) => {
      await session.fromPartition('without-policies').fetch('http://satchel.example/through').catch(() => undefined)
    })
    await app.application.close()
    expect(requestsInLog(join(home, 'network.json'))).toEqual(['http://satchel.example/through'])
  })
})
