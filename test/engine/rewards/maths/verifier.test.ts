import { describe, expect, test } from 'vitest'
import { verifySteps } from '../../../../src-main/engine/rewards/maths/verifier.ts'

const problem = 'The numbers 1 2 3 4 5 7 10 12 16 17 18 20 23 50 are given.'
const verdicts = (...steps: string[]): number[] => {
  const text = steps.join('\n')
  let at = 0
  const stretches = steps.map((step) => {
    const start = at
    at += step.length + 1
    return { start, end: start + step.length }
  })
  return verifySteps(text, problem, stretches, { errorPropagation: true }).map(({ value }) => value)
}

describe('a step that states something true is worth +1', () => {
  test.each([
    '3 * 4 = 12',
    'So we have $3 \\cdot 4 = 12$.',
    '12 = 3 × 4',
    '2^10 = 1024 = 4^5',
    '\\frac{12}{5} - 2 = \\frac{2}{5}',
    '5! = 120',
    '\\binom{5}{2} = 10',
    'gcd(12, 18) = 6',
    'sqrt(16) = 4',
    '|3 - 7| = 4',
    '17 mod 5 = 2',
    '2^{10} \\equiv 2 \\pmod{7}',
    '1,024 + 1 = 1{,}025',
    'x = 3, then 2x + 1 = 7',
    'x_1 = 3, so 2x_1 = 6',
    '-3 + 5 = 2',
    '50% = 1/2',
    'Total: 3 + 4 = 7 and nothing else',
  ])('%s', (step) => expect(verdicts(step)).toEqual([1]))
})

describe('a step that states something false is worth -1', () => {
  test.each(['3 * 4 = 13', 'So 12 + 5 = 18.', '2. 3 + 4 = 8', 'first 3 * 4 = 12, then 12 + 5 = 18', '2^10 = 1024 = 4^6', '\\binom{5}{2} = 11', '2^{10} \\equiv 3 \\pmod{7}', '1/3 = 0.5'])('%s', (step) => expect(verdicts(step)).toEqual([-1]))
})

describe('what is not certain is worth nothing', () => {
  test.each([
    ['words', 'Let us think about triangles.'],
    ['nothing to work out', '5 = 5'],
    ['the same on both sides', '3 + 4 = 3 + 4'],
    ['numbers from nowhere', '601 + 602 = 1203'],
    ['an unknown name', 'f(3) = 9'],
    ['a name that may mean something else', 'x = 3, then 2x + 1 = 8'],
    ['dots', '1 + 2 + ... + 10 = 55'],
    ['LaTeX dots', '55 = 1 + 2 + \\ldots + 10'],
    ['a ratio', '12 : 4 = 3'],
    ['a tight ratio', 'the ratio 3:4 = 0.75'],
    ['an operation in words', '20% of 50 = 10'],
    ['an operation in words behind it', 'we get 10 = 5 times 2'],
    ['what a number describes', 'the area 50 = 5 * 11'],
    ['a rounded decimal', '1/3 = 0.333'],
    ['a sum sign', '\\sum_{k=1}^{10} k = 55'],
    ['an inequality', 'so 5 = 3 + 4 < 9'],
    ['absurd size', '9^9^9^9 = 4'],
    ['an endless tower', `2${'^2'.repeat(600)} = 4`],
    ['a division by zero', '1/0 = 4'],
    ['unbalanced brackets', `${'('.repeat(5_000)}1 = 3`],
    ['a very long step', `3 * 4 = 13 ${'x '.repeat(3_000)}`],
  ])('%s', (_name, step) => expect(verdicts(step)).toEqual([0]))
})

test('after the first wrong step nothing counts any more', () => {
  expect(verdicts('3 * 4 = 12', '12 + 5 = 18', '12 + 5 = 17', '3 + 4 = 8')).toEqual([1, -1, 0, 0])
  const text = '3 + 4 = 8\n3 * 4 = 12'
  expect(verifySteps(text, problem, [{ start: 0, end: 9 }, { start: 10, end: 20 }], { errorPropagation: false }).map(({ value }) => value)).toEqual([-1, 1])
})
test('the same equality earns once', () => {
  expect(verdicts('3 * 4 = 12', 'again 3*4=12', '4 * 3 = 12')).toEqual([1, 0, 1])
})
test('a result may be built upon', () => {
  expect(verdicts('601 + 602 = 1203', '12 * 50 = 600', '600 + 1 = 601')).toEqual([0, 1, 1])
})
