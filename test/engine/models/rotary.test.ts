// Rotary tables against values worked out by hand from the published configurations.
import { describe, expect, test } from 'vitest'
import type { DecoderConfig } from '../../../src-main/engine/models/config.ts'
import { parseDecoderConfig } from '../../../src-main/engine/models/config.ts'
import { rotaryRegime, rotaryTables, usesRotary, withRotaryRegime } from '../../../src-main/engine/models/rotary.ts'
import { userError } from './fixtures.ts'
import { PHI_4_MINI, SMOLLM3_3B } from './published-configs.ts'

const phi = (change: Record<string, unknown> = {}): DecoderConfig => parseDecoderConfig({ ...PHI_4_MINI, ...change }, null)

describe('LongRoPE', () => {
  test('the short factors hold up to the original length, the long ones beyond it', () => {
    expect(rotaryRegime(phi(), 4096)).toBe('short')
    expect(rotaryRegime(phi(), 4097)).toBe('long')
    expect(rotaryRegime(parseDecoderConfig(SMOLLM3_3B, null), 60_000)).toBe('short')
  })

  test('a regime fixed by a run holds for any length it can hold for, and is refused beyond', async () => {
    expect([1, 4096, 60_000].map((positions) => rotaryRegime(withRotaryRegime(phi(), 'long'), positions))).toEqual(['long', 'long', 'long'])
    expect(rotaryRegime(withRotaryRegime(phi(), 'short'), 4096)).toBe('short')
    expect(await userError(() => rotaryRegime(withRotaryRegime(phi(), 'short'), 4097))).toMatchObject({ code: 'bad-input', expected: 'at most 4096 tokens of prompt and completion' })
    expect(rotaryTables(withRotaryRegime(phi(), 'long'), 8).cos).toEqual(rotaryTables(phi(), 4097).cos.slice(0, 8 * 48))
    const without = parseDecoderConfig(SMOLLM3_3B, null)
    expect(withRotaryRegime(without, 'long')).toBe(without)
  })

  test('cos and sin are those of the formula, multiplied in both regimes', () => {
    // python: a = math.sqrt(1 + math.log(32) / math.log(4096)); f = 1 / (factor * 10000 ** (2 * 5 / 96)); a * math.cos(3 * f), a * math.sin(3 * f)
    const expected = { short: [1, 4096], long: [5, 4097] } as const
    for (const [factor, positions] of Object.values(expected)) {
      const { cos, sin } = rotaryTables(phi(), positions)
      const amplitude = 1.1902380714
      const frequency = 1 / (factor * 10_000 ** (10 / 96))
      expect(cos.length).toBe(positions * 48)
      expect(cos[3 * 48 + 5]).toBeCloseTo(amplitude * Math.cos(3 * frequency), 6)
      expect(sin[3 * 48 + 5]).toBeCloseTo(amplitude * Math.sin(3 * frequency), 6)
      expect([cos[0], sin[0]]).toEqual([Math.fround(phi().ropeScaling!.attentionFactor), 0])
    }
  })

  test('without it cos and sin have amplitude 1 and span the whole head', () => {
    const { cos, sin } = rotaryTables(parseDecoderConfig(SMOLLM3_3B, null), 2)
    expect([cos.length, cos[0], sin[0]]).toEqual([2 * 64, 1, 0])
    // theta 5e6, pair 1 of 64: 5e6 ** (-2 / 128) = 0.78583
    expect(sin[64 + 1]).toBeCloseTo(Math.sin(0.78583), 5)
  })
})

test('SmolLM3 rotates in three layers of four', () => {
  const config = parseDecoderConfig(SMOLLM3_3B, null)
  expect([0, 1, 2, 3, 4, 34, 35].map((layer) => usesRotary(config, layer))).toEqual([true, true, true, false, true, true, false])
})
