import { describe, expect, it } from 'vitest'
import { pointsOf } from '../../../src-renderer/state/run-series.ts'
import { applyEvent, newestRolloutStep, viewOf, withStep } from '../../../src-renderer/state/run-view.ts'
import type { RunView } from '../../../src-renderer/state/run-view.ts'
import type { PageRunEvent } from '../../../src-main/contract/calls/runs.ts'
import { curvesOf, evaluationOf, metricsEvent, snapshotOf, stateEvent } from '../samples.ts'

const after = (...events: PageRunEvent[]): RunView => events.reduce(applyEvent, viewOf(snapshotOf('running')))

describe('applyEvent', () => {
  it('takes changes up into the log, each once', () => {
    const change = { step: 4, field: 'optimizer.learningRate', from: 0.01, to: 0.002, time: '2026-11-30T10:00:00.000Z' }
    const view = after({ type: 'changed', changes: [change] }, { type: 'changed', changes: [change] })
    expect(view.changes).toEqual([change])
    expect(view.log.map(({ kind, step, text }) => [kind, step, text])).toEqual([['change', 4, 'optimizer.learningRate changed from 0.01 to 0.002, from step 4 on.']])
  })

  it('adds rows in the order of their steps and moves the step along', () => {
    const view = after(metricsEvent(1, { reward: 1 }), metricsEvent(2, { reward: 2 }))
    expect(pointsOf(view.series, 'reward')).toEqual([{ x: 1, y: 1 }, { x: 2, y: 2 }])
    expect(view.newestRow?.step).toBe(2)
    expect(view.summary.step).toBe(2)
  })

  it('hears an event twice without showing it twice', () => {
    expect(pointsOf(after(metricsEvent(1, { reward: 1 }), metricsEvent(1, { reward: 1 })).series, 'reward')).toHaveLength(1)
    const twice = { type: 'evaluation', result: evaluationOf(0, 0.1) } as const
    expect(after(twice, twice).evaluations).toHaveLength(1)
  })

  it('drops what a resume from a checkpoint has undone', () => {
    const before = viewOf(snapshotOf('running', curvesOf([1, 2, 3].map((step) => ({ step, values: { reward: step, kl: step } })))))
    const view = [metricsEvent(4, { reward: 4 }), metricsEvent(2, { reward: 9 })].reduce(applyEvent, before)
    expect(pointsOf(view.series, 'reward')).toEqual([{ x: 1, y: 1 }, { x: 2, y: 9 }])
    expect(pointsOf(view.series, 'kl')).toEqual([{ x: 1, y: 1 }])
  })

  it('knows which steps have rollouts, also after a resume', () => {
    expect(withStep([[1, 3]], 4)).toEqual([[1, 4]])
    expect(withStep([[1, 3]], 6)).toEqual([[1, 3], [6, 6]])
    expect(withStep([[1, 9]], 4)).toEqual([[1, 4]])
    expect(withStep([[1, 3], [6, 9]], 5)).toEqual([[1, 3], [5, 5]])
    expect(newestRolloutStep(after({ type: 'rollouts-written', step: 7 }))).toBe(7)
    expect(newestRolloutStep(after())).toBeNull()
  })

  it('writes down what happened, but not every step', () => {
    const view = after(stateEvent('running', 1), stateEvent('running', 2), { type: 'checkpoint', step: 2, path: '' }, stateEvent('paused', 2, 'Paused.'))
    expect(view.log.map(({ kind, text }) => [kind, text])).toEqual([['checkpoint', 'Checkpoint of step 2 written.'], ['state', 'paused: Paused.']])
    expect(view.checkpoints).toEqual([2])
  })

  it('forgets an old error once the run works again, and keeps it when it fails', () => {
    const error = { code: 'storage', what: 'full', place: {}, expected: '', remedy: '' } as const
    expect(after({ type: 'error', error }, stateEvent('failed')).error).toEqual(error)
    expect(after({ type: 'error', error }, stateEvent('failed'), stateEvent('running')).error).toBeNull()
  })

  it('shows no half-done phase when nothing is being done', () => {
    const progress = { type: 'progress', phase: 'score', step: 1, done: 1, total: 2 } as const
    expect(after(progress, stateEvent('running')).progress).toMatchObject({ phase: 'score' })
    expect(after(progress, stateEvent('paused')).progress).toBeNull()
  })

  it('lists a repeated warning once and keeps the newest five', () => {
    const warnings = ['a', 'b', 'a', 'c', 'd', 'e', 'f'].map((message) => ({ type: 'warning', message }) as const)
    expect(after(...warnings).warnings).toEqual(['a', 'c', 'd', 'e', 'f'])
  })

  it('keeps the length it knows when an engine that has just begun does not know it', () => {
    expect(after(metricsEvent(3), { ...stateEvent('starting'), totalSteps: 0 }).summary).toMatchObject({ state: 'starting', step: 3, totalSteps: 10 })
  })

  it('changes nothing in place', () => {
    const before = viewOf(snapshotOf('running', curvesOf([{ step: 1, values: { reward: 1 } }])))
    applyEvent(before, metricsEvent(1, { reward: 2 }))
    expect(pointsOf(before.series, 'reward')).toEqual([{ x: 1, y: 1 }])
  })
})
