// The rates and weights of a run that may change on the way, as the panel shows them: with what they are now and the sentence of the form.
import type { FormField, FormNode } from '../../../src-main/contract/form.ts'
import { formOf } from '../../../src-main/contract/form.ts'
import { configAtStep, liveSettings } from '../../../src-main/contract/run-changes.ts'
import type { LiveSetting } from '../../../src-main/contract/run-changes.ts'
import { runConfigSchema } from '../../../src-main/contract/run-config.ts'
import { readControl } from '../setup/control-text.ts'
import type { RunView } from '../../state/run-view.ts'

export interface LiveField extends LiveSetting {
  readonly help: string
  readonly unit: string
}

/** Sentences by path; kinds of a block that share a field say the same of it. */
let known: ReadonlyMap<string, FormField> | undefined

function fieldsOf(node: FormNode): FormField[] {
  if (node.kind === 'field') return [node]
  return (node.kind === 'block' ? node.children : node.options.flatMap(({ children }) => children)).flatMap(fieldsOf)
}

/** Fields that may change, with their values as they are now. */
export function liveFields({ description, changes }: Pick<RunView, 'description' | 'changes'>): LiveField[] {
  known ??= new Map(formOf(runConfigSchema).flatMap(fieldsOf).map((field) => [field.path.join('.'), field]))
  return liveSettings(configAtStep(description, changes, Infinity)).map(({ field, value }) => ({ field, value, help: known?.get(field)?.meta.help ?? '', unit: known?.get(field)?.meta.unit ?? '' }))
}

/** What a person typed, against what is: the fields that differ, and those that are no numbers. */
export function askedSettings(fields: readonly LiveField[], typed: Readonly<Record<string, string>>): { readonly settings: LiveSetting[]; readonly wrong: string[] } {
  const read = fields.flatMap(({ field, value }) => {
    const said = readControl({ kind: 'number' }, false, typed[field] ?? '')
    return said === '' ? [] : [{ field, said, value }]
  })
  return {
    settings: read.flatMap(({ field, said, value }) => (typeof said === 'number' && said !== value ? [{ field, value: said }] : [])),
    wrong: read.filter(({ said }) => typeof said !== 'number').map(({ field }) => field),
  }
}
