import { describe, expect, it } from 'vitest'
import { estimatorConfigSchema } from '../../../src-main/contract/estimator-config.ts'
import { lineEnds, overlongPenalty, placeRewards } from '../../../src-main/engine/policy/reward-placement.ts'

// Score 2, two lines of three and two tokens, a penalty of 1 on the last token of the first line and of .5 on both of the second.
const parts = { tokenRewards: Float64Array.of(2, 2, 1, 1.5, 1.5), score: 2, lineEnds: Uint8Array.of(0, 0, 1, 0, 0) }
const placed = (estimator: Parameters<typeof estimatorConfigSchema.parse>[0], more: { divergence?: Float64Array } = {}) => placeRewards(estimatorConfigSchema.parse(estimator), { ...parts, ...more })

describe('placeRewards', () => {
  it('gives BoT-GRPO every token\'s own reward, and GRPO the score', () => {
    expect([...placed({ name: 'bot-grpo' }).rewards]).toEqual([2, 2, 1, 1.5, 1.5])
    expect(placed({ name: 'grpo' }).score).toBe(2)
  })

  it('gives process rewards the mean of a line at its end', () => {
    for (const name of ['grpo-process', 'pure']) {
      const { rewards, stepEnds } = placed({ name })
      expect([...rewards]).toEqual([0, 0, 5 / 3, 0, 1.5])
      expect(stepEnds).toBe(parts.lineEnds)
    }
    expect(placed({ name: 'pure', step: 'token' })).toMatchObject({ rewards: parts.tokenRewards })
    expect(placed({ name: 'pure', step: 'token' }).stepEnds).toBeUndefined()
  })

  it('gives a return each penalty once and the score at the end', () => {
    expect([...placed({ name: 'reinforce++' }).rewards]).toEqual([0, 0, -1 / 3, 0, -0.5 + 2])
    expect([...placed({ name: 'reinforce++', step: 'token' }).rewards]).toEqual([0, 0, -1, -0.5, -0.5 + 2])
  })

  it('takes the divergence off the score, or off each token of a return', () => {
    const divergence = Float64Array.of(0.1, 0, 0, 0.25, 0)
    expect(placed({ name: 'rloo' }, { divergence }).score).toBeCloseTo(1.65, 14)
    const { rewards } = placed({ name: 'reinforce++', step: 'token' }, { divergence })
    ;[-0.1, 0, -1, -0.75, 1.5].forEach((value, t) => expect(rewards[t]).toBeCloseTo(value, 14))
  })

  it('leaves the rewards it was given alone, and takes a completion without tokens', () => {
    placed({ name: 'reinforce++', step: 'token' })
    expect([...parts.tokenRewards]).toEqual([2, 2, 1, 1.5, 1.5])
    const nothing = { tokenRewards: new Float64Array(), score: 1, lineEnds: new Uint8Array() }
    expect(placeRewards(estimatorConfigSchema.parse({ name: 'reinforce++' }), nothing).rewards).toHaveLength(0)
  })
})

describe('lineEnds', () => {
  it('are the tokens whose text holds a line end', () => {
    const text = 'a\nbc \n\nd'
    expect([...lineEnds({ text, starts: Int32Array.of(0, 2, 4, 7, 8), ends: Int32Array.of(2, 4, 7, 8, 8) })]).toEqual([1, 0, 1, 0, 0])
  })
})

describe('overlongPenalty', () => {
  it('falls linearly over the last part of the limit', () => {
    // DAPO: limit 16,384 + 4,096; 18,432 tokens cost a half.
    expect(overlongPenalty(18432, 20480, 0.2)).toBeCloseTo(-0.5, 12)
    expect(overlongPenalty(16384, 20480, 0.2)).toBeCloseTo(0, 12)
    expect(overlongPenalty(100, 20480, 0.2)).toBeCloseTo(0, 12)
    expect(overlongPenalty(20480, 20480, 0.2)).toBe(-1)
    expect(overlongPenalty(20480, 20480, 0)).toBe(0)
  })
})
