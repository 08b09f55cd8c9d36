import { describe, expect, test } from 'vitest'
import { isBlank, showsText, visibleText } from '../../../src-main/engine/rewards/rendered-text.ts'
import { page, type Written } from './rendered-pages.ts'

describe('visibleText', () => {
  test('keeps inline text together and blocks apart', () => {
    expect(visibleText(page(['p', {}, 'One', ['b', {}, 'two']], ['p', {}, 'three']).body)).toBe('Onetwo three')
  })
  test.each<[string, Written]>([
    ['hidden', ['p', { hidden: '' }, 'x']],
    ['display: none', ['p', { style: 'color: red; display: none' }, 'x']],
    ['visibility: hidden', ['p', { style: 'visibility:hidden' }, 'x']],
    ['opacity 0', ['p', { style: 'opacity: 0;' }, 'x']],
    ['a script', ['script', {}, 'x']],
    ['a template', ['template', {}, 'x']],
  ])('leaves out what is not shown: %s', (_name, written) => {
    expect(visibleText(page(written).body)).toBe('')
  })
  test('half transparent is still shown', () => {
    expect(visibleText(page(['p', { style: 'opacity:0.5' }, 'x']).body)).toBe('x')
  })
})

describe('showsText', () => {
  test.each([
    ['Count: 1', '1', true],
    ['10 apples', '1', false],
    ['21', '1', false],
    ['Apples1', '1', true],
    ['1 2', '1', true],
    ['Apples', 'Apple', false],
    ['an Apple.', 'Apple', true],
    ['pineApple Apple', 'Apple', true],
    ['Hello  big\nworld', 'Hello big world', false],
    ['Hello big world', ' Hello  big world ', true],
    ['x', '', false],
  ])('%j shows %j: %s', (shown, wanted, expected) => {
    expect(showsText(shown, wanted)).toBe(expected)
  })
})

describe('isBlank', () => {
  test.each<[string, Written, boolean]>([
    ['nothing', ['div', {}], true],
    ['zero-width characters', ['p', {}, '\u200b\u00ad '], true],
    ['an empty button', ['button', {}], true],
    ['a hidden input', ['input', { type: 'hidden' }], true],
    ['an image without a source', ['img', {}], true],
    ['text', ['p', {}, 'x'], false],
    ['an input', ['input', {}], false],
    ['an image', ['img', { src: 'a.png' }], false],
    ['a drawing', ['svg', {}, ['circle', {}]], false],
    ['a text field in a hidden part', ['div', { hidden: '' }, ['input', {}]], true],
  ])('%s: %s', (_name, written, expected) => {
    expect(isBlank(page(written).body)).toBe(expected)
  })
})
