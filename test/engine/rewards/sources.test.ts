import { describe, expect, test } from 'vitest'
import { rewardConfig, rewardConfigSchema } from '../../../src-main/contract/reward-config.ts'
import type { TokenOffsets } from '../../../src-main/contract/rewards.ts'
import { combineGlobal, reweigh, tokenRewards } from '../../../src-main/engine/rewards/bus.ts'
import { failedCompletion } from '../../../src-main/engine/rewards/failed-completion.ts'
import { sourceNames, sourceWeights } from '../../../src-main/engine/rewards/sources.ts'
import { phi } from '../../../src-main/engine/rewards/token-map.ts'

const source = (name: string, global: number) => ({ source: name, global, spans: [], milliseconds: 0 })

describe('recipes', () => {
  test('a configuration without a recipe is React, also under its first name', () => {
    expect(rewardConfigSchema.parse({}).recipe).toBe('react')
    expect(rewardConfigSchema.parse({ kind: 'react', requirementWeight: 2 })).toMatchObject({ recipe: 'react', requirementWeight: 2 })
  })
  test.each([
    [{ recipe: 'poetry' }, 'recipe', /react, maths, code or custom/],
    [{ recipe: 'custom' }, 'file', /string/],
    [{ recipe: 'maths', requirementWeight: 1 }, '', /requirementWeight/],
    [{ recipe: 'custom', file: 'a.js', minimum: 1, maximum: 1 }, 'maximum', /above minimum/],
    [{ linter: { schedule: { from: 0, to: 1, startStep: 5, endStep: 5 } } }, 'linter.schedule.endStep', /after startStep/],
  ])('%j is refused at its field', (input, field, message) => {
    const issue = rewardConfigSchema.safeParse(input).error?.issues[0]
    expect(issue?.path.join('.')).toBe(field)
    expect(issue?.message).toMatch(message)
  })
  test.each([['react', 3], ['maths', 3], ['code', 2], ['custom', 1]] as const)('%s names its sources, and a completion nobody could judge has a verdict of each', (recipe, count) => {
    const config = rewardConfigSchema.parse({ recipe, ...(recipe === 'custom' ? { file: 'a.js' } : {}) })
    expect(sourceNames(config)).toHaveLength(count)
    const scored = failedCompletion('no answer', config)
    expect(scored.sources.map((one) => one.source)).toEqual(sourceNames(config))
    expect(scored.sources.filter(({ failure }) => failure === 'no answer')).toHaveLength(1)
    expect(Number.isFinite(scored.global)).toBe(true)
    expect(scored.audit.passed).toBe(false)
  })
})

describe('switches and schedules', () => {
  const config = rewardConfig({ linter: { globalWeight: 2, localWeight: 4, schedule: { from: 0, to: 1, startStep: 10, endStep: 20 } }, requirements: { enabled: false } })
  test('a source that is off has no weight', () => {
    expect(sourceWeights(config, 'requirements')).toMatchObject({ globalWeight: 0, localWeight: 0 })
    expect(combineGlobal([source('requirements', 1), source('compiler', -1)], config)).toBe(-1)
  })
  test.each([[1, 0], [10, 0], [15, 0.5], [20, 1], [99, 1], [undefined, 1]])('at step %s the factor is %s', (step, factor) => {
    expect(sourceWeights(config, 'lint', step)).toMatchObject({ globalWeight: 2 * factor, localWeight: 4 * factor })
  })
  test('a verdict is weighed again at its step, and left alone where nothing moves', () => {
    const scored = { ...failedCompletion('x', config), sources: [source('compiler', -1), source('lint', -0.5), source('requirements', 0)] }
    expect(reweigh(scored, config, 15).global).toBe(-1.5)
    expect(reweigh(scored, rewardConfig(), 15)).toBe(scored)
  })
})

describe('the gated ladder', () => {
  const gated = rewardConfig({ gatedLadder: true, requirementWeight: 3 })
  const global = (compiler: number, lint: number, requirements = 0): number => combineGlobal([source('compiler', compiler), source('lint', lint), source('requirements', requirements)], gated)
  test('a later stage always beats an earlier one, whatever style adds', () => {
    // Rungs -1.3, -1, -0.9, -0.85, -0.8, 0: each with the best and the worst the other sources can do.
    const rungs = [-1.3, -1, -0.9, -0.85, -0.8, 0]
    for (const [index, rung] of rungs.slice(1).entries()) expect(global(rung, -9)).toBeGreaterThan(global(rungs[index]!, 0, 1))
  })
  test('inside a rung style still counts, and the top rung is open upwards', () => {
    expect(global(-0.9, -0.01)).toBeGreaterThan(global(-0.9, -0.02))
    expect(global(0, 0, 1)).toBe(3)
  })
})

describe('token signals', () => {
  const text = 'aa bb cc'
  const offsets: TokenOffsets = { text, starts: Int32Array.from([0, 3, 6, 8]), ends: Int32Array.from([3, 6, 8, 8]) }
  test('the steps of a solution count for the tokens they cover, divided by their number', () => {
    // Two steps: e = +1 on [0, 3), e = -1 on [3, 8); r = 3 * 1 + 0.5 * e / 2.
    const spans = [{ start: 0, end: 3, value: 1 }, { start: 3, end: 8, value: -1 }].map((span) => ({ ...span, source: 'steps', message: '' }))
    expect([...tokenRewards({ global: 1, spans }, offsets, rewardConfig({ recipe: 'maths' })).rewards]).toEqual([3.25, 2.75, 2.75, 3])
  })
  test('kernels fade as they say', () => {
    expect([0, 1, 2, 3].map((d) => phi(d, 2))).toEqual([1, 1 - 1 / 3, 1 - 2 / 3, 0])
    expect([0, 2, 3].map((d) => phi(d, 2, 'box'))).toEqual([1, 1, 0])
    // exp(-2 (d/w)^2): one standard deviation is half the window.
    expect(phi(1, 2, 'gaussian')).toBeCloseTo(Math.exp(-0.5), 12)
    expect(phi(0, 0, 'gaussian')).toBe(1)
  })
})
