// Words a person reads stand in src-renderer/words, not in markup: another language is another set of those files.
import { readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parse } from 'svelte/compiler'
import { describe, expect, it } from 'vitest'

const folder = resolve('src-renderer')

/** Attributes whose texts are names for programs, not words. */
const technical = /^(?:class|type|id|for|name|role|href|src|rel|method|scope|tone|autocomplete|inputmode|spellcheck|preserveAspectRatio|viewBox|d|focusable|datetime|style:.*|class:.*|data-.*|testid|page|what|kind|by|value|measure|describedBy|stroke-dasharray|tabindex|loading|aria-(?:live|hidden|current|labelledby|describedby|controls|activedescendant|haspopup|autocomplete|expanded|pressed))$/

interface Node {
  readonly type: string
  readonly start: number
  readonly [field: string]: unknown
}

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && typeof (value as Node).type === 'string'
/** Two words beside each other, or one that begins like a sentence. */
const isSentence = (text: string): boolean => !/^\d+px|var\(--/.test(text) && (/\p{L}{2,} +\p{L}{2,}/u.test(text) || /^\p{Lu}\p{Ll}/u.test(text))

/** Between two expressions one word beside a space is enough. */
function wordsOfTemplate(text: string): string[] {
  return isSentence(text) || /\p{L}{2,}\s|\s\p{L}{2,}/u.test(text) ? [text] : []
}

/** The end of what is called, such as `.includes`. */
function nameOf(callee: unknown): string {
  return isNode(callee) && isNode(callee['property']) ? `.${String(callee['property']['name'])}` : ''
}

/** Words in a part of a component. Text counts as soon as it holds two letters; a string in an expression as soon as it reads like a sentence. */
function wordsIn(node: unknown): string[] {
  if (Array.isArray(node)) return node.flatMap((one) => wordsIn(one))
  if (!isNode(node)) return []
  switch (node.type) {
    case 'Text':
      return /\p{L}{2}/u.test(String(node['data'])) ? [String(node['data']).trim()] : []
    case 'Comment':
    case 'ImportDeclaration':
    case 'StyleDirective':
    case 'ClassDirective':
    case 'ThrowStatement':
      return []
    case 'Property':
      return isNode(node['key']) && node['key']['name'] === 'id' ? [] : wordsIn(node['value'])
    case 'CallExpression':
      return /\.includes$/.test(nameOf(node['callee'])) ? [] : wordsIn([node['callee'], node['arguments']])
    case 'BinaryExpression':
      // What is compared with is a name for programs.
      return /^[!=]==$/.test(String(node['operator'])) ? [] : wordsIn([node['left'], node['right']])
    case 'Attribute':
      return technical.test(String(node['name'])) ? [] : wordsIn(node['value'])
    case 'Literal':
      return typeof node['value'] === 'string' && isSentence(node['value']) ? [node['value']] : []
    case 'TemplateElement':
      return wordsOfTemplate((node['value'] as { cooked: string }).cooked)
    default:
      return Object.entries(node).flatMap(([field, value]) => (field === 'metadata' || field === 'css' || field === 'typeAnnotation' ? [] : wordsIn(value)))
  }
}

function wordsOf(source: string): string[] {
  const { fragment, instance, module } = parse(source, { modern: true })
  return [...wordsIn(fragment), ...wordsIn(instance?.content), ...wordsIn(module?.content)]
}

describe('components', () => {
  it('hold no words of their own', () => {
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.svelte'))
    expect(files.length).toBeGreaterThan(60)
    const found = files.flatMap((file) => wordsOf(readFileSync(resolve(folder, file), 'utf8')).map((text) => `${file}: ${text}`))
    expect(found).toEqual([])
  })

  it('would be found out: in text, in an attribute, in an expression, in a script', () => {
    expect(wordsOf('<p>Look here</p>')).toEqual(['Look here'])
    expect(wordsOf('<a title="Look" href="x">{say.it}</a>')).toEqual(['Look'])
    expect(wordsOf('<p>{open ? "Look here" : `as ${it} is said`}</p>')).toEqual(['Look here', 'as ', ' is said'])
    expect(wordsOf('<script lang="ts">const text: "a b" = tell("now and then")</script>')).toEqual(['now and then'])
    expect(wordsOf('<button class="icon-button" type="button" {onclick}><Icon name="close" /></button>')).toEqual([])
  })
})
