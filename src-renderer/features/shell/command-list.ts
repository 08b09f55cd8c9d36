// What the command palette offers, and which of it fits what was typed.

export interface Command {
  readonly id: string
  readonly title: string
  /** What kind of thing it is: a page, a run, an action. */
  readonly kind: string
  readonly act: () => void
}

/** Commands whose title holds all typed words, in their order; those that begin with the text first. */
export function matching(commands: readonly Command[], typed: string): Command[] {
  const text = typed.trim().toLowerCase()
  if (text === '') return [...commands]
  const words = text.split(/\s+/)
  const rank = ({ title }: Command): number => (title.toLowerCase().startsWith(text) ? 0 : 1)
  return commands
    .filter(({ title, kind }) => words.every((word) => `${title} ${kind}`.toLowerCase().includes(word)))
    .toSorted((a, b) => rank(a) - rank(b))
}
