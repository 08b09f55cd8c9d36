import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { extractCode } from '../../../src-main/engine/rewards/code-block.ts'

describe('extractCode', () => {
  test('text without a fence is the program', () => {
    expect(extractCode('const a = 1')).toEqual({ code: 'const a = 1', start: 0, fenced: false })
  })
  test('a fenced block is the program, without its fences', () => {
    const text = 'Here it is:\n```tsx\nconst a = 1\n```\nEnjoy.'
    expect(extractCode(text)).toEqual({ code: 'const a = 1\n', start: 19, fenced: true })
  })
  test('of several blocks the first labelled one counts', () => {
    expect(extractCode('```\nnpm i\n```\n```jsx\nconst a = 1\n```\n```tsx\nconst b = 1\n```').code).toBe('const a = 1\n')
  })
  test('an unlabelled block counts where no other is', () => {
    expect(extractCode('```\nconst a = 1\n```').code).toBe('const a = 1\n')
  })
  test('a fence that is never closed reaches to the end', () => {
    expect(extractCode('```tsx\r\nconst a = 1\r\n').code).toBe('const a = 1\r\n')
  })
  test('what was thought before is not the program', () => {
    const text = '<think>\n```tsx\nwrong\n```\n</think>\n```tsx\nright\n```'
    expect(extractCode(text).code).toBe('right\n')
  })
  test('a million spaces behind a fence are read once', () => {
    const text = `\`\`\`${' '.repeat(1_000_000)}x\nconst a = 1`
    expect(extractCode(text)).toEqual({ code: text, start: 0, fenced: false })
  })
  test('the position always points at the program in the text', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('```tsx\n', '```\n', '```', 'a', '\n', '\r\n', '😀', '</think>', ' '), { maxLength: 20 }), (parts) => {
        const text = parts.join('')
        const { code, start } = extractCode(text)
        expect(text.slice(start, start + code.length)).toBe(code)
      }),
    )
  })
})
