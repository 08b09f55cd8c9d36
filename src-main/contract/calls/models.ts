// The models of this machine: listed, added, copied, verified, planned for, downloaded.
import { z } from 'zod'
import { nothing, pathSchema, taskSchema } from './shared.ts'

export const modelDetailsSchema = z.object({
  family: z.string(),
  parameters: z.number(),
  storedType: z.string(),
  /** Longest sequence, tokens. */
  contextTokens: z.number(),
  /** The base model of exactly this geometry. */
  base: z.string().nullable(),
  warnings: z.array(z.string()),
  /** Whether the model thinks before it answers: it can be switched, always does, or never does. */
  thinking: z.enum(['switch', 'always', 'never']),
  /** Whether it has a chat template; without one prompts are given as plain text. */
  chat: z.boolean(),
})

export const modelEntrySchema = z.object({
  name: z.string(),
  source: z.enum(['built-in', 'library', 'added', 'hugging-face', 'lm-studio']),
  path: z.string(),
  state: z.enum(['ready', 'incomplete', 'unsupported', 'damaged']),
  /** Why it is not ready, as a sentence. */
  problem: z.string().nullable(),
  bytes: z.number(),
  details: modelDetailsSchema.nullable(),
  /** Name of its licence as its files say; empty where they say nothing. */
  licence: z.string(),
  /** When it was last verified (ISO 8601) with the files it has now; null otherwise. */
  verified: z.string().nullable(),
})
export type ModelEntry = z.infer<typeof modelEntrySchema>

export const baseEntrySchema = z.object({
  name: z.string(),
  repository: z.string(),
  licence: z.string(),
  /** Published size of the files that are needed, bytes. */
  bytes: z.number(),
  parameters: z.number(),
  /** One sentence about what it is good for. */
  what: z.string(),
  thinking: z.enum(['switch', 'always', 'never']),
  /** Path of the model on this machine that serves as this base. */
  path: z.string().nullable(),
})
export type BaseEntry = z.infer<typeof baseEntrySchema>

export const modelListSchema = z.object({
  folder: z.string(),
  bases: z.array(baseEntrySchema),
  models: z.array(modelEntrySchema),
  /** Models in caches of other tools that Satchel cannot compute, left out of the list. */
  hidden: z.int(),
  /** Places that could not be read, as sentences. */
  problems: z.array(z.string()),
  /** Repositories whose download was begun and can go on, with the bytes that have come. */
  partial: z.array(z.object({ repository: z.string(), bytes: z.number() })),
})
export type ModelList = z.infer<typeof modelListSchema>

export const verificationSchema = z.object({
  path: z.string(),
  usable: z.boolean(),
  sentence: z.string(),
  checks: z.array(z.object({ name: z.enum(['tensors', 'hashes', 'tokenizer', 'template', 'generation']), state: z.enum(['passed', 'failed', 'skipped']), what: z.string() })),
  files: z.array(z.object({ name: z.string(), bytes: z.number(), sha256: z.string(), matches: z.boolean().nullable() })),
})
export type Verification = z.infer<typeof verificationSchema>

export const memoryPlanSchema = z.object({
  model: z.string(),
  /** Tokens of the longest prompt that were planned for. */
  promptTokens: z.int().min(1),
  /** Whether they are those of the run's own prompts, and not assumed. */
  promptsRead: z.boolean(),
  layout: z.enum(['whole', 'layered']),
  /** Parts that are not zero, in the order they are spoken of; bytes. */
  parts: z.array(z.object({ part: z.string(), label: z.string(), bytes: z.number() })),
  peaks: z.object({ generation: z.number(), training: z.number(), resume: z.number() }),
  /** Memory that was planned for, bytes. */
  memory: z.number(),
  fits: z.boolean(),
  /** Changes that would lower the peak where it does not fit, each alone. */
  advice: z.array(z.object({ change: z.string(), trainingPeak: z.number() })),
})
export type MemoryPlanView = z.infer<typeof memoryPlanSchema>

/** Done by the tools process. */
export const modelCalls = {
  'models.list': { request: nothing, response: modelListSchema },
  /** Remembers where a model lies; nothing is copied. Its own name where left out. */
  'models.add': { request: z.object({ path: pathSchema, name: z.string().min(1).max(100).optional() }).strict(), response: modelEntrySchema },
  /** Forgets an added model; its files stay. */
  'models.remove': { request: z.object({ name: z.string().min(1).max(200) }).strict(), response: nothing },
  /** Copies a model into the models folder. */
  'models.import': { request: z.object({ path: pathSchema, name: z.string().min(1).max(100).optional(), task: taskSchema }).strict(), response: modelEntrySchema },
  /** `accept`: files that changed since the last time are taken as they are now. */
  'models.verify': { request: z.object({ path: pathSchema, accept: z.boolean(), generate: z.boolean(), task: taskSchema }).strict(), response: verificationSchema },
  /** What a run would need in memory. `run` holds the fields of a run's configuration that are not at their defaults; its prompts are read for their lengths. */
  'models.plan': {
    request: z.object({ path: pathSchema, run: z.record(z.string(), z.unknown()) }).strict(),
    response: memoryPlanSchema,
  },
  /** The one call that uses the network. Cancelled, it keeps what has come; called again, it goes on from there. */
  'models.download': { request: z.object({ repository: z.string().min(1).max(200), task: taskSchema }).strict(), response: modelEntrySchema },
} as const
