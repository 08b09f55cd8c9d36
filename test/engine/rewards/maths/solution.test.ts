import { describe, expect, test } from 'vitest'
import { readSolution } from '../../../../src-main/engine/rewards/maths/solution.ts'

const read = (text: string) => {
  const { format, steps, answer } = readSolution(text)
  return { format, steps: steps.map(({ start, end }) => text.slice(start, end).trim()), answer: answer === undefined ? undefined : text.slice(answer.start, answer.end) }
}

describe('tags', () => {
  test('numbered steps and one final answer match', () => {
    expect(read('<step_1> a </step_1>\n<step_2>b</step_2> <final> 17 </final>')).toEqual({ format: 'matched', steps: ['a', 'b'], answer: '17' })
  })
  test.each([
    ['a number left out', '<step_1>a</step_1><step_3>b</step_3><final>1</final>'],
    ['a step closed by another', '<step_1>a</step_2><final>1</final>'],
    ['a step never closed', '<step_1>a<final>1</final>'],
    ['a final answer never closed', '<step_1>a</step_1><final>1'],
    ['two final answers', '<step_1>a</step_1><final>1</final><final>2</final>'],
    ['a step behind the answer', '<step_1>a</step_1><final>1</final><step_2>b</step_2>'],
    ['no step', '<final>1</final>'],
    ['no final answer', '<step_1>a</step_1>'],
    ['a stray closing tag', '</step_1><step_1>a</step_1><final>1</final>'],
  ])('%s does not match', (_name, text) => expect(readSolution(text).format).toBe('mismatched'))
  test('no tags at all are another matter', () => {
    expect(read('Step 1: 3 + 4 = 7\nmore\nStep 2: done\nThe answer is \\boxed{7}.')).toEqual({ format: 'missing', steps: ['Step 1: 3 + 4 = 7\nmore', 'Step 2: done\nThe answer is \\boxed{7}.'], answer: '7' })
    expect(read('3 + 4 = 7\n\nso 7').steps).toEqual(['3 + 4 = 7', 'so 7'])
  })
  test('a step that was never closed is still a step', () => {
    expect(read('<step_1>a</step_1><step_2>3 + 4').steps).toEqual(['a', '3 + 4'])
  })
})

describe('the answer', () => {
  test.each([
    ['the last box counts', '\\boxed{1} no, \\boxed{2}', '2'],
    ['boxes nest', '\\boxed{\\frac{1}{2}}', '\\frac{1}{2}'],
    ['an open box is none', '\\boxed{3} and \\boxed{4', '3'],
    ['the final tag comes before boxes', '\\boxed{1}<final>2</final>', '2'],
    ['a box in the final tag is opened', '<final>so \\boxed{ 12 }</final>', '12'],
    ['what was only thought does not count', '<think>\\boxed{1}</think> \\boxed{2}', '2'],
    ['an empty tag answers nothing', '<final>  </final>', ''],
  ])('%s', (_name, text, answer) => expect(read(text).answer).toBe(answer))
  test('there may be none', () => expect(read('I do not know').answer).toBeUndefined())
})
