// The kinds of problems by level. Level 1 is arithmetic in two to four steps, level 2 one idea of number theory, algebra or counting,
// level 3 two of them together.
import type { Dice, Level, Problem } from './problems.ts'

type Kind = (dice: Dice) => Problem

const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b))
const product = (values: readonly number[]): number => values.reduce((a, b) => a * b, 1)
const binomial = (n: number, k: number): number => Math.round(Array.from({ length: k }, (_, i) => (n - i) / (k - i)).reduce((a, b) => a * b, 1))
const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index)

const combination: Kind = (dice) => {
  const [a, b, c, d] = [dice.between(3, 19), dice.between(3, 19), dice.between(2, 60), dice.between(2, 9)]
  const first = a * b
  const second = first + c
  return { question: `Find the value of ${a} * ${b} + ${c} - ${d}.`, steps: [`${a} * ${b} = ${first}`, `${first} + ${c} = ${second}`, `${second} - ${d} = ${second - d}`], answer: second - d }
}

const linearEquation: Kind = (dice) => {
  const [a, x, b] = [dice.between(2, 15), dice.between(2, 60), dice.between(1, 90)]
  const right = a * x + b
  return { question: `Find x if ${a} * x + ${b} = ${right}.`, steps: [`${right} - ${b} = ${a * x}`, `${a * x} / ${a} = ${x}`], answer: x }
}

const commonDivisor: Kind = (dice) => {
  const [g, p, q] = [dice.between(2, 24), dice.between(3, 17), dice.between(3, 17)]
  const [a, b] = [g * Math.max(p, q), g * Math.min(p, q)]
  const steps: string[] = []
  let [x, y] = [a, b]
  while (y !== 0) {
    steps.push(`${x} - ${Math.floor(x / y)} * ${y} = ${x % y}`)
    ;[x, y] = [y, x % y]
  }
  return { question: `Find the greatest common divisor of ${a} and ${b}.`, steps, answer: x }
}

const arithmeticSum: Kind = (dice) => {
  const [first, step, count] = [dice.between(1, 20), dice.between(1, 6), dice.between(5, 15)]
  const last = first + (count - 1) * step
  return {
    question: `An arithmetic sequence starts with ${first} and grows by ${step}. Find the sum of its first ${count} terms.`,
    steps: [`${first} + ${count - 1} * ${step} = ${last}`, `${first} + ${last} = ${first + last}`, `${first + last} * ${count} / 2 = ${((first + last) * count) / 2}`],
    answer: ((first + last) * count) / 2,
  }
}

const runningTotal: Kind = (dice) => {
  const start = dice.between(2, 9)
  let total = start
  const words: string[] = []
  const steps: string[] = []
  const apply = (word: string, sign: string, by: number, result: number): void => {
    words.push(`${word} ${by}`)
    steps.push(`${total} ${sign} ${by} = ${result}`)
    total = result
  }
  for (let index = 0; index < 4; index++) {
    const by = dice.between(2, 9)
    const factor = dice.between(2, 3)
    if (total * factor <= 40 && dice.between(0, 2) === 0) apply('multiply by', '*', factor, total * factor)
    else if (total > by && (total + by > 40 || dice.between(0, 1) === 0)) apply('subtract', '-', by, total - by)
    else apply('add', '+', by, total + by)
  }
  return { question: `Start with ${start}; ${words.join(', ')}. Find the result.`, steps, answer: total }
}

const remainder: Kind = (dice) => {
  const [a, b, m] = [dice.between(12, 99), dice.between(12, 99), dice.between(5, 40)]
  const value = a * b
  return { question: `Find the remainder when ${a} * ${b} is divided by ${m}.`, steps: [`${a} * ${b} = ${value}`, `${value} - ${Math.floor(value / m)} * ${m} = ${value % m}`], answer: value % m }
}

