// What a call gave, as the sandbox's kit writes it, against what a case expects. Expected values never enter the sandbox.

/** A call's outcome: a value, or an error with the 1-based line it came from (0 where unknown). */
export type CallOutcome = { readonly value: unknown } | { readonly error: string; readonly line: number }

/** Reads the kit's answer; anything else counts as an error. */
export function readOutcome(text: string): CallOutcome {
  const answer = JSON.parse(text) as { value?: unknown; error?: unknown; line?: unknown }
  if ('value' in answer) return { value: answer.value }
  return { error: typeof answer.error === 'string' ? answer.error : 'the sandbox gave no answer', line: typeof answer.line === 'number' ? answer.line : 0 }
}

/**
 * Whether a result is what a case expects. Numbers may differ by the tolerance, relative to the expected one (below 1 absolute);
 * keys of objects may stand in any order; undefined, NaN, maps and other things JSON cannot say equal nothing.
 */
export function matches(result: unknown, expected: unknown, tolerance: number): boolean {
  if (typeof expected === 'number') return typeof result === 'number' && Math.abs(result - expected) <= tolerance * Math.max(1, Math.abs(expected))
  if (typeof expected !== 'object' || expected === null) return result === expected
  if (Array.isArray(expected)) return Array.isArray(result) && result.length === expected.length && expected.every((item, index) => matches(result[index], item, tolerance))
  if (typeof result !== 'object' || result === null || Array.isArray(result)) return false
  const wanted = Object.entries(expected).map(([key, value]) => [key.startsWith('$') ? `$${key}` : key, value] as const)
  return Object.keys(result).length === wanted.length && wanted.every(([key, value]) => Object.hasOwn(result, key) && matches((result as Readonly<Record<string, unknown>>)[key], value, tolerance))
}
