// The client of the render service against one that shows nothing and misbehaves when it is told to.
import { afterEach, describe, expect, test } from 'vitest'
import type { ScreenshotResult } from '../../../../src-main/contract/rendered-document.ts'
import { createRenderService, type RenderService, type RenderServiceOptions } from '../../../../src-main/engine/rewards/screenshots/render-service.ts'

const fake = new URL('../../../support/fake-render-service.mjs', import.meta.url)
let service: RenderService | undefined

function open(options: Partial<RenderServiceOptions> = {}, environment: Record<string, string> = {}): RenderService {
  const host = { command: process.execPath, parameters: [decodeURIComponent(fake.pathname).replace(/^\/(?=[A-Za-z]:)/, '')], environment }
  service = createRenderService({ host, seconds: 2, megabytes: 100, kit: async () => '', ...options })
  return service
}

afterEach(() => {
  service?.dispose()
  service = undefined
})

function textOf(result: ScreenshotResult): string {
  if ('failure' in result) throw new Error(result.failure)
  return result.screenshot.facts.text
}

const processOf = (result: ScreenshotResult): string => textOf(result).replace(/^page \d+ of /, '')

describe('the render service', () => {
  test('shows pages one after another in one process, whoever asks first', async () => {
    const shots = open()
    const pages = await Promise.all(['a', 'b', 'c'].map((script) => shots.render(script)))
    expect(pages.map((page) => ('screenshot' in page ? Buffer.from(page.screenshot.png).toString() : page.failure))).toEqual(['a', 'b', 'c'])
    expect(new Set(pages.map(processOf)).size).toBe(1)
    expect(pages.map((page) => textOf(page).split(' ')[1])).toEqual(['1', '2', '3'])
  })

  test('tells a page that is to blame from a browser that is', async () => {
    const shots = open()
    expect(await shots.render('page-failure')).toEqual({ failure: 'the page took too long', blame: 'page' })
    expect(await shots.render('exit')).toMatchObject({ blame: 'service', failure: expect.stringMatching(/ended \(code 3\)/) as string })
    expect(await shots.render('garbage')).toMatchObject({ blame: 'service', failure: expect.stringMatching(/not understood/) as string })
    expect(textOf(await shots.render('after it'))).toMatch(/^page 1 of/)
  })

  test('kills a process that does not answer, and the next page has another', async () => {
    const shots = open({ seconds: 0.02, graceSeconds: 0.3 })
    const before = processOf(await shots.render('a'))
    expect(await shots.render('hang')).toMatchObject({ blame: 'service', failure: expect.stringMatching(/silent/) as string })
    expect(processOf(await shots.render('b'))).not.toBe(before)
  })

  test('is replaced after so many pages', async () => {
    const shots = open({ pagesPerProcess: 2 })
    const owners = []
    for (const script of ['a', 'b', 'c']) owners.push(processOf(await shots.render(script)))
    expect(owners[0]).toBe(owners[1])
    expect(owners[2]).not.toBe(owners[1])
  })

  test('says why it cannot be started, in the words of the program', async () => {
    await expect(open({}, { FAKE_RENDER: 'refuses' }).render('a')).rejects.toThrow(/Pages cannot be rendered here: .*It said: No usable sandbox!/)
    await expect(open({ startSeconds: 0.3 }, { FAKE_RENDER: 'never-ready' }).render('a')).rejects.toThrow(/silent/)
    const nowhere = createRenderService({ host: { command: 'no-such-program-anywhere', parameters: [], environment: {} }, seconds: 1, megabytes: 1, kit: async () => '' })
    await expect(nowhere.render('a')).rejects.toThrow(/Pages cannot be rendered here/)
  })

  test('shows nothing any more once it was ended', async () => {
    const shots = open()
    shots.dispose()
    await expect(shots.render('a')).rejects.toThrow(/ended/)
  })
})
