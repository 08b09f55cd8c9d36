// A rendered document as plain data: what the sandbox hands out and everything outside it judges.
import type { PageFacts } from './render-service.ts'

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

/** What a real browser shows of a page that has come to rest. */
export interface Screenshot {
  /** A PNG of `pageWidth` x `pageHeight` pixels; empty where only the facts were asked for. */
  readonly png: Uint8Array
  readonly facts: PageFacts
}

/** A screenshot, or why there is none. `page`: the page itself is to blame (too slow, too large, crashed); `service`: the browser is. */
export type ScreenshotResult = { readonly screenshot: Screenshot } | { readonly failure: string; readonly blame: 'page' | 'service' }
