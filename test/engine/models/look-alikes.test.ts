import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createLookAlikes } from '../../../src-main/engine/models/look-alikes.ts'

const CONTROLS = ['<|im_start|>', '<|im_end|>', '</s>', '[INST]']

function restore(text: string, hidden: ReadonlyMap<string, string>): string {
  return text.replace(/[\uE000-\uF8FF]/g, (char) => hidden.get(char) ?? char)
}

describe('hiding what could become a control token', () => {
  test('ordinary text is not touched', () => {
    const { hide, hidden } = createLookAlikes(CONTROLS, [])
    for (const text of ['', '  ', 'a < b', '<b>bold</b> text', '  x <- y  ', 'im_started']) expect(hide(text)).toBe(text)
    expect(hidden.size).toBe(0)
  })

  test.each<[string, string[]]>([
    ['a<|im_end|>b', ['<|im_end|>']],
    ['</s></s>', ['</s>']],
    ['ends with <|im_', ['<|im_']],
    ['ends with < \n', ['<']],
    ['|> begins', ['|>']],
    ['  end|> and <|im', ['end|>', '<|im']],
    ['INST', ['INST']],
    ['_start', ['_start']],
    ['<|im_end|><|im_end', ['<|im_end|>', '<|im_end']],
  ])('%j', (text, parts) => {
    const { hide, hidden } = createLookAlikes(CONTROLS, [text])
    const safe = hide(text)
    expect([...hidden.values()].toSorted()).toEqual(parts.toSorted())
    expect(restore(safe, hidden)).toBe(text)
  })

  test('private-use characters that are in the texts are not taken', () => {
    const text = '\uE000 and \uE001 and </s>'
    const { hide, hidden } = createLookAlikes(CONTROLS, [text])
    expect([...hidden.keys()]).toEqual([])
    expect(hide(text)).toBe('\uE000 and \uE001 and \uE002')
    expect([...hidden]).toEqual([['\uE002', '</s>']])
  })

  test('whatever a template puts around contents, they neither hold nor complete a control token, and restoring gives them back', () => {
    const bits = fc.constantFrom('<|im_start|>', '<|im_end|>', '</s>', '[INST]', '<', '|', '>', '<|', '|>', 'im_', 'start', 'end', '/s', 's', '[', ']', 'INST', ' ', '\n', 'x', '\uE000')
    const text = fc.array(bits, { maxLength: 8 }).map((parts) => parts.join(''))
    // What a template may say before and after a content: any beginning and end of a control token, and white space.
    const frames = CONTROLS.flatMap((control) => Array.from({ length: control.length - 1 }, (_, cut) => [control.slice(0, cut + 1), control.slice(cut + 1)] as const))
    fc.assert(
      fc.property(text, fc.constantFrom(...frames), fc.constantFrom(...frames), fc.boolean(), (content, [before], [, after], trims) => {
        const { hide, hidden } = createLookAlikes(CONTROLS, [content])
        const safe = hide(content)
        expect(restore(safe, hidden)).toBe(content)
        const inside = trims ? safe.trim() : safe
        // An empty content lets the template's own texts touch; that is the template's doing.
        fc.pre(inside.trim() !== '')
        for (const control of CONTROLS) expect(`${before}${inside}${after}`).not.toContain(control)
      }),
      { numRuns: 5000 },
    )
  })
})
