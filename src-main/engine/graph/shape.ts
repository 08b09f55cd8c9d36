// Symbolic shapes. A dimension is a number or a product of symbols with a coefficient, written canonically: 'B', 'B*T', '4*B*T'.
// Only products are needed: reshapes multiply dimensions, nothing in a decoder adds them inside one graph.

export type Dimension = number | string
export type Shape = readonly Dimension[]

interface Monomial {
  readonly coefficient: number
  readonly symbols: readonly string[]
}

function parse(dimension: Dimension): Monomial {
  if (typeof dimension === 'number') return { coefficient: dimension, symbols: [] }
  let coefficient = 1
  const symbols: string[] = []
  for (const part of dimension.split('*')) {
    if (/^\d+$/.test(part)) coefficient *= Number(part)
    else symbols.push(part)
  }
  return { coefficient, symbols: symbols.sort() }
}

function format({ coefficient, symbols }: Monomial): Dimension {
  if (symbols.length === 0) return coefficient
  return (coefficient === 1 ? '' : `${coefficient}*`) + symbols.join('*')
}

/** Product of dimensions in canonical form; the empty product is 1. */
export function multiplyDimensions(...dimensions: readonly Dimension[]): Dimension {
  const parts = dimensions.map(parse)
  return format({
    coefficient: parts.reduce((product, part) => product * part.coefficient, 1),
    symbols: parts.flatMap((part) => part.symbols).sort(),
  })
}

/** The plain symbols a dimension is made of: '4*B*T' -> ['B', 'T']. */
export function symbolsOf(dimension: Dimension): readonly string[] {
  return parse(dimension).symbols
}

/** The numeric factor of a dimension: '4*B*T' -> 4. */
export function coefficientOf(dimension: Dimension): number {
  return parse(dimension).coefficient
}

export function sameDimension(a: Dimension, b: Dimension): boolean {
  return multiplyDimensions(a) === multiplyDimensions(b)
}

export function sameShape(a: Shape, b: Shape): boolean {
  return a.length === b.length && a.every((dimension, index) => sameDimension(dimension, b[index] as Dimension))
}

/** Number of elements, symbolic. */
export function elementCount(shape: Shape): Dimension {
  return multiplyDimensions(...shape)
}

/** Numpy broadcasting; undefined when the shapes do not fit. A symbol only fits itself or 1. */
export function broadcastShapes(a: Shape, b: Shape): Shape | undefined {
  const rank = Math.max(a.length, b.length)
  const result: Dimension[] = []
  for (let i = 0; i < rank; i++) {
    const left = a[a.length - rank + i] ?? 1
    const right = b[b.length - rank + i] ?? 1
    if (left === 1) result.push(right)
    else if (right === 1 || sameDimension(left, right)) result.push(left)
    else return undefined
  }
  return result
}

export function formatShape(shape: Shape): string {
  return `[${shape.join(', ')}]`
}

/** Turns a possibly negative axis into its index; undefined when out of range. */
export function normaliseAxis(axis: number, rank: number): number | undefined {
  const index = axis < 0 ? axis + rank : axis
  return index >= 0 && index < rank ? index : undefined
}

/** Concrete sizes of a symbolic shape. */
export function resolveShape(shape: Shape, sizes: Readonly<Record<string, number>>): number[] {
  return shape.map((dimension) =>
    symbolsOf(dimension).reduce((product, symbol) => {
      const size = sizes[symbol]
      if (size === undefined) throw new Error(`no size given for symbol ${symbol} of ${formatShape(shape)}`)
      return product * size
    }, coefficientOf(dimension)),
  )
}
