// Which rows of a long table are in sight. Browsers draw elements up to some tens of millions of pixels: a longer table is drawn shorter
// than it is, and its scroll bar moves over more rows a pixel.

export interface TableSize {
  readonly rows: number
  /** Pixels. */
  readonly rowHeight: number
  readonly viewport: number
}

const highest = 8_000_000

/** Height of the element the rows move in, pixels. */
export function tableHeight(rows: number, rowHeight: number): number {
  return Math.min(rows * rowHeight, highest)
}

function isScaled({ rows, rowHeight }: TableSize): boolean {
  return rows * rowHeight > highest
}

/** The first row in sight at a scroll position. */
export function firstRowAt(scrollTop: number, size: TableSize): number {
  const { rows, rowHeight, viewport } = size
  const fitting = Math.floor(viewport / rowHeight)
  const last = Math.max(0, rows - fitting)
  if (!isScaled(size)) return Math.min(last, Math.max(0, Math.floor(scrollTop / rowHeight)))
  const share = Math.min(1, Math.max(0, scrollTop / (highest - viewport)))
  return Math.round(share * last)
}

/** The scroll position that has a row in the middle of the sight, or as near as the ends allow. */
export function scrollTopFor(row: number, size: TableSize): number {
  const { rows, rowHeight, viewport } = size
  const fitting = Math.floor(viewport / rowHeight)
  const first = Math.min(Math.max(0, rows - fitting), Math.max(0, row - Math.floor(fitting / 2)))
  if (!isScaled(size)) return first * rowHeight
  return (first / Math.max(1, rows - fitting)) * (highest - viewport)
}
