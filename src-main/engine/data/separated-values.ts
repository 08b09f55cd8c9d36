// Rows of CSV and TSV: cells divided by one character, quoted where they hold it (RFC 4180). Line ends of all systems.

/** The character that divides most cells of the first row: a comma, semicolon, tab or bar. */
export function guessDelimiter(firstRow: string): string {
  const counts = [',', ';', '\t', '|'].map((delimiter) => ({ delimiter, cells: splitRow(firstRow, delimiter).length }))
  return counts.reduce((best, other) => (other.cells > best.cells ? other : best)).delimiter
}

/** The cells of one row. A quote inside a quoted cell is written twice. */
export function splitRow(row: string, delimiter: string): string[] {
  const text = row.endsWith('\r') ? row.slice(0, -1) : row
  const cells: string[] = []
  let at = 0
  for (;;) {
    if (text[at] === '"') {
      const { cell, after } = quotedCell(text, at + 1)
      const next = text.indexOf(delimiter, after)
      const end = next < 0 ? text.length : next
      // What stands between the closing quote and the next delimiter belongs to the cell as well.
      cells.push(cell + text.slice(after, end))
      if (next < 0) return cells
      at = next + 1
    } else {
      const next = text.indexOf(delimiter, at)
      cells.push(text.slice(at, next < 0 ? text.length : next))
      if (next < 0) return cells
      at = next + 1
    }
  }
}

function quotedCell(text: string, from: number): { cell: string; after: number } {
  let cell = ''
  let at = from
  for (;;) {
    const end = text.indexOf('"', at)
    if (end < 0) return { cell: cell + text.slice(at), after: text.length }
    cell += text.slice(at, end)
    if (text[end + 1] !== '"') return { cell, after: end + 1 }
    cell += '"'
    at = end + 2
  }
}
