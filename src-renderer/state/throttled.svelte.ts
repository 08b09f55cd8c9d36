// A value taken over at most so often: what is costly to draw need not follow every event.

/** The newest value of `read` at most every `milliseconds` (of that value); a value that comes earlier waits for its turn and is not lost. Call it in a component. */
export function throttled<Value>(read: () => Value, milliseconds: (value: Value) => number): { readonly current: Value } {
  let current = $state.raw(read())
  let last = 0
  $effect(() => {
    const value = read()
    const wait = last + milliseconds(value) - performance.now()
    const take = (): void => {
      last = performance.now()
      current = value
    }
    if (wait <= 0) {
      take()
      return
    }
    const timer = setTimeout(take, wait)
    return () => clearTimeout(timer)
  })
  return {
    get current() {
      return current
    },
  }
}
