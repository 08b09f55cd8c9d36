// What has been worked out already, by a text: the newest entries stay, the oldest leave first.

export interface Memory<T> {
  get(key: string): T | undefined
  set(key: string, value: T): void
}

/** Keeps at most `capacity` entries; one that is asked for counts as new again. */
export function createMemory<T>(capacity: number): Memory<T> {
  const entries = new Map<string, T>()
  return {
    get(key) {
      const value = entries.get(key)
      if (value === undefined) return undefined
      entries.delete(key)
      entries.set(key, value)
      return value
    },
    set(key, value) {
      entries.delete(key)
      entries.set(key, value)
      const oldest = entries.keys().next()
      if (entries.size > capacity && oldest.done !== true) entries.delete(oldest.value)
    },
  }
}
