import { describe, expect, it } from 'vitest'
import { checkPassed, checkWords, exportFormats } from '../../../src-renderer/features/outputs/export-formats.ts'
import { trialFacts } from '../../../src-renderer/features/outputs/trial-facts.ts'
import { exportFormats as contractFormats } from '../../../src-main/contract/calls/runs.ts'

const comparison = { sequences: 8, tokens: 604, largestDifference: 0.0025, meanDifference: 0.00014, greedy: { prompts: 8, tokens: 16, equal: 7 } }

describe('exports', () => {
  it('offer every format of the contract', () => {
    expect(exportFormats.map(({ format }) => format)).toEqual([...contractFormats])
  })

  it('say what their check found', () => {
    expect(checkWords({ comparison })).toBe('Opened again and compared with the run on 604 tokens of 8 texts: log-probabilities differ by 0.00014 on average, 0.0025 at most. 7 of 8 greedy continuations of 16 tokens are the same.')
    expect(checkPassed({ comparison, expectedMeanDifference: 0.001 })).toBe(true)
    expect(checkPassed({ comparison, expectedMeanDifference: 0.0001 })).toBe(false)
  })
})

describe('the numbers of an answer', () => {
  it('hold its length and the geometric mean of its probabilities', () => {
    expect(trialFacts({ text: '', ids: [1, 2], logprobs: [Math.log(0.25), Math.log(1)], finish: 'length' })).toBe('2 tokens, mean probability 50\u202f%, cut off')
    expect(trialFacts({ text: '', ids: [], logprobs: [], finish: 'stop' })).toBe('0 tokens')
  })
})
