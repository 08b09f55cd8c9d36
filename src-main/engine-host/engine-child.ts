// Entry of an engine process: hears a start message, then commands; tells events. The desktop app starts one for each run.
//
// It outlives its parent: a window that crashes must not cost a run of hours. Left alone it goes on to its end, and is watched
// and stopped through the run folder (status.json, control).
import { z } from 'zod'
import { toEnvelope, UserError } from '../contract/errors.ts'
import { engineCommandSchema, engineStartSchema } from '../contract/events.ts'
import type { EngineEvent, EngineStart } from '../contract/events.ts'
import { parseRunConfig } from '../engine/training/run-folder-reading.ts'
import { newRunDirectory } from '../engine/training/run-folder.ts'
import { runTraining } from '../engine/training/run.ts'
import { writeRunReport } from '../engine/training/report.ts'
import { exitCodeOf } from './cli-output.ts'
import { createCommandQueue, stopOnInterrupt } from './command-queue.ts'
import { demoConfig } from './run-config-file.ts'

const queue = createCommandQueue()
let started = false

/** Settles when the newest message has left; messages keep their order, so all before it have left as well. */
let lastTold: Promise<void> = Promise.resolve()

function tell(event: EngineEvent): void {
  lastTold = new Promise((resolve) => {
    if (process.send === undefined || !process.connected) resolve()
    else process.send(event, () => resolve())
  })
}

async function run(start: EngineStart): Promise<void> {
  let announced = false
  const onEvent = (event: EngineEvent): void => {
    announced ||= event.type === 'error'
    tell(event)
  }
  try {
    const what = await whatToRun(start)
    await runTraining({ ...what, onEvent, commands: queue })
    await writeRunReport(what.runDirectory).catch((error: unknown) => complain(error))
    process.exitCode = 0
  } catch (error) {
    if (!announced) onEvent({ type: 'error', error: toEnvelope(error) })
    complain(error)
    process.exitCode = exitCodeOf(error)
  }
}

/** The start message as the training loop takes it. @throws UserError naming the field of a configuration that is wrong */
async function whatToRun(start: EngineStart): Promise<Pick<Parameters<typeof runTraining>[0], 'start' | 'runDirectory'>> {
  if ('resume' in start) return { start: { resume: true }, runDirectory: start.runDirectory }
  if ('demo' in start) return { start: { config: await demoConfig(start.demo.seed) }, runDirectory: newRunDirectory(start.demo.runsDirectory, 'demo') }
  const config = parseRunConfig(start.config, 'run.json')
  return { start: { config }, runDirectory: newRunDirectory(start.runsDirectory, config.name) }
}

function complain(error: unknown): void {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`)
}

async function hearStart(message: unknown): Promise<void> {
  const parsed = engineStartSchema.safeParse(message)
  if (parsed.success) await run(parsed.data)
  else {
    const what = `the start message is not understood: ${z.prettifyError(parsed.error)}`
    tell({ type: 'error', error: new UserError({ code: 'usage', what, remedy: 'Use an app and an engine of the same version.' }).envelope })
    process.exitCode = 2
  }
  await lastTold
  process.exit()
}

// A parent that is gone closes channel and pipe; neither ends a run that has begun.
process.stderr.on('error', () => undefined)
process.on('disconnect', () => {
  if (!started) process.exit(0)
})
if (process.send === undefined) {
  process.stderr.write('This is the engine process of Satchel; it is started by the app. Use `satchel train` instead.\n')
  process.exitCode = 2
} else {
  stopOnInterrupt(queue, () => undefined)
  process.on('message', (message) => {
    if (!started) {
      started = true
      void hearStart(message)
      return
    }
    const command = engineCommandSchema.safeParse(message)
    if (command.success) queue.push(command.data)
    else tell({ type: 'warning', message: 'A command was not understood and left out.' })
  })
}
