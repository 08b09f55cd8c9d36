import { describe, expect, it } from 'vitest'
import { healthHints } from '../../../src-renderer/features/run/health.ts'
import type { HealthHint } from '../../../src-renderer/features/run/health.ts'
import { seriesOf } from '../../../src-renderer/state/run-series.ts'
import { curvesOf } from '../samples.ts'

/** Hints for a run whose metric has these values, one a step. */
function hintsFor(name: string, values: readonly number[], limit?: number): HealthHint[] {
  return healthHints(seriesOf(curvesOf(values.map((value, index) => ({ step: index + 1, values: { [name]: value } }))).series), limit)
}
const levelOf = (name: string, id: string, ...values: number[]): string | undefined => hintsFor(name, values).find((hint) => hint.id === id)?.level

describe('health hints', () => {
  it('say nothing of what is not known', () => {
    expect(hintsFor('anything', [1])).toEqual([])
  })

  it('have the thresholds of the specification', () => {
    expect([0.5, 0.79, 0.81].map((value) => levelOf('frac_reward_zero_std', 'flat', value))).toEqual(['good', 'good', 'alarm'])
    expect([0.0001, 0.5, 2, 11].map((value) => levelOf('grad_norm', 'gradient', value))).toEqual(['watch', 'good', 'watch', 'alarm'])
    expect([0.005, 0.03, 0.2, 0.9].map((value) => levelOf('entropy', 'entropy', value))).toEqual(['alarm', 'watch', 'good', 'watch'])
    expect([0.4, 0.6, 2.1].map((value) => levelOf('kl', 'kl', value))).toEqual(['good', 'watch', 'alarm'])
    expect([0.05, 0.2, 0.31].map((value) => levelOf('clip_ratio/region_mean', 'clip', value))).toEqual(['good', 'watch', 'alarm'])
    expect([0.2, 0.5, 0.9].map((value) => levelOf('completions/clipped_ratio', 'truncated', value))).toEqual(['good', 'watch', 'alarm'])
  })

  it('look at the newest ten steps, not at one alone', () => {
    expect(levelOf('grad_norm', 'gradient', ...Array<number>(20).fill(0.5), 50)).toBe('watch')
  })

  it('expect the reward to have risen after twenty steps, and not before', () => {
    const flat = Array<number>(19).fill(-1)
    expect(levelOf('reward', 'reward', ...flat)).toBeUndefined()
    expect(levelOf('reward', 'reward', ...flat, -1)).toBe('watch')
    expect(levelOf('reward', 'reward', ...Array.from({ length: 20 }, (_, step) => -1 + step / 20))).toBe('good')
  })

  it('expect some spread inside groups on most steps', () => {
    expect(levelOf('reward_std', 'spread', 0, 0, 0, 1)).toBe('alarm')
    expect(levelOf('reward_std', 'spread', 0, 1, 1, 1)).toBe('good')
  })

  it('alarm when the length rises steadily to its limit', () => {
    const rising = Array.from({ length: 20 }, (_, step) => 10 + 4.5 * step)
    const length = (limit: number): string | undefined => hintsFor('completions/mean_length', rising, limit).find(({ id }) => id === 'length')?.level
    expect([length(100), length(400)]).toEqual(['alarm', 'good'])
  })

  it('tell of completions that pass the reward and fail the audit', () => {
    expect([0, 0.1, 0.3].map((value) => levelOf('audit/hack_rate', 'hacks', value))).toEqual(['good', 'watch', 'alarm'])
  })

  it('tell of skipped steps and of a sampler that is not the trainer, and say nothing where there are none', () => {
    expect(levelOf('skipped', 'skipped', 0, 0)).toBeUndefined()
    expect(hintsFor('skipped', [0, 1, 0])[0]).toMatchObject({ level: 'alarm', value: '1 of the last 3' })
    expect([1e-5, 0.2].map((value) => levelOf('sampler_mismatch/max', 'mismatch', value))).toEqual([undefined, 'alarm'])
  })

  it('name rewardWorkers where steps wait for scores', () => {
    const waiting = (seconds: number): HealthHint | undefined => healthHints(seriesOf(curvesOf([{ step: 1, values: { 'time/step': 10, 'time/score_wait': seconds } }]).series), undefined).find(({ id }) => id === 'waiting')
    expect(waiting(2)).toBeUndefined()
    expect(waiting(4)).toMatchObject({ level: 'watch', value: '40\u202f% of a step', words: expect.stringContaining('rewardWorkers 2') as string })
  })

  it('put the worst first', () => {
    const rows = [{ step: 1, values: { kl: 0.1, entropy: 0.001, grad_norm: 3 } }]
    expect(healthHints(seriesOf(curvesOf(rows).series), undefined).map(({ level }) => level)).toEqual(['alarm', 'watch', 'good'])
  })
})
