// Where an arrow key leads from a token. Pure.
import type { TokenLine } from './token-lines.ts'

function verticalTarget(lines: readonly TokenLine[], active: number, step: 1 | -1): number | null {
  const row = lines.findIndex((line) => line.pieces.some((piece) => piece.token === active))
  const here = lines[row]
  if (here === undefined) return null
  const column = characterColumn(here, active)
  for (let next = row + step; next >= 0 && next < lines.length; next += step) {
    const line = lines[next]
    const target = line === undefined || line.pieces.length === 0 ? active : tokenAtColumn(line, column)
    // A token that holds several line ends fills whole lines of its own.
    if (target !== active) return target
  }
  return null
}

function characterColumn(line: TokenLine, token: number): number {
  let column = 0
  for (const piece of line.pieces) {
    if (piece.token === token) return column
    column += piece.text.length
  }
  return column
}

function tokenAtColumn(line: TokenLine, column: number): number {
  let passed = 0
  let last = 0
  for (const piece of line.pieces) {
    last = piece.token
    passed += piece.text.length
    if (passed > column) break
  }
  return last
}

/** The token a key leads to, or null when the key means nothing here. Starts at the first token when none is active. */
export function nextToken(lines: readonly TokenLine[], active: number | null, key: string): number | null {
  const tokens = lines.flatMap((line) => line.pieces.map((piece) => piece.token))
  const last = tokens.at(-1)
  if (last === undefined) return null
  switch (key) {
    case 'ArrowRight':
      return active === null ? 0 : Math.min(last, active + 1)
    case 'ArrowLeft':
      return active === null ? 0 : Math.max(0, active - 1)
    case 'ArrowDown':
      return active === null ? 0 : verticalTarget(lines, active, 1)
    case 'ArrowUp':
      return active === null ? 0 : verticalTarget(lines, active, -1)
    case 'Home':
      return 0
    case 'End':
      return last
    default:
      return null
  }
}
