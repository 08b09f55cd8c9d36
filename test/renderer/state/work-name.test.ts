import { expect, it, vi } from 'vitest'
import { taskSchema } from '../../../src-main/contract/calls/shared.ts'

it('is another for each piece of work, also after the page was opened again', async () => {
  vi.useFakeTimers({ now: 1_800_000_000_000 })
  const names: string[] = []
  for (let opened = 0; opened < 2; opened += 1) {
    vi.resetModules()
    vi.advanceTimersByTime(1)
    const { workName } = await import('../../../src-renderer/state/work-name.ts')
    names.push(workName('plan'), workName('plan'))
  }
  vi.useRealTimers()
  expect(new Set(names).size).toBe(4)
  for (const name of names) expect(taskSchema.safeParse(name).success).toBe(true)
})
