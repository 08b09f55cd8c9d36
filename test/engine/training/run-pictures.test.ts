import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { MetricsRow, RolloutRecord } from '../../../src-main/contract/events.ts'
import type { ScreenshotResult } from '../../../src-main/contract/rendered-document.ts'
import { rewardConfig } from '../../../src-main/contract/reward-config.ts'
import { openPictureStore } from '../../../src-main/engine/rewards/screenshots/picture-store.ts'
import { programHash } from '../../../src-main/engine/rewards/screenshots/screenshots.ts'
import { pixelSentence } from '../../../src-main/engine/training/pixel-words.ts'
import { chosenPages, createRunPictures } from '../../../src-main/engine/training/run-pictures.ts'
import { exampleRollout, useTemporaryFolder } from '../../support/run-folder.ts'

const temporary = useTemporaryFolder()
const rollout = (promptId: string, index: number, reward: number, render = true): RolloutRecord => ({ ...exampleRollout(3, index), promptId, reward, text: `${promptId} ${index}`, stages: { parse: true, types: true, bundle: true, render } })
const shown: ScreenshotResult = { screenshot: { png: Buffer.from('png'), facts: { consoleErrors: [], pageErrors: [], text: '', elements: 1, distinctPixels: 99, uniform: false, milliseconds: 1 } } }

test('pages of different prompts come first, the best of each, and only those that render', () => {
  const records = [rollout('a', 0, 0.2), rollout('a', 1, 0.9), rollout('b', 0, 0.5), rollout('c', 0, 1, false), rollout('b', 1, 0.4)]
  expect(chosenPages(records, 3).map(({ promptId, index }) => `${promptId}${index}`)).toEqual(['a1', 'b0', 'b1'])
  expect(chosenPages(records, 0)).toEqual([])
})

describe('pictures of a run', () => {
  const open = async (screenshotOf: (text: string) => Promise<ScreenshotResult>, problems: string[] = []) => {
    const directory = await temporary()
    return { directory, pictures: createRunPictures({ camera: { screenshotOf }, directory, perStep: 2, keep: 10, onProblem: (message) => problems.push(message) }) }
  }

  test('are taken beside the training and kept by program, each once', async () => {
    const asked: string[] = []
    const { directory, pictures } = await open(async (text) => (asked.push(text), shown))
    for (const records of [[rollout('a', 0, 1), rollout('b', 0, 1)], [rollout('a', 0, 1)]]) {
      pictures.offer(records)
      await pictures.settle(5_000)
    }
    expect(asked).toEqual(['a 0', 'b 0'])
    expect(await openPictureStore(join(directory, 'screenshots')).read(programHash('b 0'))).toMatchObject({ facts: { elements: 1 } })
  })

  test('never make a step wait: one that comes too early goes without', async () => {
    const asked: string[] = []
    let finish: (result: ScreenshotResult) => void = () => undefined
    const { pictures } = await open((text) => (asked.push(text), new Promise((resolve) => (finish = resolve))))
    pictures.offer([rollout('a', 0, 1)])
    await expect.poll(() => asked).toEqual(['a 0'])
    pictures.offer([rollout('b', 0, 1)])
    finish(shown)
    await pictures.settle(5_000)
    expect(asked).toEqual(['a 0'])
  })

  test('of held-out samples wait for those of the step in progress, and leave none out', async () => {
    const asked: string[] = []
    let finish: (result: ScreenshotResult) => void = () => undefined
    const { pictures } = await open((text) => (asked.push(text), text === 'a 0' ? new Promise((resolve) => (finish = resolve)) : Promise.resolve(shown)))
    pictures.offer([rollout('a', 0, 1)])
    await expect.poll(() => asked).toEqual(['a 0'])
    pictures.offerSamples(['one', 'two', 'three'])
    finish(shown)
    await pictures.settle(5_000)
    expect(asked).toEqual(['a 0', 'one', 'two', 'three'])
  })

  test('say once that they cannot be had, and stop no run', async () => {
    const problems: string[] = []
    const { pictures } = await open(async () => ({ failure: 'the browser is gone', blame: 'service' }), problems)
    for (let step = 0; step < 2; step++) {
      pictures.offer([rollout('a', step, 1)])
      await expect.poll(() => problems.length).toBe(1)
    }
    expect(problems[0]).toMatch(/the browser is gone/)
  })
})

describe('what a report says of pixels', () => {
  const row = (values: Record<string, number>): MetricsRow => ({ step: 1, values })
  const react = (mode: 'off' | 'audit' | 'reward') => rewardConfig({ screenshots: { mode } })

  test('names what was done, also where it was nothing', () => {
    expect(pixelSentence(rewardConfig({ recipe: 'maths' }), [], 0)).toBeUndefined()
    expect(pixelSentence(react('off'), [], 0)).toMatch(/^Pixels were not checked: .*mode is off/)
    expect(pixelSentence(react('audit'), [], 0)).toMatch(/no pictures of pages could be taken/)
    expect(pixelSentence(react('audit'), [], 12)).toMatch(/12 pictures/)
    expect(pixelSentence(react('reward'), [row({ reward: 1 })], 0)).toMatch(/^Pixels were not checked/)
    expect(pixelSentence(react('reward'), [row({ 'pixels/checked': 5, 'pixels/blank': 2, 'pixels/unchecked': 1 }), row({ 'pixels/checked': 4 })], 3)).toBe('The pixels of 9 pages that rendered were checked; on 2 nothing could be seen. The browser failed at 1 more, which were judged by their document. 3 pictures of pages are in its folder.')
  })
})
