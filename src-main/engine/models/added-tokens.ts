// Tokens that are matched in the text before the byte-pair model sees it, such as <|im_end|>.

/** An entry of `added_tokens` in tokenizer.json. */
export interface AddedToken {
  readonly id: number
  readonly content: string
  /** Control token: never made from user text, skipped when decoding. */
  readonly special: boolean
  /** Takes the white space before (after) it along. */
  readonly lstrip: boolean
  readonly rstrip: boolean
  /** Matches only where no word character touches it. */
  readonly singleWord: boolean
  /** Matched in the normalised text instead of the raw text. */
  readonly normalized: boolean
}

/** A stretch of text, or an added token that was found. */
export type Piece = string | AddedToken

/** A token beside the text it is matched by (its content, normalised where the token wants it). */
export interface TokenPattern {
  readonly pattern: string
  readonly token: AddedToken
}

const WORD_BEFORE = /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]$/u
const WORD_AFTER = /^[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]/u
const SPACE_BEFORE = /\p{White_Space}+$/u
const SPACE_AFTER = /^\p{White_Space}+/u

/** Makes a function that cuts a text at the leftmost, longest matches of the patterns; empty stretches are left out. */
export function createSplitter(patterns: readonly TokenPattern[]): (text: string) => Piece[] {
  const byPattern = new Map(patterns.filter(({ pattern }) => pattern !== '').map(({ pattern, token }) => [pattern, token]))
  if (byPattern.size === 0) return (text) => (text === '' ? [] : [text])
  // An alternation takes its first alternative that fits, so the longest comes first.
  const ordered = [...byPattern.keys()].toSorted((a, b) => b.length - a.length)
  const source = ordered.map((pattern) => pattern.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&')).join('|')
  return (text) => {
    const pieces: Piece[] = []
    let position = 0
    for (const match of text.matchAll(new RegExp(source, 'g'))) {
      const token = byPattern.get(match[0]) as AddedToken
      let start = match.index
      let end = start + match[0].length
      if (token.singleWord && (WORD_BEFORE.test(text.slice(Math.max(0, start - 2), start)) || WORD_AFTER.test(text.slice(end, end + 2)))) continue
      if (token.lstrip) start -= SPACE_BEFORE.exec(text.slice(0, start))?.[0].length ?? 0
      if (token.rstrip) end += SPACE_AFTER.exec(text.slice(end))?.[0].length ?? 0
      if (start > position) pieces.push(text.slice(position, start))
      pieces.push(token)
      position = end
    }
    if (position < text.length) pieces.push(text.slice(position))
    return pieces
  }
}
