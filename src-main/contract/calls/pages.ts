// Pages that a model wrote, as a real browser shows them.
import { z } from 'zod'
import { pathSchema } from './shared.ts'

/** The program in a text; `directory` is the run whose own pictures are looked at first. */
const program = z.strictObject({ directory: pathSchema.nullable(), text: z.string().min(1).max(200_000) })

/** Which page: that of a rollout of a run, or of a text. */
export const pageReferenceSchema = z.union([z.strictObject({ directory: pathSchema, step: z.int().nonnegative(), order: z.int().nonnegative() }), program])
export type PageReference = z.infer<typeof pageReferenceSchema>

export const shownPageSchema = z.object({
  /** `blank`: there is a picture, and nothing can be seen on it. `failed`: the page could not be shown. `unavailable`: no page can be shown on this machine. */
  state: z.enum(['shown', 'blank', 'failed', 'unavailable']),
  /** A PNG of 1280 x 800 pixels as a data address; empty where there is none. */
  picture: z.string(),
  /** Why there is no picture, as a sentence; empty otherwise. */
  reason: z.string(),
  /** Errors of the page: uncaught ones first, then those on its console. */
  errors: z.array(z.string()),
  /** The beginning of what can be read on it. */
  text: z.string(),
  elements: z.int(),
})
export type ShownPage = z.infer<typeof shownPageSchema>

export const pageCalls = {
  /** Shows a page in a browser, unless a picture of it is at hand; half a second, and some more for the first. */
  'pages.render': { request: pageReferenceSchema, response: shownPageSchema },
} as const

/** Done by the tools process, which starts a render service. */
export const pageToolCalls = {
  'pages.show': { request: program, response: shownPageSchema },
} as const