const powerRemainder: Kind = (dice) => {
  const [base, exponent, m] = [dice.between(2, 12), dice.between(9, 40), dice.between(7, 99)]
  const steps: string[] = []
  let value = base % m
  // Square and multiply, along the binary digits of the exponent.
  for (const bit of exponent.toString(2).slice(1)) {
    steps.push(`${value}^2 mod ${m} = ${(value * value) % m}`)
    value = (value * value) % m
    if (bit === '0') continue
    steps.push(`${value} * ${base} mod ${m} = ${(value * base) % m}`)
    value = (value * base) % m
  }
  return { question: `Find the remainder when ${base}^${exponent} is divided by ${m}.`, steps, answer: value }
}

const divisorCount: Kind = (dice) => {
  const primes = [2, 3, 5, 7, 11, 13].slice(0, dice.between(2, 3) + 1)
  const chosen = primes.filter((_, index) => index < 2 || dice.between(0, 1) === 1)
  const exponents = chosen.map((_, index) => dice.between(1, index === 0 ? 5 : 2))
  const n = product(chosen.map((prime, index) => prime ** exponents[index]!))
  const count = product(exponents.map((exponent) => exponent + 1))
  return {
    question: `How many positive divisors does ${n} have?`,
    steps: [`${chosen.map((prime, index) => `${prime}^${exponents[index]}`).join(' * ')} = ${n}`, `${exponents.map((exponent) => `(${exponent} + 1)`).join(' * ')} = ${count}`],
    answer: count,
  }
}

const vieta: Kind = (dice) => {
  const [p, q] = [dice.between(2, 16), dice.between(2, 16)]
  const [s, t] = [p + q, p * q]
  return {
    question: `Let r and s be the roots of x^2 - ${s} * x + ${t} = 0. Find r^2 + s^2.`,
    steps: [`${s}^2 = ${s * s}`, `2 * ${t} = ${2 * t}`, `${s * s} - ${2 * t} = ${p * p + q * q}`],
    answer: p * p + q * q,
  }
}

const committee: Kind = (dice) => {
  const [women, men, a, b] = [dice.between(4, 8), dice.between(4, 8), dice.between(1, 3), dice.between(1, 2)]
  const [x, y] = [binomial(women, a), binomial(men, b)]
  return {
    question: `In how many ways can ${a} of ${women} women and ${b} of ${men} men be chosen for a committee?`,
    steps: [`\\binom{${women}}{${a}} = ${x}`, `\\binom{${men}}{${b}} = ${y}`, `${x} * ${y} = ${x * y}`],
    answer: x * y,
  }
}

const shoelace: Kind = (dice) => {
  const [a, b, c, d] = [2 * dice.between(2, 20), dice.between(0, 6), dice.between(0, 10), 2 * dice.between(2, 16)]
  const doubled = a * d - b * c
  if (doubled % 2 !== 0) return shoelace(dice)
  return {
    question: `A triangle has the corners (0, 0), (${a}, ${b}) and (${c}, ${d}). Find its area.`,
    steps: [`${a} * ${d} - ${b} * ${c} = ${doubled}`, `|${doubled}| / 2 = ${Math.abs(doubled) / 2}`],
    answer: Math.abs(doubled) / 2,
  }
}

const twoRemainders: Kind = (dice) => {
  const m = dice.pick([5, 7, 8, 9, 11])
  const n = dice.pick([6, 13, 17, 19, 23].filter((value) => gcd(value, m) === 1))
  const x = dice.between(1, m * n - 1)
  const [a, b] = [x % m, x % n]
  const times = range(m).find((k) => (b + k * n) % m === a)!
  return {
    question: `Find the smallest positive whole number that leaves the remainder ${a} when divided by ${m} and the remainder ${b} when divided by ${n}.`,
    steps: [`${b} + ${times} * ${n} = ${x}`, `${x} mod ${m} = ${a}`, `${x} mod ${n} = ${b}`],
    answer: x,
  }
}

