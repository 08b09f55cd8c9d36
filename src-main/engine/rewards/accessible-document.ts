// Finds elements of a rendered page by role and name, as assistive technology would. The page arrives as plain data and is built
// again here, in a document that generated code has never seen.
import { computeAccessibleName, getRole } from 'dom-accessibility-api'
import { parseHTML } from 'linkedom'
import type { RenderedElement } from '../../contract/rendered-document.ts'
import { attribute, isHidden, normaliseSpace, visibleText } from './rendered-text.ts'

// The few members used here; the library's own types need the browser's.
interface DocumentElement {
  setAttribute(name: string, value: string): void
  appendChild(child: unknown): void
  replaceChildren(...children: unknown[]): void
}
interface PlainDocument {
  readonly body: DocumentElement
  createElement(name: string): DocumentElement
  createTextNode(text: string): unknown
}
const roleOf = getRole as (element: DocumentElement) => string | null
const nameOfElement = computeAccessibleName as (element: DocumentElement, options: object) => string

interface Candidate {
  readonly source: RenderedElement
  readonly role: string
  readonly element: DocumentElement
}

/** A rendered page that can be searched. */
export interface AccessibleDocument {
  /** Number of the first visible element with this role and, when given, exactly this name. */
  find(role: string, name?: string): number | undefined
}

const noStyle = { getPropertyValue: () => '', display: '', visibility: '', content: '' }
const nameOptions = { getComputedStyle: () => noStyle, computedStyleSupportsPseudoElements: false }

/** Builds the searchable form of a page; hidden elements are left out of it. */
export function createAccessibleDocument(body: RenderedElement): AccessibleDocument {
  const { document } = parseHTML('<!doctype html><html><head></head><body></body></html>') as unknown as { document: PlainDocument }
  const candidates: Candidate[] = []
  const build = (source: RenderedElement): DocumentElement => {
    const element = document.createElement(/^[a-z][a-z0-9-]*$/i.test(source.tag) ? source.tag : 'span')
    // In a browser an input without a type is a text field; this document library has no such default.
    if (source.tag === 'input' && !source.attributes.some(([name]) => name === 'type')) element.setAttribute('type', 'text')
    for (const [name, value] of source.attributes) if (/^[a-z_:][-\w:.]*$/i.test(name)) element.setAttribute(name, value)
    for (const child of source.children) {
      if (typeof child === 'string') element.appendChild(document.createTextNode(child))
      else if (!isHidden(child) && !child.attributes.some(([name, value]) => name === 'aria-hidden' && value === 'true')) element.appendChild(build(child))
    }
    const role = roleOf(element)
    if (role !== null) candidates.push({ source, role, element })
    return element
  }
  document.body.replaceChildren(...(build(body) as unknown as { childNodes: Iterable<unknown> }).childNodes)
  candidates.sort((a, b) => a.source.id - b.source.id)
  return {
    find(role, name) {
      const wanted = name === undefined ? undefined : normaliseSpace(name)
      return candidates.find((candidate) => candidate.role === role && (wanted === undefined || nameOf(candidate) === wanted))?.source.id
    },
  }
}

/**
 * The accessible name; where there is none, the placeholder (browsers fall back to it, the library does not), and for roles that
 * take no name from their content (list items, paragraphs) the text itself.
 */
function nameOf({ element, source }: Candidate): string {
  const name = normaliseSpace(nameOfElement(element, nameOptions))
  if (name !== '') return name
  return source.tag === 'input' || source.tag === 'textarea' ? normaliseSpace(attribute(source, 'placeholder') ?? '') : visibleText(source)
}
