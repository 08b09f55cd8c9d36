// Finds the program inside a completion: a fenced block where there is one, otherwise the whole text.

/** The program and where it lies: `text.slice(start, start + code.length) === code`. */
export interface CodeBlock {
  readonly code: string
  /** UTF-16 position of the program in the completion. */
  readonly start: number
  readonly fenced: boolean
}

// Spaces stand in one place only: two that follow each other would be tried in every division of a long run of them.
const openingFence = /^[ \t]*```[ \t]*(?:(jsx|tsx|javascript|js|typescript|ts)[ \t]*)?(?:\r\n|\n|\r)/gim
const closingFence = /^[ \t]*```/gm

/**
 * The program of a completion. Text before the end of a thinking section is skipped. Of several fenced blocks the first with a
 * JSX or TypeScript label counts, else the first; a fence that is never closed reaches to the end.
 */
export function extractCode(text: string): CodeBlock {
  const thinking = text.lastIndexOf('</think>')
  const from = thinking < 0 ? 0 : thinking + '</think>'.length
  const blocks: { start: number; end: number; labelled: boolean }[] = []
  openingFence.lastIndex = from
  for (let open = openingFence.exec(text); open !== null; open = openingFence.exec(text)) {
    const start = open.index + open[0].length
    closingFence.lastIndex = start
    const close = closingFence.exec(text)
    const end = close === null ? text.length : close.index
    blocks.push({ start, end, labelled: open[1] !== undefined })
    if (close === null) break
    openingFence.lastIndex = close.index + close[0].length
  }
  const block = blocks.find((candidate) => candidate.labelled) ?? blocks[0]
  if (block === undefined) return { code: text.slice(from), start: from, fenced: false }
  return { code: text.slice(block.start, block.end), start: block.start, fenced: true }
}
