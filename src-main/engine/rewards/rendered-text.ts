// What a person would see of a rendered page: its visible text, and whether there is anything at all.
import type { RenderedElement, RenderedNode } from '../../contract/rendered-document.ts'

const neverShown = new Set(['script', 'style', 'template', 'noscript', 'head', 'title', 'datalist', 'object'])
const inline = new Set(['a', 'abbr', 'b', 'bdi', 'bdo', 'cite', 'code', 'data', 'del', 'dfn', 'em', 'i', 'ins', 'kbd', 'mark', 'q', 's', 'samp', 'small', 'span', 'strong', 'sub', 'sup', 'time', 'u', 'var'])

/** The value of an attribute, or undefined. */
export function attribute(element: RenderedElement, name: string): string | undefined {
  return element.attributes.find(([candidate]) => candidate.toLowerCase() === name)?.[1]
}

/** Whether an element, with everything in it, is left out of the picture. */
export function isHidden(element: RenderedElement): boolean {
  if (neverShown.has(element.tag) || attribute(element, 'hidden') !== undefined) return true
  const style = attribute(element, 'style') ?? ''
  return /(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden|opacity\s*:\s*0(?:\.0*)?\s*(?:;|$))/i.test(style)
}

/** The visible text with white space as a reader perceives it: runs are one space, blocks are apart. */
export function visibleText(root: RenderedElement): string {
  const parts: string[] = []
  const visit = (node: RenderedNode): void => {
    if (typeof node === 'string') parts.push(node)
    else if (!isHidden(node)) {
      const apart = !inline.has(node.tag)
      if (apart) parts.push('\n')
      for (const child of node.children) visit(child)
      if (apart) parts.push('\n')
    }
  }
  visit(root)
  return normaliseSpace(parts.join(''))
}

/** Collapses white space and drops characters that take no room. */
export function normaliseSpace(text: string): string {
  return text
    .replace(/[\u200b-\u200f\u2060\ufeff\u00ad]/g, '')
    .replace(/\s+/g, ' ')
    .trim()
}

/**
 * Whether `shown` holds `wanted` as a reader would find it: not as part of a longer number or word.
 * `showsText('10 apples', '1')` is false, `showsText('Count: 1', '1')` is true.
 */
export function showsText(shown: string, wanted: string): boolean {
  const text = normaliseSpace(wanted)
  if (text === '') return false
  for (let at = shown.indexOf(text); at >= 0; at = shown.indexOf(text, at + 1)) {
    if (!continues(shown[at - 1], text[0]) && !continues(text[text.length - 1], shown[at + text.length])) return true
  }
  return false
}

function continues(left: string | undefined, right: string | undefined): boolean {
  if (left === undefined || right === undefined) return false
  return (/\d/.test(left) && /\d/.test(right)) || (/\p{L}/u.test(left) && /\p{L}/u.test(right))
}

/** Whether nothing can be seen: no text and none of the elements that show something without text. */
export function isBlank(body: RenderedElement): boolean {
  if (visibleText(body) !== '') return false
  const visit = (element: RenderedElement): boolean => {
    if (isHidden(element)) return false
    if (element.tag === 'img' || element.tag === 'video' || element.tag === 'iframe') return (attribute(element, 'src') ?? '') !== ''
    if (element.tag === 'svg') return element.children.some((child) => typeof child !== 'string')
    if (element.tag === 'input') return attribute(element, 'type') !== 'hidden'
    if (['textarea', 'select', 'progress', 'meter'].includes(element.tag)) return true
    return element.children.some((child) => typeof child !== 'string' && visit(child))
  }
  return !visit(body)
}
