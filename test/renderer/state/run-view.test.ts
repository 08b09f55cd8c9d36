import { describe, expect, it } from 'vitest'
import { applyEvent, viewOf } from '../../../src-renderer/state/run-view.ts'
import type { RunView } from '../../../src-renderer/state/run-view.ts'
import type { EngineEvent } from '../../../src-main/contract/events.ts'
import { evaluationOf, metricsEvent, rolloutOf, snapshotOf, stateEvent } from '../samples.ts'

const after = (...events: EngineEvent[]): RunView => events.reduce(applyEvent, viewOf(snapshotOf('running')))

describe('applyEvent', () => {
  it('adds rows in the order of their steps and moves the step along', () => {
    const view = after(metricsEvent(1), metricsEvent(2))
    expect(view.metrics.map((row) => row.step)).toEqual([1, 2])
    expect(view.summary.step).toBe(2)
  })

  it('hears an event twice without showing it twice', () => {
    expect(after(metricsEvent(1), metricsEvent(1)).metrics).toHaveLength(1)
    const twice = { type: 'evaluation', result: evaluationOf(0, 0.1) } as const
    expect(after(twice, twice).evaluations).toHaveLength(1)
  })

  it('drops what a resume from a checkpoint has undone', () => {
    const view = after(metricsEvent(1), metricsEvent(2), metricsEvent(3), metricsEvent(2, { reward: 5 }))
    expect(view.metrics.map((row) => [row.step, row.values['reward']])).toEqual([[1, undefined], [2, 5]])
  })

  it('keeps the rollouts it has when a step brings none', () => {
    const rollouts = [rolloutOf(['a'])]
    expect(after({ type: 'rollouts', rollouts }, { type: 'rollouts', rollouts: [] }).rollouts).toEqual(rollouts)
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
    const before = viewOf(snapshotOf('running', { metrics: [{ step: 1, values: {} }] }))
    applyEvent(before, metricsEvent(2))
    expect(before.metrics).toHaveLength(1)
  })
})
