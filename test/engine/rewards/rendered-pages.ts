// Rendered pages for tests, written as nested arrays: ['p', { class: 'x' }, 'text', ['b', {}, 'more']].
import type { RenderedElement, RenderedPage } from '../../../src-main/contract/rendered-document.ts'

/** Children are texts or elements written the same way (a tuple type cannot say so of itself). */
export type Written = readonly [tag: string, attributes: Readonly<Record<string, string>>, ...children: unknown[]]

/** Builds the element; ids count up in document order. */
export function element(written: Written, next: { id: number } = { id: 1 }): RenderedElement {
  const [tag, attributes, ...children] = written
  const id = next.id++
  return { id, tag, attributes: Object.entries(attributes), children: children.map((child) => (typeof child === 'string' ? child : element(child as Written, next))) }
}

export function page(...children: readonly (Written | string)[]): RenderedPage {
  return { body: element(['body', {}, ...children]), errors: [], warnings: [] }
}
