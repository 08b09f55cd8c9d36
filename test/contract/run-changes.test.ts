// Changes of a run in progress: which fields there are, what they make of a configuration, what is refused.
import { describe, expect, it } from 'vitest'
import { changesOf, configAtStep, liveSettings } from '../../src-main/contract/run-changes.ts'
import type { RunChange } from '../../src-main/contract/run-changes.ts'
import { runConfigSchema } from '../../src-main/contract/run-config.ts'

const config = runConfigSchema.parse({ model: 'm', data: { prompts: 'p' }, training: { steps: 10 } })
const row = (step: number, to: number): RunChange => ({ step, field: 'optimizer.learningRate', from: 0.001, to, time: '2026-11-30T00:00:00.000Z' })

describe('fields that may change', () => {
  it('are rates and the weights of the recipe at hand', () => {
    const maths = runConfigSchema.parse({ ...config, reward: { recipe: 'maths' } })
    expect(liveSettings(maths)).toContainEqual({ field: 'reward.globalWeight', value: 3 })
    expect(liveSettings(maths).map(({ field }) => field)).toEqual(expect.arrayContaining(['optimizer.learningRate', 'reward.answer.globalWeight', 'reward.steps.localBound']))
    expect(liveSettings(config).map(({ field }) => field)).not.toContain('reward.steps.localBound')
    expect(liveSettings(config).every(({ field }) => /^optimizer\.|Weight$|Bound$/.test(field))).toBe(true)
  })

  it('leave out what is switched off, and judges where nobody judges', () => {
    const names = (reward: object): string[] => liveSettings(runConfigSchema.parse({ ...config, reward })).map(({ field }) => field)
    expect(names({}).filter((field) => field.includes('Judge'))).toEqual([])
    expect(names({ judge: { kind: 'server' } })).toContain('reward.codeJudge.globalWeight')
    expect(names({ linter: { enabled: false } })).not.toContain('reward.linter.globalWeight')
  })

  it('are none where a configuration says nothing', () => {
    expect(liveSettings({})).toEqual([])
  })
})

describe('the configuration of a step', () => {
  it('has every change up to it; the one made last wins', () => {
    const changes = [row(4, 0.1), row(2, 0.2)]
    const rates = [1, 2, 3, 4].map((step) => configAtStep(config, changes, step).optimizer.learningRate)
    expect(rates).toEqual([0.001, 0.2, 0.2, 0.2])
    expect(config.optimizer.learningRate).toBe(0.001)
  })
})

describe('a request', () => {
  const asked = (field: string, value: number, step = 3): RunChange[] => changesOf(config, [{ field, value }], step, 'now')
  it('becomes marks with step, old and new value and time', () => {
    expect(asked('reward.linter.globalWeight', 0.5)).toEqual([{ step: 3, field: 'reward.linter.globalWeight', from: 1, to: 0.5, time: 'now' }])
  })

  it('for what is so already changes nothing', () => {
    expect(asked('optimizer.learningRate', 0.001)).toEqual([])
  })

  it.each([
    ['a field that is fixed', 'rollout.temperature', 2, 3, /rollout\.temperature: this field cannot be changed while a run is in progress/],
    ['a field nobody knows', 'reward.steps.globalWeight', 2, 3, /Expected a rate or a weight this run has: .*reward\.linter\.globalWeight/],
    ['a value out of range', 'optimizer.learningRate', -1, 3, /optimizer\.learningRate: .*The run goes on as it was/],
    ['a weight far too large', 'reward.globalWeight', 1_000, 3, /reward\.globalWeight: /],
    ['a change after the last step', 'optimizer.learningRate', 0.5, 11, /Expected a change before the last step, 10/],
  ])('is refused for %s', (_what, field, value, step, message) => {
    expect(() => asked(field, value, step)).toThrow(message)
  })
})
