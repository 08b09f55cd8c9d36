import { describe, expect, test } from 'vitest'
import { createAccessibleDocument } from '../../../src-main/engine/rewards/accessible-document.ts'
import { page, type Written } from './rendered-pages.ts'

const find = (written: Written, role: string, name?: string): boolean => createAccessibleDocument(page(['main', {}, written]).body).find(role, name) !== undefined

describe('createAccessibleDocument', () => {
  test.each<[string, Written, string, string]>([
    ['a heading', ['h2', {}, 'Apples'], 'heading', 'Apples'],
    ['a button', ['button', {}, ' Add ', ['b', {}, 'one']], 'button', 'Add one'],
    ['a button named by aria-label', ['button', { 'aria-label': 'Close' }, '×'], 'button', 'Close'],
    ['a text field in its label', ['label', {}, 'School ', ['input', {}]], 'textbox', 'School'],
    ['a text field with a label elsewhere', ['div', {}, ['label', { for: 'a' }, 'School'], ['input', { id: 'a' }]], 'textbox', 'School'],
    ['a text field named by its placeholder', ['input', { placeholder: 'School' }], 'textbox', 'School'],
    ['a text area', ['label', {}, 'Notes', ['textarea', {}]], 'textbox', 'Notes'],
    ['a check box', ['label', {}, ['input', { type: 'checkbox' }], 'Done'], 'checkbox', 'Done'],
    ['a list item by its text', ['ul', {}, ['li', {}, 'Milk']], 'listitem', 'Milk'],
    ['a link', ['a', { href: '#' }, 'Home'], 'link', 'Home'],
    ['an image', ['img', { alt: 'A cat', src: 'c' }], 'img', 'A cat'],
    ['a role written out', ['div', { role: 'button' }, 'Add'], 'button', 'Add'],
  ])('finds %s', (_name, written, role, name) => {
    expect(find(written, role, name)).toBe(true)
  })

  test('a name must be the whole name', () => {
    expect(find(['button', {}, 'Add one'], 'button', 'Add')).toBe(false)
  })
  test('without a name any element of the role does', () => {
    expect(find(['button', {}, 'Add one'], 'button')).toBe(true)
  })
  test.each<[string, Written]>([
    ['hidden', ['div', { hidden: '' }, ['button', {}, 'Add']]],
    ['hidden from assistive technology', ['div', { 'aria-hidden': 'true' }, ['button', {}, 'Add']]],
    ['of another role', ['div', {}, 'Add']],
  ])('does not find a button that is %s', (_name, written) => {
    expect(find(written, 'button', 'Add')).toBe(false)
  })
  test('gives the number of the first such element', () => {
    const { body } = page(['button', {}, 'Add'], ['button', {}, 'Add'])
    expect(createAccessibleDocument(body).find('button', 'Add')).toBe(2)
  })
  test('odd tags and attribute names do not stop it', () => {
    expect(find(['x y<', { 'a b"': '1', 'on<': '2' }, ['button', {}, 'Add']], 'button', 'Add')).toBe(true)
  })
})
