import { describe, expect, it } from 'vitest'
import { matching } from '../../../src-renderer/features/shell/command-list.ts'

const commands = [['Home', 'page'], ['Run setup', 'page'], ['Monitor', 'page'], ['demo-run-3', 'run'], ['Dark theme', 'do']].map(([title, kind]) => ({ id: `${title} ${kind}`, title: title as string, kind: kind as string, act: () => undefined }))
const found = (typed: string): string[] => matching(commands, typed).map(({ title }) => title)

describe('the palette', () => {
  it('offers everything before anything is typed', () => {
    expect(found('  ')).toHaveLength(5)
  })

  it('finds by any part, in letters of either case, what begins with it first', () => {
    expect(found('RUN')).toEqual(['Run setup', 'demo-run-3'])
    expect(found('run demo')).toEqual(['demo-run-3'])
    expect(found('dark do')).toEqual(['Dark theme'])
  })

  it('finds nothing of no name', () => {
    expect(found('zebra')).toEqual([])
  })
})
