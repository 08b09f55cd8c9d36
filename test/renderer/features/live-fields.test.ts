import { describe, expect, it } from 'vitest'
import { runConfigSchema } from '../../../src-main/contract/run-config.ts'
import { chartMarks, markNear } from '../../../src-renderer/features/charts/chart-marks.ts'
import { askedSettings, liveFields } from '../../../src-renderer/features/run/live-fields.ts'

const description = { ...runConfigSchema.parse({ model: 'm', data: { prompts: 'p' } }), created: '2026' }
const change = (step: number, field: string, from: number, to: number) => ({ step, field, from, to, time: '' })

describe('fields of the panel', () => {
  it('stand at what they are now, with the sentence of the form', () => {
    const fields = liveFields({ description, changes: [change(3, 'optimizer.learningRate', 0.001, 0.0005)] })
    expect(fields[0]).toMatchObject({ field: 'optimizer.learningRate', value: 0.0005, help: 'Step size of AdamW after warm-up.' })
    expect(fields.every(({ help }) => help !== '')).toBe(true)
  })

  it('are asked for where they differ, and told of where they are no numbers', () => {
    const fields = liveFields({ description, changes: [] })
    expect(askedSettings(fields, { 'optimizer.learningRate': ' 2e-4 ', 'optimizer.clipNorm': '1', 'reward.globalWeight': '1,5', 'reward.localWeight': 'much', 'reward.localBound': '' })).toEqual({
      settings: [{ field: 'optimizer.learningRate', value: 0.0002 }, { field: 'reward.globalWeight', value: 1.5 }],
      wrong: ['reward.localWeight'],
    })
  })
})

describe('marks on the charts', () => {
  const marks = chartMarks([change(9, 'reward.localWeight', 0.5, 0.2), change(4, 'optimizer.learningRate', 0.001, 0.0005), change(9, 'reward.linter.globalWeight', 1, 0)])
  it('are one a step, with all that changed there', () => {
    expect(marks).toEqual([
      { step: 4, text: 'learningRate 0.001 → 0.0005' },
      { step: 9, text: 'localWeight 0.5 → 0.2, linter.globalWeight 1 → 0' },
    ])
  })

  it('are pointed at from a hundredth of the shown steps away', () => {
    expect(markNear(marks, 6, [0, 100])).toBeUndefined()
    expect(markNear(marks, 6, [0, 300])?.step).toBe(4)
    expect(markNear(marks, 9, [0, 10])?.step).toBe(9)
  })
})
