// Arithmetic as people write it, plain or in LaTeX: text -> tree -> exact value, or a text for the algebra library.
//
//   sum = product (+|- product)*     product = factor (*|/|mod|nothing factor)*     factor = -factor | power
//   power = postfix (^ factor)?      postfix = primary (!|%)*                       primary = number, name, f(...), \frac{}{}, (...)
//
// Nothing of the text itself ever reaches the algebra library: only what this grammar knows.
import { add, choose, divide, factorial, isInteger, modulo, multiply, negate, NoValue, power, rational, root, subtract, type Rational } from './rational.ts'

export type Expression =
  | { readonly kind: 'number'; readonly value: Rational; readonly decimals: number }
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'operation'; readonly operator: '+' | '-' | '*' | '/' | '^' | 'mod'; readonly left: Expression; readonly right: Expression }
  | { readonly kind: 'call'; readonly name: string; readonly parameters: readonly Expression[] }

/** The text is not arithmetic this grammar knows. */
export class Unreadable extends Error {}

export interface Token {
  readonly kind: 'number' | 'name' | 'function' | 'symbol' | 'word'
  readonly text: string
  /** UTF-16 position in the text given to `tokenise`. */
  readonly start: number
  readonly end: number
}

/** Functions by their name, and how many parameters they take; 0 for any number. */
const functions: Readonly<Record<string, number>> = { sqrt: 1, root: 2, abs: 1, floor: 1, ceil: 1, gcd: 0, lcm: 0, min: 0, max: 0, binom: 2, factorial: 1, sin: 1, cos: 1, tan: 1, cot: 1, sec: 1, csc: 1, arcsin: 1, arccos: 1, arctan: 1, log: 1, logbase: 2, ln: 1, exp: 1 }
const constants = new Set(['pi', 'e', 'i'])
const greek = 'alpha|beta|gamma|delta|epsilon|theta|lambda|mu|nu|rho|sigma|tau|phi|varphi|omega'
const symbols: readonly (readonly [RegExp, string])[] = [
  [/^(?:\*\*|\^)/, '^'], [/^(?:\\(?:times|cdot)(?![a-zA-Z])|[*×·⋅∙])/, '*'], [/^(?:\\div(?![a-zA-Z])|[/÷])/, '/'], [/^[-−–]/, '-'], [/^\+/, '+'], [/^!(?!=)/, '!'], [/^\\?%/, '%'],
  [/^(?:\\equiv(?![a-zA-Z])|≡)/, '≡'], [/^=/, '='], [/^(?:\\left)?\(|^\\bigl?\(/, '('], [/^(?:\\right)?\)|^\\bigr?\)/, ')'], [/^\\lfloor/, '⌊'], [/^\\rfloor/, '⌋'], [/^(?:\\left)?\\?\{/, '{'], [/^(?:\\right)?\\?\}/, '}'], [/^(?:\\left)?\[/, '['], [/^(?:\\right)?\]/, ']'], [/^(?:\\left|\\right)?\|/, '|'], [/^,/, ','],
  [/^\\[dt]?frac(?![a-zA-Z])/, 'frac'], [/^(?:\\[bp]?mod|mod)(?![a-zA-Z])/, 'mod'],
]
const skipped = /^(?:\s+|\$|\\[,;!: ()[\]]|\\(?:quad|qquad|displaystyle)(?![a-zA-Z])|~|\^\s*\{?\s*(?:\\circ|°)\s*\}?|°|\{,\}|\\(?:text|mathrm|mbox|textbf)\s*\{[^{}]*\})/
const superscripts: Readonly<Record<string, string>> = { '²': '2', '³': '3' }

/** Splits a text into tokens. What it does not know becomes a `word`, which no expression can contain. */
export function tokenise(text: string): Token[] {
  const tokens: Token[] = []
  for (let at = 0; at < text.length; ) {
    const rest = text.slice(at, at + 64)
    const blank = skipped.exec(rest)
    if (blank !== null) {
      at += blank[0].length
      continue
    }
    const found = readToken(rest)
    for (const { kind, text: value } of found.tokens) tokens.push({ kind, text: value, start: at, end: at + found.length })
    at += found.length
  }
  return tokens
}

