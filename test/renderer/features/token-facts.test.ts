import { describe, expect, it } from 'vitest'
import { describeLine, describeToken, tokenFacts } from '../../../src-renderer/features/rollouts/token-facts.ts'
import { rolloutOf } from '../samples.ts'

describe('tokenFacts', () => {
  const rollout = rolloutOf(['const', ' a'], { ids: [7, 812], logprobs: [0, Math.log(0.25)], entropies: [0, 1.5], tokenRewards: [1, -1.125], advantages: [0.5, -0.75] })

  it('gives every number of a token with its unit', () => {
    expect(Object.fromEntries(tokenFacts(rollout, 1).map(({ label, value }) => [label, value]))).toEqual({
      Token: '2 of 2', Text: '·a', Id: '812', Reward: '−1.125', Advantage: '−0.750 σ', Probability: '25\u202f%', 'Log-probability': '−1.39', Entropy: '1.5 nats',
    })
  })

  it('has the ratio of new to old policy where it was kept', () => {
    expect(tokenFacts({ ...rollout, ratios: [1, 1.25] }, 1).at(-1)).toEqual({ label: 'Ratio', value: '1.25 ×' })
  })

  it('says the same in one sentence', () => {
    expect(describeToken(rollout, 0)).toBe('Token 1 of 2, Text const, Id 7, Reward +1.000, Advantage +0.500 σ, Probability 100\u202f%, Log-probability 0, Entropy 0 nats')
  })
})

describe('describeLine', () => {
  it('names the line and what was flagged on it', () => {
    const flags = [{ value: -1, source: 'types', message: "Cannot find name 'a'.", column: 3 }]
    expect(describeLine({ number: 4, pieces: [], flags })).toBe("Line 4; types −1.00, column 3: Cannot find name 'a'.")
    expect(describeLine({ number: 5, pieces: [], flags: [] })).toBe('Line 5')
  })
})
