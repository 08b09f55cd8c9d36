// How prompts are put to a chat model: whether it thinks first, which day it believes it is, and the system text.
import { z } from 'zod'
import { field } from './field.ts'

/** Date given to templates that print one, unless the run says otherwise. */
export const PINNED_DATE = '2025-01-01'

export const chatConfigSchema = z.strictObject({
  thinking: field(z.enum(['model', 'on', 'off']).default('model'), '', 'the model', 'Whether a model that can think before it answers does so; model leaves that to its chat template.'),
  date: field(z.iso.date('must be a day such as 2025-01-01').default(PINNED_DATE), '', 'Satchel', 'The day the chat template believes it is, so that a run does not depend on when it is made.'),
  system: field(z.string().nullable().default(null), '', 'the model', 'System text of prompts that carry none of their own; empty leaves the template its default.'),
})

export type ChatConfig = z.infer<typeof chatConfigSchema>