function readToken(rest: string): { readonly length: number; readonly tokens: readonly Pick<Token, 'kind' | 'text'>[] } {
  const number = /^(?:\d{1,3}(?:(?:,|\{,\})\d{3})+(?!\d)|\d+)(?:\.\d+)?|^\.\d+/.exec(rest)
  if (number !== null) return { length: number[0].length, tokens: [{ kind: 'number', text: number[0].replace(/[,{}]/g, '') }] }
  // \frac12 is a half.
  const half = /^\\[dt]?frac\s*(\d)\s*(\d)/.exec(rest)
  if (half !== null) return { length: half[0].length, tokens: [{ kind: 'symbol', text: 'frac' }, { kind: 'number', text: half[1] as string }, { kind: 'number', text: half[2] as string }] }
  const raised = superscripts[rest[0] as string]
  if (raised !== undefined) return { length: 1, tokens: [{ kind: 'symbol', text: '^' }, { kind: 'number', text: raised }] }
  for (const [pattern, symbol] of symbols) {
    const match = pattern.exec(rest)
    if (match !== null) return { length: match[0].length, tokens: [{ kind: 'symbol', text: symbol }] }
  }
  const logarithm = /^\\?log_(?:\{(\d{1,9})\}|(\d))/.exec(rest)
  if (logarithm !== null) return { length: logarithm[0].length, tokens: [{ kind: 'function', text: 'logbase' }, { kind: 'number', text: logarithm[1] ?? (logarithm[2] as string) }] }
  const special = /^(?:√|π)/.exec(rest)
  if (special !== null) return { length: 1, tokens: [special[0] === 'π' ? { kind: 'name', text: 'pi' } : { kind: 'function', text: 'sqrt' }] }
  const name = new RegExp(`^\\\\?(?:operatorname\\{([a-z]+)\\}|(pi|${greek})(?![a-zA-Z])|([a-zA-Z]+))`).exec(rest)
  const indexed = /^([a-zA-Z])_(?:\{([a-zA-Z0-9]{1,8})\}|([a-zA-Z0-9]))/.exec(rest)
  if (indexed !== null) return { length: indexed[0].length, tokens: [{ kind: 'name', text: `${indexed[1]}_${indexed[2] ?? indexed[3]}` }] }
  if (name === null) return { length: rest.codePointAt(0)! > 0xffff ? 2 : 1, tokens: [{ kind: 'word', text: rest[0] as string }] }
  return { length: name[0].length, tokens: nameTokens(name[1] ?? name[2] ?? (name[3] as string), name[2] !== undefined) }
}

function nameTokens(name: string, isSymbol: boolean): Pick<Token, 'kind' | 'text'>[] {
  if (Object.hasOwn(functions, name)) return [{ kind: 'function', text: name }]
  if (name.length === 1 || isSymbol) return [{ kind: 'name', text: name }]
  return [{ kind: 'word', text: name }]
}

const deepest = 120
const mostTokens = 1_000

