// Keeps text that people (or models) wrote from turning into control tokens once a chat template has wrapped it.
//
// A template is a program: it trims, joins and tests the contents it is given, so contents cannot simply be cut out of the
// rendered text. Instead, whatever in a content could become part of a control token is replaced by one private-use character
// before rendering, and put back as plain text when the rendered text is encoded, after control tokens have been matched.
// Everything else in the contents stays as it is, so the template's own logic and the tokenisation around it are those of the reference.

/** Replaces and restores look-alikes; made for one rendering. */
export interface LookAlikes {
  /** A content without anything that could become a control token. */
  hide(text: string): string
  /** What each replacement character stands for. */
  readonly hidden: ReadonlyMap<string, string>
}

const FIRST_PRIVATE_USE = 0xe000
const LAST_PRIVATE_USE = 0xf8ff

/**
 * @param controls contents of the control tokens
 * @param inUse all texts that will be rendered, template included: characters in them are not used as replacements
 */
export function createLookAlikes(controls: readonly string[], inUse: readonly string[]): LookAlikes {
  const hidden = new Map<string, string>()
  const replacements = new Map<string, string>()
  const taken = new Set<string>()
  for (const text of inUse) for (const char of text.match(/[\uE000-\uF8FF]/g) ?? []) taken.add(char)
  let next = FIRST_PRIVATE_USE

  function replacementFor(text: string): string {
    const known = replacements.get(text)
    if (known !== undefined) return known
    while (next <= LAST_PRIVATE_USE && taken.has(String.fromCharCode(next))) next += 1
    if (next > LAST_PRIVATE_USE) throw new Error('no private-use character is left to stand for a control token in the contents')
    const char = String.fromCharCode(next)
    next += 1
    replacements.set(text, char)
    hidden.set(char, text)
    return char
  }

  const ordered = controls.filter((control) => control !== '').toSorted((a, b) => b.length - a.length)
  const whole = ordered.length === 0 ? null : new RegExp(ordered.map((control) => control.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&')).join('|'), 'g')

  function hide(text: string): string {
    if (whole === null) return text
    const inner = text.replace(whole, replacementFor)
    return hideEdges(inner, ordered, replacementFor)
  }
  return { hide, hidden }
}

/**
 * A content may also end with the beginning of a control token, or begin with the end of one, which the template's text would
 * complete. White space at the edges is looked through, because templates trim it.
 */
function hideEdges(text: string, controls: readonly string[], replacementFor: (text: string) => string): string {
  const core = text.trim()
  if (core === '') return text
  const before = text.slice(0, text.indexOf(core))
  const after = text.slice(before.length + core.length)
  if (controls.some((control) => control.includes(core))) return before + replacementFor(core) + after
  const tail = longest(controls, (control, length) => core.endsWith(control.slice(0, length)))
  const head = longest(controls, (control, length) => core.startsWith(control.slice(control.length - length)))
  if (head + tail > core.length) return before + replacementFor(core) + after
  const start = head === 0 ? '' : replacementFor(core.slice(0, head))
  const end = tail === 0 ? '' : replacementFor(core.slice(core.length - tail))
  return before + start + core.slice(head, core.length - tail) + end + after
}

/** Greatest length, shorter than the control token itself, that fits any of them. */
function longest(controls: readonly string[], fits: (control: string, length: number) => boolean): number {
  let best = 0
  for (const control of controls) for (let length = control.length - 1; length > best; length -= 1) if (fits(control, length)) best = length
  return best
}