const exclusion: Kind = (dice) => {
  const limit = dice.between(200, 990)
  const p = dice.pick([2, 3, 4])
  const q = dice.pick([5, 7, 9].filter((value) => gcd(value, p) === 1))
  const [a, b, c] = [Math.floor(limit / p), Math.floor(limit / q), Math.floor(limit / (p * q))]
  const either = a + b - c
  return {
    question: `How many of the whole numbers from 1 to ${limit} are divisible by neither ${p} nor ${q}?`,
    steps: [`floor(${limit} / ${p}) = ${a}`, `floor(${limit} / ${q}) = ${b}`, `floor(${limit} / (${p} * ${q})) = ${c}`, `${a} + ${b} - ${c} = ${either}`, `${limit} - ${either} = ${limit - either}`],
    answer: limit - either,
  }
}

const probability: Kind = (dice) => {
  const [red, blue] = [dice.between(3, 9), dice.between(3, 9)]
  const total = binomial(red + blue, 2)
  const good = binomial(red, 2) + binomial(blue, 2)
  const g = gcd(good, total)
  return {
    question: `A bag holds ${red} red and ${blue} blue balls. Two are drawn at once. The probability that they have the same colour is m/n in lowest terms. Find m + n.`,
    steps: [
      `\\binom{${red}}{2} + \\binom{${blue}}{2} = ${good}`,
      `\\binom{${red} + ${blue}}{2} = ${total}`,
      `gcd(${good}, ${total}) = ${g}`,
      `${good} / ${g} = ${good / g}`,
      `${total} / ${g} = ${total / g}`,
      `${good / g} + ${total / g} = ${(good + total) / g}`,
    ],
    answer: (good + total) / g,
  }
}

const latticePaths: Kind = (dice) => {
  const [width, height] = [dice.between(3, 6), dice.between(3, 6)]
  const [x, y] = [dice.between(1, width - 1), dice.between(1, height - 1)]
  const [first, second, all] = [binomial(x + y, x), binomial(width + height - x - y, width - x), binomial(width + height, width)]
  return {
    question: `A path goes from (0, 0) to (${width}, ${height}) in unit steps to the right or up. How many such paths do not pass through (${x}, ${y})?`,
    steps: [`\\binom{${width} + ${height}}{${width}} = ${all}`, `\\binom{${x} + ${y}}{${x}} = ${first}`, `\\binom{${width - x} + ${height - y}}{${width - x}} = ${second}`, `${first} * ${second} = ${first * second}`, `${all} - ${first * second} = ${all - first * second}`],
    answer: all - first * second,
  }
}

const recurrence: Kind = (dice) => {
  const [a, b, p, q, m, n] = [dice.between(1, 9), dice.between(1, 9), dice.between(1, 4), dice.between(1, 4), dice.between(50, 400), dice.between(5, 8)]
  const terms = [a, b]
  const steps: string[] = []
  for (let index = 2; index < n; index++) {
    const [before, last] = [terms[index - 2]!, terms[index - 1]!]
    const next = (p * last + q * before) % m
    steps.push(`(${p} * ${last} + ${q} * ${before}) mod ${m} = ${next}`)
    terms.push(next)
  }
  return {
    question: `A sequence has a_1 = ${a}, a_2 = ${b} and a_n = ${p} * a_{n-1} + ${q} * a_{n-2}. Find the remainder when a_${n} is divided by ${m}.`,
    steps,
    answer: terms.at(-1)!,
  }
}

/** Kinds by level and name. */
export const problemKinds: Readonly<Record<Level, Readonly<Record<string, Kind>>>> = {
  1: { combination, 'linear equation': linearEquation, 'common divisor': commonDivisor, 'arithmetic sum': arithmeticSum, remainder, 'running total': runningTotal },
  2: { 'power remainder': powerRemainder, 'divisor count': divisorCount, 'sum of squares of roots': vieta, committee, 'triangle area': shoelace },
  3: { 'two remainders': twoRemainders, exclusion, probability, 'lattice paths': latticePaths, recurrence },
}