/** Parses tokens from `from` up to (not including) `to`. @throws Unreadable */
export function parseTokens(tokens: readonly Token[], from = 0, to = tokens.length): Expression {
  if (to - from > mostTokens) throw new Unreadable('too long')
  let at = from
  let depth = 0
  const peek = (): string => (at < to ? tokenKey(tokens[at]!) : '')
  const take = (symbol: string): boolean => {
    if (peek() !== symbol) return false
    at += 1
    return true
  }
  const expect = (symbol: string): void => {
    if (!take(symbol)) throw new Unreadable(`${symbol} expected`)
  }
  const nested = (read: () => Expression): Expression => {
    if (++depth > deepest) throw new Unreadable('nested too deeply')
    const value = read()
    depth -= 1
    return value
  }
  const sum = (): Expression => nested(() => {
    let left = product()
    for (;;) {
      const operator = peek()
      if (operator !== '+' && operator !== '-') return left
      at += 1
      left = { kind: 'operation', operator, left, right: product() }
    }
  })
  const product = (): Expression => {
    let left = factor()
    for (;;) {
      const operator = peek()
      if (operator === '*' || operator === '/' || operator === 'mod') {
        at += 1
        left = { kind: 'operation', operator, left, right: factor() }
      } else if (beginsFactor(operator) && !(tokens[at]!.kind === 'number')) left = { kind: 'operation', operator: '*', left, right: raised() }
      else return left
    }
  }
  const factor = (): Expression => {
    if (take('-')) return nested(() => ({ kind: 'operation', operator: '-', left: zero, right: factor() }))
    if (take('+')) return nested(factor)
    return raised()
  }
  const raised = (): Expression => {
    const base = postfix()
    return take('^') ? nested(() => ({ kind: 'operation', operator: '^', left: base, right: peek() === '{' ? group('{', '}') : factor() })) : base
  }
  const postfix = (): Expression => {
    let value = primary()
    for (;;) {
      if (take('!')) value = { kind: 'call', name: 'factorial', parameters: [value] }
      else if (peek() === '%') {
        at += 1
        // Between two numbers it is a remainder, behind one a hundredth.
        value = at < to && tokens[at]!.kind === 'number' ? { kind: 'operation', operator: 'mod', left: value, right: primary() } : { kind: 'operation', operator: '/', left: value, right: hundred }
      } else return value
    }
  }
  const group = (open: string, close: string): Expression => {
    expect(open)
    const value = sum()
    expect(close)
    return value
  }
  /** A LaTeX argument: a group, or a single token. */
  const argument = (): Expression => (peek() === '{' ? group('{', '}') : primary())
  const call = (name: string): Expression => {
    if (name === 'sqrt' && peek() === '[') {
      const degree = group('[', ']')
      return { kind: 'call', name: 'root', parameters: [argument(), degree] }
    }
    if (name === 'logbase') {
      const base = primary()
      return { kind: 'call', name, parameters: [raised(), base] }
    }
    // sin^2 x is the square of sin x.
    if (name !== 'sqrt' && name !== 'binom' && take('^')) return { kind: 'operation', operator: '^', right: argument(), left: call(name) }
    if (name === 'binom') return { kind: 'call', name, parameters: [argument(), argument()] }
    const parameters: Expression[] = []
    if (take('(')) {
      do parameters.push(sum())
      while (take(','))
      expect(')')
    } else parameters.push(peek() === '{' ? group('{', '}') : name === 'sqrt' ? primary() : bareArgument())
    const wanted = functions[name] as number
    if (wanted !== 0 && parameters.length !== wanted) throw new Unreadable(`${name} takes ${wanted}`)
    return { kind: 'call', name, parameters }
  }
  /** cos 2x is the cosine of 2x: numbers and names that follow belong to the function, brackets and functions do not. */
  const bareArgument = (): Expression => {
    let value = raised()
    while (at < to && tokens[at]!.kind === 'name') value = { kind: 'operation', operator: '*', left: value, right: raised() }
    return value
  }
  const primary = (): Expression => {
    if (at >= to) throw new Unreadable('the end')
    const token = tokens[at]!
    if (token.kind === 'number') {
      at += 1
      return numberOf(token.text)
    }
    if (token.kind === 'name') {
      at += 1
      return { kind: 'name', name: token.text }
    }
    if (token.kind === 'function') {
      at += 1
      return nested(() => call(token.text))
    }
    if (take('frac')) return { kind: 'operation', operator: '/', left: argument(), right: argument() }
    if (peek() === '(') return group('(', ')')
    if (peek() === '{') return group('{', '}')
    if (peek() === '⌊') return { kind: 'call', name: 'floor', parameters: [group('⌊', '⌋')] }
    if (peek() === '|') return { kind: 'call', name: 'abs', parameters: [group('|', '|')] }
    throw new Unreadable(`${token.text} is not arithmetic`)
  }
  const value = sum()
  if (at < to) throw new Unreadable(`${tokens[at]!.text} is left over`)
  return value
}

const tokenKey = (token: Token): string => (token.kind === 'symbol' ? token.text : `${token.kind}:`)
const beginsFactor = (key: string): boolean => key === '(' || key === '{' || key === 'frac' || key === '⌊' || key === 'name:' || key === 'function:' || key === 'number:'
const zero: Expression = { kind: 'number', value: rational(0n), decimals: 0 }
const hundred: Expression = { kind: 'number', value: rational(100n), decimals: 0 }

function numberOf(text: string): Expression {
  if (text.length > 400) throw new Unreadable('too many digits')
  const [whole = '', decimals = ''] = text.split('.')
  return { kind: 'number', value: rational(BigInt(`${whole}${decimals}`), 10n ** BigInt(decimals.length)), decimals: decimals.length }
}

/** Parses a text. @throws Unreadable */
export function parseExpression(text: string): Expression {
  return parseTokens(tokenise(text))
}

/**
 * The exact value.
 * @param names values of names; one that is missing has no value
 * @throws NoValue when it has none: an unknown name, a root or logarithm that is not rational, a division by zero, absurd size
 */
