// Typed look-ups in a file's metadata, with errors that name the key.
import { UserError } from '../../../contract/errors.ts'
import type { GgufValue } from './format.ts'

/** Metadata of one file. A getter throws UserError when the value is there but of another type; `required` ones also when it is missing. */
export interface Metadata {
  readonly path: string
  has(key: string): boolean
  text(key: string): string | undefined
  number(key: string): number | undefined
  flag(key: string): boolean | undefined
  texts(key: string): readonly string[] | undefined
  numbers(key: string): readonly number[] | undefined
  requiredText(key: string): string
  requiredNumber(key: string): number
  requiredTexts(key: string): readonly string[]
}

/** Wraps the metadata of the file at `path`. */
export function metadataOf(path: string, values: ReadonlyMap<string, GgufValue>): Metadata {
  function typed<T extends GgufValue>(key: string, expected: string, test: (value: GgufValue) => value is T): T | undefined {
    const value = values.get(key)
    if (value === undefined || test(value)) return value
    throw wrongMetadata(path, key, `the value is ${describe(value)}`, expected)
  }
  function required<T>(key: string, value: T | undefined): T {
    if (value !== undefined) return value
    throw wrongMetadata(path, key, 'the metadata lacks this key', 'a complete file')
  }
  const text = (key: string): string | undefined => typed(key, 'a text', (value) => typeof value === 'string')
  const number = (key: string): number | undefined => typed(key, 'a number', (value) => typeof value === 'number')
  const texts = (key: string): readonly string[] | undefined => typed(key, 'a list of texts', (value): value is readonly string[] => isListOf(value, 'string'))
  return {
    path,
    has: (key) => values.has(key),
    text,
    number,
    texts,
    flag: (key) => typed(key, 'true or false', (value) => typeof value === 'boolean'),
    numbers: (key) => typed(key, 'a list of numbers', (value): value is readonly number[] => isListOf(value, 'number')),
    requiredText: (key) => required(key, text(key)),
    requiredNumber: (key) => required(key, number(key)),
    requiredTexts: (key) => required(key, texts(key)),
  }
}

/** The error for metadata that is missing or cannot be used. */
export function wrongMetadata(file: string, key: string, what: string, expected = '', remedy = 'Get another file of this model, or convert it again with a current version of llama.cpp.'): UserError {
  return new UserError({ code: 'bad-input', what, place: { file, field: key }, expected, remedy })
}

function isListOf(value: GgufValue, type: 'string' | 'number'): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === type)
}

function describe(value: GgufValue): string {
  if (typeof value === 'object') return `a list of ${value.length} values`
  return JSON.stringify(typeof value === 'bigint' ? String(value) : value).slice(0, 80)
}
