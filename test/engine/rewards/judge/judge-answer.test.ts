import { describe, expect, it } from 'vitest'
import { readScore, readStepMarks, readWorstLines, spoken } from '../../../../src-main/engine/rewards/judge/judge-answer.ts'

describe('readScore', () => {
  it.each([
    ['SCORE: 7', 7],
    ['The counter works.\nSCORE: 8.5', 8.5],
    ['**Score:** 6', 6],
    ['Score: **6**/10', 6],
    ['`score` = 4 / 10.', 4],
    ['{"score": 3, "reason": "no button"}', 3],
    ['My score is 9 out of 10.', 9],
    ['Score (0-10): 5', 5],
    ['Score: [2]', 2],
    ['I would say 7/10.', 7],
    ['7', 7],
    [' **8.** ', 8],
    ['7,5', 7.5],
    ['score: 0', 0],
    ['Score: 14', 10],
    ['Score: -3', 0],
    ['Score: \u22122', 0],
    ['First I thought SCORE: 2, but it does work.\nSCORE: 6', 6],
    ['<think>SCORE: 1? No, the heading is there.</think>SCORE: 9', 9],
  ])('reads %j', (answer, score) => {
    expect(readScore(answer)).toBe(score)
  })

  it.each(['', 'It is good.', 'SCORE: n', 'Score: high', 'Score: 85/100', 'Score: 70%', 'Score: 7-9', 'I scored it 3 of 4 times', '12 buttons and 3 headings', '<think>SCORE: 7', '3/4', '2024/10/05'])('reads nothing from %j', (answer) => {
    expect(readScore(answer)).toBeUndefined()
  })

  it('takes little time for a long answer of rubbish', () => {
    for (const piece of ['score', 'score: ', '9', '1/', ' (', '"', '<think>', 'line 1']) expect([undefined, 9, 10]).toContain(readScore(piece.repeat(20_000)))
  })
})

describe('spoken', () => {
  it('leaves out what was thought', () => {
    expect(spoken('<think>hm</think>\nyes')).toBe('\nyes')
    expect(spoken('hm</think>yes')).toBe('yes')
    expect(spoken('yes')).toBe('yes')
  })
})

describe('readWorstLines', () => {
  const one = (line: number, impact: number, reason: string) => [{ line, impact, reason }]
  it.each([
    ['LINE 12: -2 the button has no label', one(12, -2, 'the button has no label')],
    ['- **Line 12** (-3): never shown', one(12, -3, 'never shown')],
    ['line #4 | impact: -1 | repeats', one(4, -1, 'repeats')],
    ['Line 3: 2 wrong name', one(3, -2, 'wrong name')],
    ['Line 5 \u2014 \u22122: wrong', one(5, -2, 'wrong')],
    ['Line 5-7: -2 wrong', one(5, -2, 'wrong')],
    ['{"lines": [{"line": 9, "impact": -3, "reason": "no state"}]}', one(9, -3, 'no state')],
    ['[{"line": 9, "impact": -1}]', one(9, -1, '')],
    ['NONE', []],
    ['There are no bad lines.', []],
    ['{"score": 9, "lines": []}', []],
  ])('reads %j', (answer, expected) => {
    expect(readWorstLines(answer, 40)).toEqual(expected)
  })

  it('keeps the three worst, one a line, worst first, and only lines that exist', () => {
    const answer = 'LINE 1: -1 a\nLINE 2: -3 b\nLINE 2: -1 c\nLINE 3: -2 d\nLINE 4: -2 e\nLINE 99: -3 f\nLINE 0: -3 g'
    expect(readWorstLines(answer, 10)).toEqual([{ line: 2, impact: -3, reason: 'b' }, { line: 3, impact: -2, reason: 'd' }, { line: 4, impact: -2, reason: 'e' }])
  })

  it.each(['', 'It is fine.', 'Line twelve is bad', 'LINE 12: very bad', 'LINE 12: -7 bad', 'LINE 12-14', '<think>LINE 1: -1 a'])('reads nothing from %j', (answer) => {
    expect(readWorstLines(answer, 40)).toBeUndefined()
  })

  it('leaves out an impact of nothing', () => {
    expect(readWorstLines('LINE 2: 0 fine', 5)).toEqual([])
  })
})

describe('readStepMarks', () => {
  it.each([
    ['STEP 1: right\nSTEP 2: wrong\nSTEP 3: unclear', [1, -1, 0]],
    ['Step 1 - correct\nStep 2 - incorrect', [1, -1, 0]],
    ['step_1: +1, step_2: -1, step_3: 0', [1, -1, 0]],
    ['**Step 2**: not correct', [0, -1, 0]],
    ['STEP 1: wrong\nOn second thought:\nSTEP 1: right', [1, 0, 0]],
    ['STEP 3: right\nSTEP 9: wrong', [0, 0, 1]],
    ['<think>STEP 1: wrong</think>STEP 1: right', [1, 0, 0]],
  ])('reads %j', (answer, marks) => {
    expect(readStepMarks(answer, 3)).toEqual(marks)
  })

  it.each(['', 'All is well.', 'Step 1 computes 3 + 4', 'STEP 4: wrong', '<think>STEP 1: right'])('reads nothing from %j', (answer) => {
    expect(readStepMarks(answer, 3)).toBeUndefined()
  })
})
