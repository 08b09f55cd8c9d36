// What this machine is and what it can do, each device really tried.
import { z } from 'zod'
import { nothing, taskSchema } from './shared.ts'

export const machineFactsSchema = z.object({
  satchel: z.string(),
  node: z.string(),
  onnxruntime: z.string(),
  platform: z.string(),
  processor: z.object({ model: z.string(), threads: z.int() }),
  /** Bytes. */
  memory: z.object({ total: z.number(), free: z.number() }),
  /** Bytes free where runs are written. */
  disk: z.object({ folder: z.string(), free: z.number() }),
})
export type MachineFacts = z.infer<typeof machineFactsSchema>

/** One thing that was tried: a sentence about what it did, or why it failed. */
export const trialSchema = z.object({ name: z.string(), ok: z.boolean(), what: z.string() })
export type Trial = z.infer<typeof trialSchema>

export const machineTrialsSchema = z.object({
  /** Whether training works here at all. */
  ok: z.boolean(),
  /** ISO 8601, when it was tried. */
  time: z.string(),
  kernels: z.string(),
  trials: z.array(trialSchema),
})
export type MachineTrials = z.infer<typeof machineTrialsSchema>

/** Done by the tools process. */
export const machineCalls = {
  'machine.facts': { request: nothing, response: machineFactsSchema },
  'machine.try': { request: z.object({ task: taskSchema }).strict(), response: machineTrialsSchema },
} as const

/** Done by the app: what was found the last time, by this version of Satchel; null where nothing was tried. */
export const machineMemoryCalls = {
  'machine.lastTrials': { request: nothing, response: machineTrialsSchema.nullable() },
} as const
