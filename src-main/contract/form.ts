// A schema as a form: blocks of fields with the control each needs. Made from the schema itself, so that no form can lag behind it.
import type { z } from 'zod'
import { fieldMeta } from './field.ts'
import type { FieldMeta } from './field.ts'

/** What a field is entered with. `list` is numbers separated by commas; `json` is for rare structures that have no control of their own. */
export type Control =
  | { readonly kind: 'number' }
  | { readonly kind: 'switch' }
  | { readonly kind: 'text' }
  | { readonly kind: 'choice'; readonly options: readonly string[] }
  | { readonly kind: 'choices'; readonly options: readonly string[] }
  | { readonly kind: 'list' }
  | { readonly kind: 'json' }

export interface FormField {
  readonly kind: 'field'
  readonly path: readonly string[]
  readonly control: Control
  /** Empty is a value of its own: null. */
  readonly nullable: boolean
  readonly meta: FieldMeta
}

export interface FormBlock {
  readonly kind: 'block'
  readonly path: readonly string[]
  readonly help: string
  readonly children: readonly FormNode[]
}

/** A block of which there are several kinds; the field `by` says which. */
export interface FormVariants {
  readonly kind: 'variants'
  readonly path: readonly string[]
  readonly by: string
  readonly help: string
  readonly options: readonly { readonly name: string; readonly children: readonly FormNode[] }[]
}

export type FormNode = FormField | FormBlock | FormVariants

const noMeta: FieldMeta = { unit: '', origin: '', help: '' }

/** The parts of Zod's definitions that are read here. */
interface Definition {
  readonly type: string
  readonly shape?: Readonly<Record<string, z.ZodType>>
  readonly options?: readonly z.ZodType[]
  readonly discriminator?: string
  readonly innerType?: z.ZodType
  readonly element?: z.ZodType
  readonly out?: z.ZodType
  readonly entries?: Readonly<Record<string, string>>
  readonly values?: readonly unknown[]
}

function definitionOf(schema: z.ZodType): Definition {
  return schema._zod.def
}

/** What lies under defaults, optionality and preprocessing, with the explanation found on the way. */
function unwrap(schema: z.ZodType): { readonly schema: z.ZodType; readonly meta: FieldMeta; readonly nullable: boolean } {
  let current = schema
  let meta = fieldMeta(schema)
  let nullable = false
  for (;;) {
    const { type, innerType, out } = definitionOf(current)
    const inner = out ?? innerType
    if (inner === undefined) return { schema: current, meta: meta ?? noMeta, nullable }
    nullable ||= type === 'nullable'
    current = inner
    meta ??= fieldMeta(current)
  }
}

/** The form of a schema of objects; fields with one possible value are left out. */
export function formOf(schema: z.ZodType): readonly FormNode[] {
  return childrenOf(unwrap(schema).schema, [])
}

function childrenOf(schema: z.ZodType, path: readonly string[]): FormNode[] {
  return Object.entries(definitionOf(schema).shape ?? {}).flatMap(([name, child]) => nodeOf(child, [...path, name]))
}

function nodeOf(wrapped: z.ZodType, path: readonly string[]): FormNode[] {
  const { schema, meta, nullable } = unwrap(wrapped)
  const { type, discriminator, options = [] } = definitionOf(schema)
  if (type === 'literal') return []
  if (discriminator !== undefined) return [{ kind: 'variants', path, by: discriminator, help: meta.help, options: options.map((option) => variantOf(option, discriminator, path)) }]
  if (type === 'object' && !nullable) return [{ kind: 'block', path, help: meta.help, children: childrenOf(schema, path) }]
  return [{ kind: 'field', path, control: controlOf(schema), nullable, meta }]
}

function variantOf(option: z.ZodType, by: string, path: readonly string[]): FormVariants['options'][number] {
  const { schema } = unwrap(option)
  const named = definitionOf(schema).shape?.[by]
  const [name] = named === undefined ? [] : (definitionOf(unwrap(named).schema).values ?? [])
  if (typeof name !== 'string') throw new Error(`a variant of ${path.join('.')} has no name in ${by}`)
  return { name, children: childrenOf(schema, path) }
}

function controlOf(schema: z.ZodType): Control {
  const { type, entries, element } = definitionOf(schema)
  switch (type) {
    case 'number':
      return { kind: 'number' }
    case 'boolean':
      return { kind: 'switch' }
    case 'string':
      return { kind: 'text' }
    case 'enum':
      return { kind: 'choice', options: Object.values(entries ?? {}) }
    case 'array': {
      const inner = element === undefined ? undefined : definitionOf(unwrap(element).schema)
      if (inner?.type === 'enum') return { kind: 'choices', options: Object.values(inner.entries ?? {}) }
      return inner?.type === 'number' ? { kind: 'list' } : { kind: 'json' }
    }
    default:
      return { kind: 'json' }
  }
}
