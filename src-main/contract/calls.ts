// Every call and event between the page and the app: the table of contents of the desktop program. Each feature has its file in calls/.
// The preload, the app's router, the page's client and its test double are derived from this file.
import type { z } from 'zod'
import { datasetCalls, datasetMemoryCalls } from './calls/datasets.ts'
import { fileCalls } from './calls/files.ts'
import { judgeCalls } from './calls/judge.ts'
import { machineCalls, machineMemoryCalls } from './calls/machine.ts'
import { modelCalls } from './calls/models.ts'
import { pageCalls } from './calls/pages.ts'
import { rewardFileCalls, rewardToolCalls } from './calls/rewards.ts'
import { runCalls, runPageEvents } from './calls/runs.ts'
import { settingsCalls, settingsPageEvents } from './calls/settings.ts'
import type { HandlersOf } from './calls/shared.ts'
import { taskCalls, taskPageEvents } from './calls/tasks.ts'

export type { RunSnapshot, RunSummary } from './calls/runs.ts'

/** Requests of the page, answered once. Results travel in an envelope: { ok: true, value } or { ok: false, error }. */
export const calls = {
  ...runCalls,
  ...modelCalls,
  ...datasetCalls,
  ...datasetMemoryCalls,
  ...pageCalls,
  ...rewardToolCalls,
  ...rewardFileCalls,
  ...fileCalls,
  ...judgeCalls,
  ...machineCalls,
  ...machineMemoryCalls,
  ...settingsCalls,
  ...taskCalls,
} as const
export type CallName = keyof typeof calls
export type CallRequest<Name extends CallName> = z.infer<(typeof calls)[Name]['request']>
export type CallResponse<Name extends CallName> = z.infer<(typeof calls)[Name]['response']>
/** What the app needs to answer every call. */
export type CallHandlers = HandlersOf<typeof calls>

/** Events pushed to the page. They announce state; they never steer it. */
export const pageEvents = {
  ...runPageEvents,
  ...settingsPageEvents,
  ...taskPageEvents,
} as const
export type PageEventName = keyof typeof pageEvents
export type PageEvent<Name extends PageEventName> = z.infer<(typeof pageEvents)[Name]>
