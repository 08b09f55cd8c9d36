// Preference by what pages show, on pages small enough to compare by eye.
import { describe, expect, it } from 'vitest'
import { closeness, renderLooks, tally } from '../../../src-main/engine-host/replicate/preferences.ts'

const page = (heading: string, button: string): string => `import React from 'react';\nexport default function App() { return <main><h1>${heading}</h1><button>${button}</button></main>; }`

describe('preference', () => {
  it('closeness is the Dice coefficient of two bags of elements; nothing rendered is worse than anything', () => {
    expect(closeness(['h1 A', 'p B'], ['h1 A', 'p B'])).toBe(1)
    // One of two shared: 2 * 1 / (2 + 2).
    expect(closeness(['h1 A', 'p C'], ['h1 A', 'p B'])).toBe(0.5)
    expect(closeness(['h1 A', 'h1 A'], ['h1 A'])).toBeCloseTo(2 / 3, 12)
    expect(closeness(['p X'], ['h1 A'])).toBe(0)
    expect(closeness(null, ['h1 A'])).toBe(-1)
  })

  it('the page that shows what the reference shows wins against one that shows less, and that against one that does not render', async () => {
    const [whole, half, broken] = [page('Tickets', 'Add'), page('Tickets', 'Remove'), page('Tickets', 'Add').replace('</h1>', '')]
    const looks = await renderLooks([whole, half, broken])
    const look = (program: string) => looks.get(program) ?? null
    const reference = look(whole) as readonly string[]
    expect(reference).toContain('h1 Tickets')
    const against = (first: string, second: string) => tally([{ first: look(first), second: look(second), reference }])
    expect(against(whole, half)).toEqual({ wins: 1, ties: 0, losses: 0 })
    expect(against(half, broken)).toEqual({ wins: 1, ties: 0, losses: 0 })
    expect(against(broken, whole)).toEqual({ wins: 0, ties: 0, losses: 1 })
    expect(against(broken, broken)).toEqual({ wins: 0, ties: 1, losses: 0 })
  })
})
