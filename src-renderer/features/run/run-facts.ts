// Single values out of a run's configuration, which may be of any version: what is not there is undefined.

type Description = Readonly<Record<string, unknown>>

/** The value at a path such as `rollout.maxNewTokens`. */
export function fieldOf(description: Description, path: string): unknown {
  let value: unknown = description
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null) return undefined
    value = (value as Record<string, unknown>)[name]
  }
  return value
}

export function numberOf(description: Description, path: string): number | undefined {
  const value = fieldOf(description, path)
  return typeof value === 'number' ? value : undefined
}

export function textOf(description: Description, path: string): string | undefined {
  const value = fieldOf(description, path)
  return typeof value === 'string' ? value : undefined
}

/** The last part of a path of any system. */
export function baseName(path: string): string {
  return path.split(/[\\/]/).filter((part) => part !== '').at(-1) ?? path
}
