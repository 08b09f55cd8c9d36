// Vertical lines on the charts where something was changed while the run was in progress: dashed, with a flag at the top, so that they are not
// taken for the line under the pointer.
import type { Plugin } from 'chart.js'
import type { RunChange } from '../../../src-main/contract/run-changes.ts'

export interface ChartMark {
  readonly step: number
  /** What was changed, in short. */
  readonly text: string
}

/** `reward.linter.globalWeight` without the block every weight is in. */
export function shortField(field: string): string {
  return field.replace(/^(optimizer|reward)\./, '')
}

/** Marks by step, several changes of one step in one. */
export function chartMarks(changes: readonly RunChange[]): ChartMark[] {
  const steps = [...new Set(changes.map(({ step }) => step))].sort((a, b) => a - b)
  return steps.map((step) => ({ step, text: changes.filter((change) => change.step === step).map(({ field, from, to }) => `${shortField(field)} ${from} → ${to}`).join(', ') }))
}

/** The mark that is pointed at: the nearest within a hundredth of what is shown. */
export function markNear(marks: readonly ChartMark[], step: number, [from, to]: readonly [number, number]): ChartMark | undefined {
  const reach = Math.max(0.5, (to - from) / 100)
  return marks.filter((mark) => Math.abs(mark.step - step) <= reach).sort((a, b) => Math.abs(a.step - step) - Math.abs(b.step - step))[0]
}

const flag = 5

/** Draws the marks of a chart. @param what asked for at every drawing */
export function markPlugin(what: () => { readonly marks: readonly ChartMark[]; readonly ink: string }): Plugin<'line'> {
  return {
    id: 'marks',
    beforeDatasetsDraw({ ctx, chartArea, scales }) {
      const { marks, ink } = what()
      const scale = scales['x']
      if (scale === undefined || marks.length === 0) return
      ctx.save()
      ctx.strokeStyle = ink
      ctx.fillStyle = ink
      ctx.lineWidth = 1
      ctx.setLineDash([3, 3])
      for (const { step } of marks) {
        if (step < scale.min || step > scale.max) continue
        const x = Math.round(scale.getPixelForValue(step)) + 0.5
        ctx.beginPath()
        ctx.moveTo(x, chartArea.top)
        ctx.lineTo(x, chartArea.bottom)
        ctx.stroke()
        ctx.beginPath()
        ctx.moveTo(x - flag, chartArea.top - flag)
        ctx.lineTo(x + flag, chartArea.top - flag)
        ctx.lineTo(x, chartArea.top + 1)
        ctx.fill()
      }
      ctx.restore()
    },
  }
}
