// Between what stands in a control and the value it means. Pure.
import type { Control } from '../../../src-main/contract/form.ts'

/** A value as its control shows it. */
export function writeControl(control: Control, value: unknown): string {
  if (value === null || value === undefined) return ''
  if (control.kind === 'list' && Array.isArray(value)) return value.join(', ')
  if (typeof value === 'string') return value
  return typeof value === 'number' ? String(value) : JSON.stringify(value)
}

/** What a control says; text that is no such value stays text, which the schema refuses in words. */
export function readControl(control: Control, nullable: boolean, text: string): unknown {
  const trimmed = text.trim()
  if (trimmed === '' && nullable) return null
  switch (control.kind) {
    case 'number':
      return numberOr(trimmed)
    case 'list':
      return trimmed === '' ? [] : trimmed.split(/[\s,;]+/).map(numberOr)
    case 'json':
      try {
        return JSON.parse(trimmed) as unknown
      } catch {
        return trimmed
      }
    case 'text':
    case 'choice':
    case 'choices':
    case 'switch':
      return text
  }
}

function numberOr(text: string): number | string {
  const value = Number(text.replace(',', '.').replace(/\u2212/g, '-'))
  return text === '' || !Number.isFinite(value) ? text : value
}
