import { describe, expect, it } from 'vitest'
import { duration } from '../../src-main/engine-host/cli-output.ts'
import { bar, createProgressView } from '../../src-main/engine-host/cli-progress.ts'
import { exampleEvaluation } from '../support/run-folder.ts'

const state = { type: 'state', state: 'running', step: 12, totalSteps: 80, secondsLeft: 252, runDirectory: '/r', message: '' } as const
const metrics = { type: 'metrics', row: { step: 13, values: { reward: -0.5, reward_std: 0.25, compile_rate: 0.5, requirement_score: 0.25, 'completions/mean_length': 61.2, entropy: 0.41, grad_norm: null, 'time/step': 3.21 } } } as const

function screen(isTTY: boolean, columns = 100) {
  const written: string[] = []
  return { isTTY, columns, written, write: (text: string) => written.push(text) }
}

describe('the progress of a run', () => {
  it('on no terminal is plain lines: one a step, with the time left', () => {
    const target = screen(false)
    const view = createProgressView(target)
    view.onEvent(state)
    view.onEvent({ type: 'progress', phase: 'generate', step: 13, done: 3, total: 64 })
    view.onEvent(metrics)
    view.onEvent({ type: 'evaluation', result: exampleEvaluation(20, 5) })
    view.onEvent({ type: 'warning', message: 'Step 3 was skipped.' })
    view.close()
    expect(target.written.join('')).toBe(
      [
        'step 13/80  reward -0.50 (spread 0.25)  compiles 50 %  requirements 25 %  length 61  entropy 0.410  gradient -  3.2 s  4:12 left',
        'held out, step 20: compiles 25.0 % (0.0 % to 100.0 %, n 20)  requirements 25.0 %  hacks 0.0 %',
        'warning: Step 3 was skipped.',
        '',
      ].join('\n'),
    )
  })

  it('speaks the words of the recipe: answers are right, functions pass their cases', () => {
    const lines = (recipe: 'maths' | 'code'): string => {
      const target = screen(false)
      const view = createProgressView(target, recipe)
      view.onEvent(state)
      view.onEvent(metrics)
      view.onEvent({ type: 'evaluation', result: exampleEvaluation(20, 5) })
      return target.written.join('')
    }
    expect(lines('maths')).toMatch(/ {2}right 50 % {2}length 61 .*\nheld out, step 20: right 25\.0 % \(.*\) {2}hacks/)
    expect(lines('code')).toMatch(/ {2}passes 50 % {2}cases 25 % {2}length 61 .*\nheld out, step 20: passes 25\.0 % \(.*\) {2}cases 25\.0 % {2}hacks/)
  })

  it('on a terminal keeps one bar below the lines, and takes it away at the end', () => {
    const target = screen(true)
    const view = createProgressView(target)
    view.onEvent(state)
    expect(target.written.at(-1)).toBe('[######----------------------------------] step 12/80  15 %  4:12 left')
    view.onEvent({ type: 'progress', phase: 'generate', step: 13, done: 32, total: 64 })
    expect(target.written.at(-1)).toContain('writing 32/64')
    view.onEvent(metrics)
    const [cleared, line, redrawn] = target.written.slice(-3)
    expect(cleared).toBe('\r\u001b[K')
    expect(line).toMatch(/^step 13\/80 .*3\.2 s\n$/)
    expect(redrawn).toContain('step 13/80')
    view.close()
    expect(target.written.at(-1)).toBe('\r\u001b[K')
  })

  it('never says the same state twice', () => {
    const target = screen(false)
    const view = createProgressView(target)
    for (let time = 0; time < 3; time += 1) view.onEvent({ ...state, message: 'Paused.' })
    expect(target.written).toEqual(['Paused.\n'])
  })
})

describe('the bar', () => {
  it.each([20, 30, 45, 60, 80, 200])('fits a terminal of %i columns', (columns) => {
    const line = bar({ share: 0.5, step: 40, totalSteps: 80, secondsLeft: 3723, now: 'writing 32/64', columns })
    expect(line.length).toBeLessThan(columns)
  })

  it('is empty at the start and full at the end', () => {
    const at = (share: number): string => bar({ share, step: 0, totalSteps: 1, secondsLeft: null, now: '', columns: 80 })
    expect(at(0)).toMatch(/^\[-{40}\]/)
    expect(at(1)).toMatch(/^\[#{40}\]/)
  })
})

describe('a duration', () => {
  it.each([[0, '0:00'], [59.6, '1:00'], [252, '4:12'], [3723, '1:02:03'], [-1, '0:00']])('of %d seconds reads %s', (seconds, text) => expect(duration(seconds)).toBe(text))
})
