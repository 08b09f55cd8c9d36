// A page's picture in words: for those who do not see it, and for what no picture tells. Pure.
import type { ShownPage } from '../../../src-main/contract/calls/pages.ts'
import { plural } from '../../state/number-format.ts'

const longestText = 120

/** The text in place of the picture. */
export function pictureWords(name: string, { state, text }: ShownPage): string {
  const read = text.replace(/\s+/g, ' ').trim()
  const words = read.length > longestText ? `${read.slice(0, longestText)}…` : read
  if (state === 'blank') return `The page of ${name}: nothing can be seen on it.`
  return words === '' ? `The page of ${name}, without text.` : `The page of ${name}. It says: ${words}`
}

/** What was counted on it. */
export function pageFacts({ state, elements, errors }: ShownPage): string {
  const counted = `${plural(elements, 'element')}, ${errors.length === 0 ? 'no errors' : plural(errors.length, 'error')}`
  return state === 'blank' ? `${counted}. Its pixels are all of one colour.` : `${counted}.`
}
