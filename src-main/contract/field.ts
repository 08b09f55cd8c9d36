// Every field of a configuration carries its unit, where its default comes from, and the sentence the interface shows.
// Forms, validation, the command line's help and the documentation read these.
import { z } from 'zod'

export interface FieldMeta {
  /** Unit as shown after the number: 'tokens', 'steps', 'ratio', '' for none. */
  readonly unit: string
  /** Where the default comes from: a paper section, a tool's default, or 'Satchel'. */
  readonly origin: string
  /** One sentence for the person at the screen. */
  readonly help: string
}

const fields = z.registry<FieldMeta>()

/** Attaches unit, origin and help to a schema. */
export function field<Schema extends z.ZodType>(schema: Schema, unit: string, origin: string, help: string): Schema {
  fields.add(schema, { unit, origin, help })
  return schema
}

/** What `field` attached, or undefined. */
export function fieldMeta(schema: z.ZodType): FieldMeta | undefined {
  return fields.get(schema)
}
