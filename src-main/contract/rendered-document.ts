// A rendered document as plain data: what the sandbox hands out and everything outside it judges.

/** An element of the rendered document. */
export interface RenderedElement {
  /** Names the element for a click; the same element keeps its number while the page is open. */
  readonly id: number
  readonly tag: string
  readonly attributes: readonly (readonly [name: string, value: string])[]
  /** State that attributes do not show: the value and tick of form fields. */
  readonly value?: string
  readonly checked?: boolean
  readonly children: readonly RenderedNode[]
}

/** An element or a text. */
export type RenderedNode = RenderedElement | string

/** What a page looks like after it has come to rest. */
export interface RenderedPage {
  readonly body: RenderedElement
  readonly errors: readonly string[]
  readonly warnings: readonly string[]
}
