// What is going on, in words for the tray, the notification and the question at closing. Pure.
import { basename } from 'node:path'
import type { PageRunEvent } from '../contract/calls/runs.ts'
import type { RunState } from '../contract/events.ts'

/** A run at work in this app. */
export interface Activity {
  readonly directory: string
  readonly state: RunState
  readonly step: number
  readonly totalSteps: number
}

/** The activity after an event; undefined where nothing is at work. */
export function activityAfter(before: Activity | undefined, directory: string, event: PageRunEvent): Activity | undefined {
  if (event.type === 'state') {
    const over = event.state === 'done' || event.state === 'stopped' || event.state === 'failed'
    return over ? (before?.directory === directory ? undefined : before) : { directory, state: event.state, step: event.step, totalSteps: event.totalSteps }
  }
  return event.type === 'metrics' && before?.directory === directory ? { ...before, step: event.row.step } : before
}

/** Whether the machine must stay awake: a paused run can wait. */
export function keepsAwake(activity: Activity | undefined): boolean {
  return activity !== undefined && activity.state !== 'paused'
}

/** One line, such as a tooltip shows. */
export function activityLine(activity: Activity | undefined, waiting: number): string {
  const behind = waiting === 0 ? '' : `, ${waiting} waiting`
  if (activity === undefined) return `Satchel${behind}`
  const { directory, state, step, totalSteps } = activity
  return `Satchel: ${basename(directory)} ${state === 'running' ? 'training' : state}, step ${step} of ${totalSteps}${behind}`
}

export interface EndNotice {
  readonly title: string
  readonly body: string
}

/** What to tell the person when a run has ended; undefined for every other event. */
export function endNotice(directory: string, event: PageRunEvent): EndNotice | undefined {
  if (event.type !== 'state') return undefined
  const name = basename(directory)
  if (event.state === 'done') return { title: `${name} is done`, body: event.message }
  if (event.state === 'failed') return { title: `${name} was interrupted`, body: event.message }
  return undefined
}

export const closeChoices = ['Go on in the background', 'Stop after this step and quit', 'Cancel'] as const
export type CloseChoice = 'background' | 'quit' | 'cancel'

/** What the number of a pressed button means; a dialog closed by its frame is a Cancel. */
export function closeChoiceOf(button: number): CloseChoice {
  return button === 0 ? 'background' : button === 1 ? 'quit' : 'cancel'
}
