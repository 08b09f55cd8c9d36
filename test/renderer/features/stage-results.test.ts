import { describe, expect, it } from 'vitest'
import { stageResults } from '../../../src-renderer/features/rollouts/stage-results.ts'

describe('stageResults', () => {
  it('tells a stage that failed from one that was not reached', () => {
    const results = stageResults({ parse: true, types: false, bundle: false, render: false })
    expect(results.map(({ result }) => result)).toEqual(['passed', 'failed', 'not-reached', 'not-reached'])
  })

  it('calls the stages as their recipe does, those of one name once', () => {
    const stages = { parse: true, types: true, bundle: true, render: false }
    expect(stageResults(stages).map(({ label }) => label)).toEqual(['parse', 'types', 'bundle', 'render'])
    expect(stageResults(stages, 'maths').at(-1)).toEqual({ stage: 'render', label: 'it is right', result: 'failed' })
    expect(stageResults(stages, 'custom').map(({ label, result }) => [label, result])).toEqual([['was judged', 'passed'], ['passes', 'failed']])
  })
})
