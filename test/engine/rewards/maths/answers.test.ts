import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { rewardConfig } from '../../../../src-main/contract/reward-config.ts'
import { isOfKind, readAnswer, sameAnswer } from '../../../../src-main/engine/rewards/maths/answers.ts'
import { createSymbolicEquality } from '../../../../src-main/engine/rewards/maths/symbolic.ts'
import { buildForTests } from '../../../support/build-entries.ts'

const config = rewardConfig({ recipe: 'maths', symbolicMilliseconds: 2_000 })
let symbolic: ReturnType<typeof createSymbolicEquality>
beforeAll(async () => {
  await buildForTests()
  symbolic = createSymbolicEquality(config)
})
afterAll(() => symbolic.dispose())

const same = async (a: string, b: string): Promise<boolean> => {
  const [left, right] = [readAnswer(a), readAnswer(b)]
  if (left === undefined || right === undefined) throw new Error(`cannot read ${left === undefined ? a : b}`)
  return sameAnswer(left, right, symbolic.equal)
}

describe('the same answer in another spelling', () => {
  test.each([
    ['204', '0204'], ['204', '$204$'], ['1,234', '1234'], ['204', '\\text{204}'], ['204', '204.'], ['12 apples', '12'], ['x = 5', '5'], ['50\\%', '50'], ['3*68', '204'],
    ['\\frac{1}{2}', '0.5'], ['\\frac12', '1/2'], ['\\dfrac{3}{6}', '\\tfrac{1}{2}'], ['2^{-1}', '.5'],
    ['\\sqrt{8}', '2\\sqrt{2}'], ['\\frac{\\sqrt{3}}{3}', '\\frac{1}{\\sqrt3}'], ['\\pi/4', '\\arctan(1)'], ['\\ln 2 + \\ln 3', '\\ln 6'], ['\\log_2 8', '3'], ['e^{i\\pi}', '-1'],
    ['(x+1)^2', 'x^2+2x+1'], ['\\sin^2 x + \\cos^2 x', '1'], ['\\cos 2x', '2\\cos^2 x - 1'], ['x_1 + x_2', 'x_{2}+x_1'], ['y = 2x + 1', '1 + 2x'],
    ['(1, 2)', '\\left(1, \\frac{4}{2}\\right)'], ['\\{1, 2\\}', '\\{2, 1\\}'], ['1, 2', '2 and 1'], ['(B)', 'B'], ['[0, 1)', '[0, 1)'],
  ])('%s is %s', async (a, b) => expect(await same(a, b)).toBe(true))
})

describe('another answer', () => {
  test.each([
    ['204', '205'], ['0.333', '1/3'], ['x^2', 'x^3'], ['\\sqrt{x^2}', 'x'], ['355/113', '\\pi'], ['(1, 2)', '(2, 1)'], ['(0, 1)', '[0, 1)'], ['1, 2', '1, 2, 3'], ['1, 1', '1, 2'], ['A', 'B'], ['A', '1'], ['(1, 2)', '3'],
    ['x + 10^{-6}', 'x'], ['\\sqrt{2} + 10^{-14}', '\\sqrt{2}'],
  ])('%s is not %s', async (a, b) => expect(await same(a, b)).toBe(false))
})

describe('hostile answers end in time and are not the one asked for', () => {
  test.each([['9^9^9^9'], ['\\pi^{9^{9^9}}'], ['10!!!!!'], ['x^x^x^x^x^x^x^{99999}'], ['\\binom{1000000}{500000}\\pi'], ['\\gcd(10^{300}, 3)\\sqrt2'], [`\\sqrt{${'x+'.repeat(300)}x}`]])('%s', async (text) => {
    const read = readAnswer(text)
    if (read !== undefined) expect(await sameAnswer(read, readAnswer('\\sqrt{2}')!, symbolic.equal)).toBe(false)
    // The next one is served as if nothing had been.
    expect(await same('\\sqrt{8}', '2\\sqrt{2}')).toBe(true)
  })
  test.each([[''], ['import("fs")'], ['process.exit()'], ['f = g = h'], ['(('], [`${'('.repeat(900)}1`], ['9'.repeat(2_000)], ['\\frac{1}{0}x +'], ['hello there'], ['"a"'], ['[1 2; 3 4]'], ['x = import']])('%s cannot be read', (text) => {
    expect(readAnswer(text)).toBeUndefined()
  })
})

test('an integer is exactly a whole number within the bounds', () => {
  expect(['0', '999', '1000', '-1', '1/2', '4/2', '\\sqrt{16}', '\\pi', '(1, 2)', 'x'].map((text) => isOfKind(readAnswer(text)!, config))).toEqual([true, true, false, false, false, true, true, false, false, false])
  expect(isOfKind(readAnswer('\\pi')!, rewardConfig({ recipe: 'maths', answerKind: 'any' }))).toBe(true)
})
