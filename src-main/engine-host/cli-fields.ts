// The configuration explained by its own schema: path, default, unit, origin and sentence of every field.
import type { z } from 'zod'
import { fieldMeta } from '../contract/field.ts'
import { runConfigSchema } from '../contract/run-config.ts'
import type { CommandResult } from './cli-output.ts'

/** One field of the configuration. */
export interface FieldDescription {
  readonly path: string
  readonly default: unknown
  readonly unit: string
  readonly origin: string
  readonly help: string
}

/** Every field that carries an explanation, in the schema's order. */
export function configurationFields(): FieldDescription[] {
  return walk(runConfigSchema, '')
}

/** The answer of `satchel train --fields`. */
export function describeFields(): CommandResult {
  const fields = configurationFields()
  const lines = fields.map(({ path, default: value, unit, origin, help }) => {
    const details = [value === undefined ? 'required' : `default ${JSON.stringify(value)}${unit === '' ? '' : ` ${unit}`}`, ...(origin === '' ? [] : [origin])]
    return `${path}  (${details.join('; ')})\n    ${help}`
  })
  return { json: { fields }, text: lines.join('\n') }
}

function walk(schema: z.core.$ZodType, path: string, inherited?: unknown): FieldDescription[] {
  const meta = fieldMeta(schema as z.ZodType)
  const { def } = schema._zod as unknown as { def: SchemaDefinition }
  const value = def.defaultValue === undefined ? inherited : def.defaultValue
  const own = meta === undefined ? [] : [{ path, default: value, ...meta }]
  const below = ((): FieldDescription[] => {
    if (def.shape !== undefined) return Object.entries(def.shape).flatMap(([name, child]) => walk(child, path === '' ? name : `${path}.${name}`))
    if (def.options !== undefined) return withoutRepetition(def.options.flatMap((option) => walk(option, path)))
    if (def.out !== undefined) return walk(def.out, path, value)
    return def.innerType === undefined ? [] : walk(def.innerType, path, value)
  })()
  return [...own, ...below]
}

/** The members of a union share fields: each is explained once, and again only where its default differs. */
function withoutRepetition(fields: readonly FieldDescription[]): FieldDescription[] {
  return [...new Map(fields.map((described) => [JSON.stringify(described), described])).values()]
}

/** The parts of Zod's definitions that are read here. */
interface SchemaDefinition {
  readonly shape?: Readonly<Record<string, z.core.$ZodType>>
  readonly options?: readonly z.core.$ZodType[]
  readonly innerType?: z.core.$ZodType
  /** What a preprocessed value is checked against. */
  readonly out?: z.core.$ZodType
  readonly defaultValue?: unknown
}
