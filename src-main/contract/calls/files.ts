// Files and folders a person chooses in a dialog or drops on the window: what they are, and what can be done with them.
import { z } from 'zod'
import { nothing, pathSchema } from './shared.ts'

export const placeKindSchema = z.enum(['dataset', 'model', 'run', 'run-config', 'unknown'])
export type PlaceKind = z.infer<typeof placeKindSchema>

/** What lies at a path. */
export const placeSchema = z.object({
  path: z.string(),
  name: z.string(),
  kind: placeKindSchema,
  /** One sentence for a person: what it is, or why it is nothing Satchel knows. */
  what: z.string(),
})
export type Place = z.infer<typeof placeSchema>

export const fileChoiceSchema = z.enum(['dataset', 'dataset-folder', 'model-folder', 'model-file', 'run-folder', 'run-config', 'any'])
export type FileChoice = z.infer<typeof fileChoiceSchema>

export const fileCalls = {
  /** Opens the system's dialog; null when the person closed it. */
  'files.choose': { request: z.object({ what: fileChoiceSchema }).strict(), response: placeSchema.nullable() },
  /** Shows a file in the system's file manager. */
  'files.reveal': { request: z.object({ path: pathSchema }).strict(), response: nothing },
} as const
