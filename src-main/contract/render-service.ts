// What is said to and by the render service: an Electron process without a window to see, which shows generated pages one at a time in a
// real browser and gives back their pixels. Whoever starts it is told each answer over the child process channel.
import { z } from 'zod'

/** Argument that makes the program of the app a render service. */
export const renderServiceArgument = '--satchel-render-service'

/** Pixels a page is shown at. */
export const pageWidth = 1280
export const pageHeight = 800

/** A busy machine gives a page less of the processor; it waits so many times longer by the clock. */
export const waitingFactor = 10

export const pageFactsSchema = z.object({
  /** What the page wrote to its console as an error, and what React reported. */
  consoleErrors: z.array(z.string()),
  /** Exceptions and rejections that nobody caught. */
  pageErrors: z.array(z.string()),
  /** The text a person sees, as the browser lays it out. */
  text: z.string(),
  /** Elements inside the body. */
  elements: z.int(),
  /** Pixels that differ visibly from the most frequent colour. */
  distinctPixels: z.int(),
  /** Nothing can be seen: all pixels are of one colour, but for so few that they are no letter. */
  uniform: z.boolean(),
  /** From the request to the picture. */
  milliseconds: z.number(),
})
export type PageFacts = z.infer<typeof pageFactsSchema>

export const renderServiceRequestSchema = z.discriminatedUnion('type', [
  /** First message: the script every page is furnished with (React, and time that stands still). */
  z.strictObject({ type: z.literal('start'), kit: z.string() }),
  /** Shows one bundled program. `id` is never used twice. */
  z.strictObject({
    type: z.literal('render'),
    id: z.int(),
    script: z.string(),
    width: z.int().min(16).max(4096),
    height: z.int().min(16).max(4096),
    /** Processor time the page may take until it is at rest; by the clock it has `waitingFactor` times as long. */
    milliseconds: z.int().min(1),
    /** Memory of the page's process. */
    megabytes: z.int().min(1),
    /** Whether the picture itself is wanted, or only what can be told of it. */
    picture: z.boolean(),
  }),
])
export type RenderServiceRequest = z.infer<typeof renderServiceRequestSchema>

export const renderServiceReplySchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('ready'), browser: z.string() }),
  /** `png`: base64; empty where no picture was asked for. */
  z.object({ type: z.literal('rendered'), id: z.int(), png: z.string(), facts: pageFactsSchema }),
  /** The page could not be shown and is itself the reason: too slow, too large, crashed, or it tried to leave. */
  z.object({ type: z.literal('failed'), id: z.int(), reason: z.string() }),
])
export type RenderServiceReply = z.infer<typeof renderServiceReplySchema>
