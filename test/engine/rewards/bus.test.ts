import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { rewardConfig } from '../../../src-main/contract/reward-config.ts'
import type { RewardSpan, TokenOffsets } from '../../../src-main/contract/rewards.ts'
import { combineGlobal, tokenRewards } from '../../../src-main/engine/rewards/bus.ts'

const text = 'one\ntwo\nthree\nfour\nfive'
const offsets: TokenOffsets = { text, starts: Int32Array.from([0, 4, 8, 14, 19]), ends: Int32Array.from([4, 8, 14, 19, 23]) }
const span = (source: string, start: number, value: number): RewardSpan => ({ start, end: start + 1, value, source, message: '' })
const source = (name: string, global: number) => ({ source: name, global, spans: [], milliseconds: 0 })

describe('combineGlobal', () => {
  test('is the weighted sum of the sources', () => {
    const config = rewardConfig({ compiler: { globalWeight: 2 }, linter: { globalWeight: 0.5 }, requirementWeight: 3 })
    expect(combineGlobal([source('compiler', -1), source('lint', -0.2), source('requirements', 0.5)], config)).toBeCloseTo(-2 - 0.1 + 1.5, 12)
  })
  test('refuses a score that is not a number and names the source', () => {
    expect(() => combineGlobal([source('lint', NaN)], rewardConfig())).toThrow(/reward source lint: the reward is NaN.*finite number/)
  })
  test('refuses a source the configuration does not know', () => {
    expect(() => combineGlobal([source('judge', 1)], rewardConfig())).toThrow(/judge/)
  })
})

describe('tokenRewards', () => {
  // r_t = w_g * G + w_s * S_t with G = -0.9, w_g = 1, w_s = 0.5; line 2 flagged: S = -0.5, -0.75, -1, -0.75, -0.5.
  test('is eq. 4 of the paper', () => {
    const { rewards, local } = tokenRewards({ global: -0.9, spans: [span('compiler', 8, -1)] }, offsets, rewardConfig())
    expect([...local]).toEqual([-0.5, -0.75, -1, -0.75, -0.5])
    expect([...rewards].map((value) => Number(value.toFixed(12)))).toEqual([-1.15, -1.275, -1.4, -1.275, -1.15])
  })

  test('sources are divided by their own flagged lines and then add', () => {
    const { localBySource, local } = tokenRewards({ global: 0, spans: [span('compiler', 0, -1), span('compiler', 19, -1), span('lint', 0, -0.1)] }, offsets, rewardConfig({ windowLines: 0, divideByFlaggedLines: true }))
    expect([...localBySource['compiler']!]).toEqual([-0.5, 0, 0, 0, -0.5])
    expect([...localBySource['lint']!].map((value) => value + 0)).toEqual([-0.1, 0, 0, 0, 0])
    expect(local[0]).toBeCloseTo(-0.6, 12)
  })

  test('a source is bounded by its own bound, the sum by B', () => {
    const config = rewardConfig({ localBound: 1.5, compiler: { localBound: 0.7, localWeight: 2 }, linter: { localBound: 5 }, windowLines: 0 })
    const { localBySource, local } = tokenRewards({ global: 0, spans: [span('compiler', 0, -9), span('lint', 0, -9)] }, offsets, config)
    expect(localBySource['compiler']![0]).toBeCloseTo(-1.4, 12)
    expect(localBySource['lint']![0]).toBe(-5)
    expect(local[0]).toBe(-1.5)
  })

  test('noise turns over a share of the lines: all of them at 1, the same ones for the same text below it', () => {
    const flags = (share: number, whole = offsets): number[] => [...tokenRewards({ global: 0, spans: [span('compiler', 8, -1)] }, whole, rewardConfig({ windowLines: 0, divideByFlaggedLines: false, compilerNoise: share })).local].map((value) => value + 0)
    expect(flags(0)).toEqual([0, 0, -1, 0, 0])
    expect(flags(1)).toEqual([-1, -1, 0, -1, -1])
    expect(flags(0.3)).toEqual(flags(0.3))
    const long = Array.from({ length: 1000 }, (_, line) => `line ${line}\n`)
    const ends = Int32Array.from(long, ((position) => (line: string) => (position += line.length))(0))
    const many = flags(0.3, { text: long.join(''), starts: Int32Array.from(ends, (end, line) => end - long[line]!.length), ends })
    // 300 expected of 1000, standard deviation 14.5.
    expect(Math.abs(many.filter((value) => value !== 0).length - 300)).toBeLessThan(60)
  })

  test('a global score that is not a number is refused', () => {
    expect(() => tokenRewards({ global: Infinity, spans: [] }, offsets, rewardConfig())).toThrow(/Infinity/)
  })

  test('without spans every token gets the same reward', () => {
    expect(new Set(tokenRewards({ global: 0.25, spans: [] }, offsets, rewardConfig()).rewards)).toEqual(new Set([0.25]))
  })

  test('|S_t| never exceeds B, whatever the spans', () => {
    const spans = fc.array(fc.record({ source: fc.constantFrom('compiler', 'lint'), start: fc.nat(30), value: fc.double({ min: -50, max: 50, noNaN: true }) }), { maxLength: 10 })
    fc.assert(
      fc.property(spans, fc.double({ min: 0, max: 3, noNaN: true }), fc.boolean(), (flagged, bound, divide) => {
        const config = rewardConfig({ localBound: bound, divideByFlaggedLines: divide })
        const { local, rewards } = tokenRewards({ global: 1, spans: flagged.map(({ source: name, start, value }) => span(name, start, value)) }, offsets, config)
        for (const [token, value] of local.entries()) {
          expect(Math.abs(value)).toBeLessThanOrEqual(bound)
          expect(rewards[token]).toBe(config.globalWeight * 1 + config.localWeight * value)
        }
      }),
    )
  })
})