export function evaluate(expression: Expression, names: ReadonlyMap<string, Rational>): Rational {
  switch (expression.kind) {
    case 'number':
      return expression.value
    case 'name': {
      const value = names.get(expression.name)
      if (value === undefined) throw new NoValue(`${expression.name} is not known`)
      return value
    }
    case 'call':
      return evaluateCall(expression.name, expression.parameters.map((parameter) => evaluate(parameter, names)))
    case 'operation': {
      const left = evaluate(expression.left, names)
      const right = evaluate(expression.right, names)
      switch (expression.operator) {
        case '+':
          return add(left, right)
        case '-':
          return subtract(left, right)
        case '*':
          return multiply(left, right)
        case '/':
          return divide(left, right)
        case '^':
          return power(left, right)
        case 'mod':
          return modulo(left, right)
      }
    }
  }
}

function evaluateCall(name: string, values: readonly Rational[]): Rational {
  const [first, second] = values as [Rational, Rational]
  const floor = (value: Rational): Rational => rational((value.numerator - ((value.numerator % value.denominator) + value.denominator) % value.denominator) / value.denominator)
  const least = (a: Rational, b: Rational): Rational => (subtract(a, b).numerator < 0n ? a : b)
  switch (name) {
    case 'sqrt':
      return rational(root(first.numerator, 2n), root(first.denominator, 2n))
    case 'root':
      return power(first, divide(rational(1n), second))
    case 'abs':
      return first.numerator < 0n ? negate(first) : first
    case 'floor':
      return floor(first)
    case 'ceil':
      return negate(floor(negate(first)))
    case 'gcd':
      return values.reduce((a, b) => commonDivisor(a, b))
    case 'lcm':
      return values.reduce((a, b) => (a.numerator === 0n || b.numerator === 0n ? rational(0n) : divide(multiply(a, b), commonDivisor(a, b))))
    case 'min':
      return values.reduce(least)
    case 'max':
      return values.reduce((a, b) => negate(least(negate(a), negate(b))))
    case 'binom':
      return choose(first, second)
    case 'factorial':
      return factorial(first)
    default:
      throw new NoValue(`${name} is not rational`)
  }
}

function commonDivisor(a: Rational, b: Rational): Rational {
  if (!isInteger(a) || !isInteger(b)) throw new NoValue('no common divisor')
  let [x, y] = [a.numerator < 0n ? -a.numerator : a.numerator, b.numerator < 0n ? -b.numerator : b.numerator]
  while (y !== 0n) [x, y] = [y, x % y]
  return rational(x)
}

/** Operations and calls in an expression. */
export function operations(expression: Expression): number {
  switch (expression.kind) {
    case 'number':
    case 'name':
      return 0
    case 'operation':
      // A sign is no operation.
      return Number(expression.left !== zero) + operations(expression.left) + operations(expression.right)
    case 'call':
      return 1 + expression.parameters.reduce((sum, parameter) => sum + operations(parameter), 0)
  }
}

/** Names in an expression that are no constants. */
export function freeNames(expression: Expression): Set<string> {
  switch (expression.kind) {
    case 'number':
      return new Set()
    case 'name':
      return new Set(constants.has(expression.name) ? [] : [expression.name])
    case 'operation':
      return new Set([...freeNames(expression.left), ...freeNames(expression.right)])
    case 'call':
      return new Set(expression.parameters.flatMap((parameter) => [...freeNames(parameter)]))
  }
}

/** The expression as the algebra library reads it; also a form in which two spellings of the same expression are equal. */
export function toText(expression: Expression): string {
  switch (expression.kind) {
    case 'number':
      return expression.value.denominator === 1n ? `${expression.value.numerator}` : `(${expression.value.numerator}/${expression.value.denominator})`
    case 'name':
      // The library has units and functions under many names; variables get one of ours.
      return constants.has(expression.name) ? expression.name : `v_${expression.name}`
    case 'operation':
      return `(${toText(expression.left)} ${expression.operator} ${toText(expression.right)})`
    case 'call': {
      const [first, second] = expression.parameters.map(toText)
      const renamed: Readonly<Record<string, string>> = { ln: 'log', arcsin: 'asin', arccos: 'acos', arctan: 'atan', binom: 'combinations', logbase: 'log', root: 'nthRoot' }
      if (expression.name === 'log') return `log10(${first})`
      return `${renamed[expression.name] ?? expression.name}(${[first, second, ...expression.parameters.slice(2).map(toText)].filter((part) => part !== undefined).join(', ')})`
    }
  }
}
