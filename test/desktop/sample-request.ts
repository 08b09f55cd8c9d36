// A well-formed request of every call, made from the contract itself: what mutated messages are mutated from.
import { z } from 'zod'
import { calls } from '../../src-main/contract/calls.ts'

export interface SampleRequest {
  readonly name: string
  readonly request: unknown
}

type Schema = z.core.JSONSchema.JSONSchema

/** The place a text of this form would hold in a request. `path` stands for paths, folders and files. */
function textFor(schema: Schema, field: string, path: string): string {
  if (schema.format === 'uri') return 'http://127.0.0.1:9/'
  if (/^(?:path|model|directory|file|folder)$/.test(field)) return path
  // Fits names of tasks, of variables, and free texts.
  return 'sample'
}

function sampleOf(schema: Schema, field: string, path: string): unknown {
  if (schema.const !== undefined) return schema.const
  if (schema.enum !== undefined) return schema.enum[0]
  const [choice] = schema.anyOf ?? schema.oneOf ?? []
  if (choice !== undefined && typeof choice === 'object') return sampleOf(choice, field, path)
  const items = schema.items
  switch (schema.type) {
    case 'object':
      return Object.fromEntries(Object.entries(schema.properties ?? {}).map(([name, value]) => [name, typeof value === 'object' ? sampleOf(value, name, path) : null]))
    case 'array':
      return typeof items === 'object' && !Array.isArray(items) ? [sampleOf(items, field === 'directories' ? 'directory' : field, path)] : []
    case 'string':
      return textFor(schema, field, path)
    case 'integer':
    case 'number':
      return Math.min(Math.max(1, schema.minimum ?? 1), schema.maximum ?? 1)
    case 'boolean':
      return false
    default:
      return null
  }
}

/** One request a call, in the order of the contract. Paths are `path`. */
export function sampleRequests(path: string): SampleRequest[] {
  return Object.entries(calls).map(([name, { request }]) => ({ name, request: sampleOf(z.toJSONSchema(request, { io: 'input', unrepresentable: 'any' }), '', path) }))
}
