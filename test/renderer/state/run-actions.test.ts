import { describe, expect, it } from 'vitest'
import type { RunState } from '../../../src-main/contract/events.ts'
import { runActions, runShare, statusSentence } from '../../../src-renderer/state/run-actions.ts'
import { initialAppView } from '../../../src-renderer/state/run-controller.ts'
import type { AppView } from '../../../src-renderer/state/run-controller.ts'
import { viewOf } from '../../../src-renderer/state/run-view.ts'
import { evaluationOf, snapshotOf } from '../samples.ts'

function showing(state: RunState, part: Partial<AppView> = {}): AppView {
  const selected = viewOf(snapshotOf(state))
  return { ...initialAppView, load: 'ready', runs: [selected.summary], selected, ...part }
}

describe('runActions', () => {
  it.each<[RunState, ReturnType<typeof runActions>]>([
    ['starting', { start: false, pause: false, resume: false, stop: true, checkpoint: false, change: false }],
    ['running', { start: false, pause: true, resume: false, stop: true, checkpoint: true, change: true }],
    ['paused', { start: false, pause: false, resume: 'continue', stop: true, checkpoint: true, change: true }],
    ['stopping', { start: false, pause: false, resume: false, stop: true, checkpoint: false, change: true }],
    ['stopped', { start: true, pause: false, resume: 'restart', stop: false, checkpoint: false, change: true }],
    ['failed', { start: true, pause: false, resume: 'restart', stop: false, checkpoint: false, change: true }],
    ['done', { start: true, pause: false, resume: false, stop: false, checkpoint: false, change: false }],
  ])('of a run that is %s', (state, expected) => {
    expect(runActions(showing(state))).toEqual(expected)
  })

  it('offers only Start when there is no run', () => {
    expect(runActions({ ...initialAppView, load: 'ready' })).toEqual({ start: true, pause: false, resume: false, stop: false, checkpoint: false, change: false })
  })

  it('offers no second engine while another run is in progress', () => {
    const elsewhere = { ...snapshotOf('running').summary, directory: '/runs/other' }
    const view = showing('stopped')
    expect(runActions({ ...view, runs: [...view.runs, elsewhere] })).toMatchObject({ start: false, resume: false })
  })

  it('offers nothing while a request is on its way, or before the runs are known', () => {
    const nothing = { start: false, pause: false, resume: false, stop: false, checkpoint: false, change: false }
    expect(runActions(showing('running', { pending: 'pause' }))).toEqual(nothing)
    expect(runActions(initialAppView)).toEqual(nothing)
  })
})

describe('statusSentence', () => {
  const running = viewOf(snapshotOf('running', { summary: { ...snapshotOf('running').summary, step: 3 } }))

  it('says what is being done, how far it is, and how long it will take', () => {
    expect(statusSentence({ ...running, progress: { phase: 'score', step: 4, done: 40, total: 64 }, secondsLeft: 130 })).toBe('Step 4 of 10: scoring completions, 40 of 64. About 2 minutes left.')
    expect(statusSentence({ ...running, progress: { phase: 'evaluate', step: 0, done: 3, total: 96 } })).toBe('Evaluating on held-out prompts, 3 of 96.')
    expect(statusSentence({ ...running, newestRow: { step: 3, values: {} }, progress: null })).toBe('Step 3 of 10 is done.')
  })

  it('says what came of it at the end', () => {
    const done = viewOf(snapshotOf('done', { evaluations: [evaluationOf(0, 0.104), evaluationOf(10, 0.865)] }))
    expect(statusSentence(done)).toBe('All 10 steps are done. Held-out programs that compile went from 10\u202f% to 87\u202f%.')
    expect(statusSentence({ ...done, evaluations: [] })).toBe('All 10 steps are done.')
  })

  it('repeats the engine’s own words when it stopped or failed', () => {
    expect(statusSentence(viewOf(snapshotOf('failed')))).toBe('It is failed.')
  })
})

describe('runShare', () => {
  it('stays between 0 and 1, also when the length is not known', () => {
    const view = viewOf(snapshotOf('running'))
    expect(runShare({ ...view, summary: { ...view.summary, step: 5 } })).toBe(0.5)
    expect(runShare({ ...view, summary: { ...view.summary, step: 12 } })).toBe(1)
    expect(runShare({ ...view, summary: { ...view.summary, totalSteps: 0 } })).toBe(0)
  })
})
