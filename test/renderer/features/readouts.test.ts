import { describe, expect, it } from 'vitest'
import { readouts } from '../../../src-renderer/features/run/readouts.ts'
import { viewOf } from '../../../src-renderer/state/run-view.ts'
import { curvesOf, evaluationOf, snapshotOf } from '../samples.ts'

describe('readouts', () => {
  it('shows dashes, not zeros, before anything is known', () => {
    expect(readouts(viewOf(snapshotOf('starting'))).map(({ value }) => value)).toEqual(['–', '–', '–', '–', '–', '–'])
  })

  it('shows the newest held-out result beside the one before training', () => {
    const [compile] = readouts(viewOf(snapshotOf('running', { evaluations: [evaluationOf(0, 0.1), evaluationOf(20, 0.6)] })))
    expect(compile).toMatchObject({ value: '60\u202f%', note: 'step 20, was 10\u202f% before' })
  })

  it('shows the newest step, and leaves out what it does not know', () => {
    const metrics = [{ step: 1, values: { reward: 3 } }, { step: 2, values: { reward: -0.5, 'completions/mean_length': 91.5, entropy: null } }]
    const cells = readouts(viewOf(snapshotOf('running', curvesOf(metrics))))
    expect(cells.find(({ label }) => label === 'Mean reward')).toMatchObject({ value: '−0.50', note: '' })
    expect(cells.find(({ label }) => label === 'Mean length')).toMatchObject({ value: '91.5', unit: 'tokens' })
    expect(cells.find(({ label }) => label === 'Entropy')?.value).toBe('–')
  })
})
