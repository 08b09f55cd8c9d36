import { describe, expect, it } from 'vitest'
import { stageResults } from '../../../src-renderer/features/rollouts/stage-results.ts'

describe('stageResults', () => {
  it('tells a stage that failed from one that was not reached', () => {
    const results = stageResults({ parse: true, types: false, bundle: false, render: false })
    expect(results.map(({ result }) => result)).toEqual(['passed', 'failed', 'not-reached', 'not-reached'])
  })
})
