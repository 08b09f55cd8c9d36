// Names of long work. The app knows work by the name its page gave it, and outlives the page: a page that was opened again may not
// meet names that the one before has given.
const page = Date.now().toString(36)
let given = 0

/** A name nobody has used before, such as `plan-mk2f9q1-3`. */
export function workName(kind: string): string {
  given += 1
  return `${kind}-${page}-${given}`
}
