// The algebra library inside a context of the locked-down process: says whether two expressions are the same.
//
//   numbers at random points differ -> different
//   the difference simplifies to 0  -> equal           otherwise: equal at every point, with 40 digits where there are no variables
import { absDependencies, acosDependencies, addDependencies, asinDependencies, atanDependencies, ceilDependencies, combinationsDependencies, cosDependencies, cotDependencies, create, cscDependencies, divideDependencies, evaluateDependencies, expDependencies, factorialDependencies, floorDependencies, gcdDependencies, lcmDependencies, log10Dependencies, logDependencies, maxDependencies, minDependencies, modDependencies, multiplyDependencies, nthRootDependencies, parseDependencies, powDependencies, rationalizeDependencies, secDependencies, simplifyDependencies, sinDependencies, sqrtDependencies, subtractDependencies, tanDependencies, unaryMinusDependencies, type FactoryFunctionMap, type MathNode, eDependencies, iDependencies, piDependencies, bignumberDependencies } from 'mathjs'

const dependencies = { absDependencies, acosDependencies, addDependencies, asinDependencies, atanDependencies, ceilDependencies, combinationsDependencies, cosDependencies, cotDependencies, cscDependencies, divideDependencies, evaluateDependencies, expDependencies, factorialDependencies, floorDependencies, gcdDependencies, lcmDependencies, log10Dependencies, logDependencies, maxDependencies, minDependencies, modDependencies, multiplyDependencies, nthRootDependencies, parseDependencies, powDependencies, rationalizeDependencies, secDependencies, simplifyDependencies, sinDependencies, sqrtDependencies, subtractDependencies, tanDependencies, unaryMinusDependencies, eDependencies, iDependencies, piDependencies, bignumberDependencies } as FactoryFunctionMap
const numbers = create(dependencies, { number: 'number' })
const digits = create(dependencies, { number: 'BigNumber', precision: 50 })

const page = globalThis as unknown as Record<string, unknown>
const secret = page['satchelSecret']
delete page['satchelSecret']

page['satchelCommand'] = (given: unknown, name: unknown, input: unknown): string => {
  if (given !== secret) throw new TypeError('this is not for the page')
  if (name !== 'call') return ''
  const { a, b } = JSON.parse(String(input)) as { a: string; b: string }
  return JSON.stringify(compare(a, b))
}

type Verdict = 'equal' | 'different' | 'unknown'

function compare(a: string, b: string): Verdict {
  const [left, right] = [numbers.parse(a), numbers.parse(b)]
  const names = [...new Set([...variables(left), ...variables(right)])]
  let compared = 0
  for (const point of points(names)) {
    const [x, y] = [valueAt(left, point), valueAt(right, point)]
    if (x === undefined && y === undefined) continue
    if (x === undefined || y === undefined || !close(x, y, 1e-9)) return 'different'
    compared += 1
  }
  if (compared === 0) return 'unknown'
  if (names.length === 0) return closeInDigits(a, b) ? 'equal' : 'different'
  return simplifies(`(${a}) - (${b})`) || compared >= 5 ? 'equal' : 'unknown'
}

function variables(node: MathNode): string[] {
  return node.filter((part) => 'isSymbolNode' in part && /^v_/.test(String((part as unknown as { name: string }).name))).map((part) => String((part as unknown as { name: string }).name))
}

/** Points on both sides of zero, none of them special to anything. */
function points(names: readonly string[]): Map<string, number>[] {
  if (names.length === 0) return [new Map<string, number>()]
  return [0.7390851, 1.6180339, 2.7236415, 5.4413980, -0.5671432, -1.3247179, -3.3598856, 11.0901699].map((base, row) => new Map(names.map((name, column) => [name, base * (1 + 0.37 * column) + 0.11 * row])))
}

interface Complex {
  readonly re: number
  readonly im: number
}

/** The value at a point; undefined where there is none. */
function valueAt(node: MathNode, point: Map<string, number>): Complex | undefined {
  let value: unknown
  try {
    value = node.evaluate(point)
  } catch {
    return undefined
  }
  const { re, im } = typeof value === 'number' ? { re: value, im: 0 } : (value as Complex)
  return typeof re === 'number' && typeof im === 'number' && Number.isFinite(re) && Number.isFinite(im) ? { re, im } : undefined
}

function close(a: Complex, b: Complex, tolerance: number): boolean {
  const size = Math.max(1, Math.hypot(a.re, a.im), Math.hypot(b.re, b.im))
  return Math.hypot(a.re - b.re, a.im - b.im) <= tolerance * size
}

/** Two constants with 50 digits; where the library cannot count that far, double precision has to do. */
function closeInDigits(a: string, b: string): boolean {
  try {
    const difference = digits.evaluate(`abs((${a}) - (${b}))`) as { readonly isBigNumber?: boolean; toString(): string }
    // Complex numbers have no more than double precision.
    if (difference.isBigNumber !== true) return true
    return Number(difference.toString()) <= 1e-40 * Math.max(1, Number(String(digits.evaluate(`abs(${a})`))))
  } catch {
    return true
  }
}

function simplifies(difference: string): boolean {
  try {
    return numbers.simplify(difference).toString() === '0' || numbers.rationalize(difference).toString() === '0'
  } catch {
    return false
  }
}
