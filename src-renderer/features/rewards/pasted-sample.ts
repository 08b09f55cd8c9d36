// A completion somebody pastes, with what the row of its prompt holds besides. Pure.
import type { RewardSample } from '../../../src-main/contract/calls/rewards.ts'
import { isRecord } from '../../../src-main/contract/methods.ts'
import { words } from '../../words.ts'

export interface PastedText {
  readonly prompt: string
  readonly completion: string
  /** JSON of further fields of the row; empty for none. */
  readonly fields: string
}

/** A sample, or why there is none. @param before samples that were pasted before */
export function pastedSample({ prompt, completion, fields }: PastedText, before: number): { readonly sample: RewardSample } | { readonly problem: string } {
  const say = words.rewards.picker
  if (prompt.trim() === '') return { problem: say.promptMissing }
  const row = fields.trim() === '' ? {} : readFields(fields)
  if (row === undefined) return { problem: say.fieldsWrong }
  return { sample: { id: `pasted ${before + 1}`, name: say.pastedName(before + 1), prompt, completion, row, tokens: null } }
}

function readFields(text: string): Record<string, unknown> | undefined {
  try {
    const value = JSON.parse(text) as unknown
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}
