import { describe, expect, it } from 'vitest'
import { activityAfter, activityLine, closeChoiceOf, endNotice, keepsAwake } from '../../src-main/app/activity.ts'
import type { PageRunEvent } from '../../src-main/contract/calls/runs.ts'
import type { RunState } from '../../src-main/contract/events.ts'

const state = (name: RunState, step = 3): PageRunEvent => ({ type: 'state', state: name, step, totalSteps: 10, secondsLeft: null, runDirectory: '/runs/a', message: 'Words.' })

describe('activity', () => {
  it('follows a run from its start to its end', () => {
    const running = activityAfter(undefined, '/runs/a', state('running'))
    expect(running).toMatchObject({ directory: '/runs/a', step: 3 })
    expect(activityAfter(running, '/runs/a', { type: 'metrics', row: { step: 4, values: {} } })?.step).toBe(4)
    for (const over of ['done', 'stopped', 'failed'] as const) expect(activityAfter(running, '/runs/a', state(over)), over).toBeUndefined()
  })

  it('does not forget a run because another one ended', () => {
    const running = activityAfter(undefined, '/runs/a', state('running'))
    expect(activityAfter(running, '/runs/b', state('failed'))).toBe(running)
  })

  it('keeps the machine awake unless nothing runs or the run is paused', () => {
    expect(keepsAwake(undefined)).toBe(false)
    expect(keepsAwake(activityAfter(undefined, '/runs/a', state('running')))).toBe(true)
    expect(keepsAwake(activityAfter(undefined, '/runs/a', state('paused')))).toBe(false)
  })

  it('is said in one line', () => {
    expect(activityLine(undefined, 0)).toBe('Satchel')
    expect(activityLine(activityAfter(undefined, '/runs/a', state('running')), 2)).toBe('Satchel: a training, step 3 of 10, 2 waiting')
  })

  it('tells of an end that nobody asked for, or that was waited for; not of a stop', () => {
    expect(endNotice('/runs/a', state('done'))).toEqual({ title: 'a is done', body: 'Words.' })
    expect(endNotice('/runs/a', state('failed'))?.title).toBe('a was interrupted')
    expect(endNotice('/runs/a', state('stopped'))).toBeUndefined()
    expect(endNotice('/runs/a', state('running'))).toBeUndefined()
  })

  it('takes a closed question for a Cancel', () => {
    expect([0, 1, 2, -1].map(closeChoiceOf)).toEqual(['background', 'quit', 'cancel', 'cancel'])
  })
})
