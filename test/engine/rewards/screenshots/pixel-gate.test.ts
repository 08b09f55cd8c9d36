import { describe, expect, test } from 'vitest'
import type { PageFacts } from '../../../../src-main/contract/render-service.ts'
import type { ScreenshotResult } from '../../../../src-main/contract/rendered-document.ts'
import { rewardConfig } from '../../../../src-main/contract/reward-config.ts'
import type { ScoredCompletion } from '../../../../src-main/contract/rewards.ts'
import { assemble } from '../../../../src-main/engine/rewards/bus.ts'
import { afterPixels, createPixelGate } from '../../../../src-main/engine/rewards/screenshots/pixel-gate.ts'

const config = rewardConfig({ screenshots: { mode: 'reward' } })

function verdict(render: boolean): ScoredCompletion {
  const none = { spans: [], milliseconds: 0 }
  const sources = [{ source: 'compiler', global: render ? 0 : -1, ...none }, { source: 'lint', global: -0.1, ...none }, { source: 'requirements', global: render ? 1 : 0, ...none }]
  return assemble({ sources, stages: { parse: true, types: true, bundle: render, render }, requirementScore: render ? 1 : 0, audit: { passed: render, failures: [] } }, config)
}

const facts = (uniform: boolean): PageFacts => ({ consoleErrors: [], pageErrors: [], text: 'x', elements: 3, distinctPixels: uniform ? 0 : 500, uniform, milliseconds: 1 })
const shown = (uniform: boolean): ScreenshotResult => ({ screenshot: { png: new Uint8Array(), facts: facts(uniform) } })

describe('the pixel test', () => {
  test('leaves a page on which something can be seen as it was', () => {
    expect(afterPixels(verdict(true), shown(false), config)).toEqual({ ...verdict(true), pixels: 'seen' })
  })

  test('makes a page on which nothing can be seen one that did not render', () => {
    const after = afterPixels(verdict(true), shown(true), config)
    expect(after).toMatchObject({ stages: { bundle: true, render: false }, requirementScore: 0, pixels: 'blank', audit: { passed: false, failures: ['nothing visible'] } })
    // The rung of a render failure (-0.8), the lint score (-0.1), and nothing for requirements.
    expect(after.global).toBeCloseTo(-0.9, 12)
    expect(after.outcome).toBeLessThan(verdict(true).outcome)
    expect(after.sources[0]).toMatchObject({ global: config.ladder.render, failure: expect.stringMatching(/nothing can be seen/) as string })
  })

  test('blames a page that no browser can show, and not one whose browser failed', () => {
    expect(afterPixels(verdict(true), { failure: 'the page took more than 400 MiB of memory', blame: 'page' }, config)).toMatchObject({ stages: { render: false }, pixels: 'blank' })
    expect(afterPixels(verdict(true), { failure: 'the render service ended', blame: 'service' }, config)).toEqual({ ...verdict(true), pixels: 'unchecked' })
  })

  test('shows only pages that rendered in the DOM, and ends what it was given with the pool', async () => {
    const asked: string[] = []
    const ended: string[] = []
    const pool = { score: async () => [verdict(false), verdict(true)], warmUp: async () => undefined, dispose: () => ended.push('pool') }
    const gate = createPixelGate(pool, config, async (text) => (asked.push(text), shown(true)), () => ended.push('browser'))
    const row = { id: 'r', prompt: '' }
    const scored = await gate.score([{ id: 'a', row, text: 'broken' }, { id: 'b', row, text: 'white on white' }])
    expect(asked).toEqual(['white on white'])
    expect(scored.map(({ pixels }) => pixels)).toEqual([undefined, 'blank'])
    gate.dispose()
    expect(ended).toEqual(['pool', 'browser'])
  })
})
