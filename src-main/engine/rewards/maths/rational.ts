// Exact rational numbers of bounded size: what answers and steps are checked with.

/** numerator / denominator in lowest terms, denominator > 0. */
export interface Rational {
  readonly numerator: bigint
  readonly denominator: bigint
}

/** A number that would be too large to be worth its time, or that does not exist (a division by zero). */
export class NoValue extends Error {}

/** Largest size of a numerator or denominator, in bits: 100! has 525. */
const maximumBits = 4_096n
const limit = 1n << maximumBits

export function rational(numerator: bigint, denominator = 1n): Rational {
  if (denominator === 0n) throw new NoValue('division by zero')
  const divisor = greatestCommonDivisor(numerator, denominator) * (denominator < 0n ? -1n : 1n)
  const value = { numerator: numerator / divisor, denominator: denominator / divisor }
  if (magnitude(value.numerator) > limit || value.denominator > limit) throw new NoValue('the number is too large')
  return value
}

const magnitude = (value: bigint): bigint => (value < 0n ? -value : value)

function greatestCommonDivisor(a: bigint, b: bigint): bigint {
  let [x, y] = [magnitude(a), magnitude(b)]
  while (y !== 0n) [x, y] = [y, x % y]
  return x === 0n ? 1n : x
}

export const add = (a: Rational, b: Rational): Rational => rational(a.numerator * b.denominator + b.numerator * a.denominator, a.denominator * b.denominator)
export const subtract = (a: Rational, b: Rational): Rational => add(a, negate(b))
export const multiply = (a: Rational, b: Rational): Rational => rational(a.numerator * b.numerator, a.denominator * b.denominator)
export const divide = (a: Rational, b: Rational): Rational => rational(a.numerator * b.denominator, a.denominator * b.numerator)
export const negate = (a: Rational): Rational => ({ numerator: -a.numerator, denominator: a.denominator })
export const equal = (a: Rational, b: Rational): boolean => a.numerator === b.numerator && a.denominator === b.denominator
export const isInteger = (a: Rational): boolean => a.denominator === 1n

/** a to the power of b. Exact roots are found (4^(1/2) = 2); any other root is no rational number. */
export function power(a: Rational, b: Rational): Rational {
  if (magnitude(b.numerator) > maximumBits || b.denominator > 64n) throw new NoValue('the exponent is too large')
  const base = b.denominator === 1n ? a : rational(root(a.numerator, b.denominator), root(a.denominator, b.denominator))
  const exponent = magnitude(b.numerator)
  // A bound before the work: an honest power has far fewer bits.
  if (BigInt(base.numerator.toString(2).length + base.denominator.toString(2).length) * exponent > 2n * maximumBits && magnitude(base.numerator) > 1n) throw new NoValue('the power is too large')
  if (base.numerator === 0n && b.numerator <= 0n) throw new NoValue('division by zero')
  const raised = rational(base.numerator ** exponent, base.denominator ** exponent)
  return b.numerator < 0n ? divide(rational(1n), raised) : raised
}

/** The exact root of an integer, or NoValue where there is none. */
export function root(value: bigint, degree: bigint): bigint {
  if (value < 0n) {
    if (degree % 2n === 0n) throw new NoValue('an even root of a negative number')
    return -root(-value, degree)
  }
  let low = 0n
  let high = 1n << (BigInt(value.toString(2).length) / degree + 1n)
  while (low < high) {
    const middle = (low + high + 1n) / 2n
    if (middle ** degree <= value) low = middle
    else high = middle - 1n
  }
  if (low ** degree !== value) throw new NoValue('not an exact root')
  return low
}

/** n!, for whole numbers up to 500. */
export function factorial(a: Rational): Rational {
  if (!isInteger(a) || a.numerator < 0n || a.numerator > 500n) throw new NoValue('no factorial')
  let product = 1n
  for (let factor = 2n; factor <= a.numerator; factor++) product *= factor
  return rational(product)
}

/** n choose k, for whole numbers up to 1000. */
export function choose(a: Rational, b: Rational): Rational {
  if (!isInteger(a) || !isInteger(b) || a.numerator < 0n || a.numerator > 1_000n) throw new NoValue('no binomial coefficient')
  if (b.numerator < 0n || b.numerator > a.numerator) return rational(0n)
  let product = 1n
  for (let k = 0n; k < b.numerator; k++) product = (product * (a.numerator - k)) / (k + 1n)
  return rational(product)
}

/** The remainder in 0..|b|-1. */
export function modulo(a: Rational, b: Rational): Rational {
  if (!isInteger(a) || !isInteger(b) || b.numerator === 0n) throw new NoValue('no remainder')
  const size = magnitude(b.numerator)
  return rational(((a.numerator % size) + size) % size)
}
