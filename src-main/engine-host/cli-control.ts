// control: rates and weights of a run, changed while it is in progress or before it is resumed.
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import { UserError } from '../contract/errors.ts'
import { changesOf, describeChange, liveSettings } from '../contract/run-changes.ts'
import type { LiveSetting, RunChange } from '../contract/run-changes.ts'
import type { RunConfig } from '../contract/run-config.ts'
import { newestCheckpoint } from '../engine/training/checkpoint.ts'
import { isRunLocked } from '../engine/training/run-folder-lock.ts'
import { readChanges, readRunDescription, readStatus, stepConfig } from '../engine/training/run-folder-reading.ts'
import { sendCommand } from '../engine/training/run-commands.ts'
import { openRunFolder } from '../engine/training/run-folder.ts'
import { table, type CommandResult } from './cli-output.ts'
import type { Answer } from './cli-train.ts'
import { parseSetting, type Setting } from './config-settings.ts'

/** An engine looks for commands between two calls into the runtime; a call lasts no longer than one micro-batch. */
const patienceMilliseconds = 15_000
const pollMilliseconds = 100

/** Registers the command. */
export function addControlCommand(program: Command, answer: Answer): void {
  const control = program
    .command('control')
    .description('change rates and weights of a run: from the next step of one in progress, or from where a stopped one is resumed; without --set, list them')
    .argument('<run>', 'run folder')
    .option('--set <field=value>', 'a field and what it shall be, such as optimizer.learningRate=0.0001 or reward.localWeight=0.2; may be given often', parseSetting)
  answer(control, (directory: string, { set = [] }: { set?: readonly Setting[] }) => controlRun(directory, set))
}

async function controlRun(directory: string, set: readonly Setting[]): Promise<CommandResult> {
  const { config } = await readRunDescription(directory)
  const changes = (await readChanges(directory)).values
  if (set.length === 0) return listed(directory, config, changes)
  const settings = set.map(liveSetting)
  const made = (await isRunLocked(directory)) ? await changeInProgress(directory, config, changes, settings) : await changeStopped(directory, config, changes, settings)
  return {
    json: { runDirectory: resolve(directory), changes: made ?? null },
    text: made === undefined ? 'Asked it to change; it takes that up between two calls into the runtime, and its log will tell.' : made.length === 0 ? 'Nothing to change: it is so already.' : made.map(describeChange).join('\n'),
  }
}

function liveSetting({ path, value }: Setting): LiveSetting {
  const field = path.join('.')
  if (typeof value === 'number') return { field, value }
  throw new UserError({ code: 'usage', what: `${JSON.stringify(value)} is no number`, place: { field }, expected: 'a number, such as 0.0001' })
}

function listed(directory: string, config: RunConfig, changes: readonly RunChange[]): CommandResult {
  const now = liveSettings(stepConfig(directory, config, changes, Infinity))
  const json = { runDirectory: resolve(directory), settings: now, changes }
  return { json, text: [table([['field', 'value'], ...now.map(({ field, value }) => [field, String(value)])]), ...(changes.length === 0 ? [] : ['', ...changes.map(describeChange)])].join('\n') }
}

/** @returns the marks the engine wrote, or undefined where it is still busy with a call */
async function changeInProgress(directory: string, config: RunConfig, before: readonly RunChange[], settings: readonly LiveSetting[]): Promise<RunChange[] | undefined> {
  const next = ((await readStatus(directory))?.step ?? 0) + 1
  // What the engine would refuse is refused here, where the person reads it.
  if (changesOf(stepConfig(directory, config, before, next + 1), settings, next, '').length === 0) return []
  await sendCommand(directory, { type: 'set', settings: [...settings] })
  let made: RunChange[] = []
  await until(async () => {
    made = (await readChanges(directory)).values.slice(before.length)
    return made.length > 0
  })
  return made.length === 0 ? undefined : made
}

/** What was changed last holds from there on, whatever was to be changed at later steps before. */
async function changeStopped(directory: string, config: RunConfig, before: readonly RunChange[], settings: readonly LiveSetting[]): Promise<RunChange[]> {
  const folder = await openRunFolder(directory)
  try {
    const step = ((await newestCheckpoint(directory))?.step ?? 0) + 1
    const made = changesOf(stepConfig(directory, config, before, step), settings, step, new Date().toISOString())
    if (made.length > 0) await folder.appendChanges(made)
    return made
  } finally {
    await folder.close()
  }
}

async function until(happened: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + patienceMilliseconds
  while (!(await happened()) && performance.now() < end) await sleep(pollMilliseconds)
}
