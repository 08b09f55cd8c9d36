// Owns the engine processes: one per run, one run at a time. Announces what they say, and says what happened when one falls silent.
import { basename, resolve } from 'node:path'
import type { RunSummary } from '../contract/calls/run-data.ts'
import { describeError, UserError } from '../contract/errors.ts'
import type { EngineEvent, EngineStart, RunState } from '../contract/events.ts'
import type { LiveSetting } from '../contract/run-changes.ts'
import { startEngineProcess } from './engine-process.ts'
import type { EngineEnd, EngineProcess, EngineProgram } from './engine-process.ts'
import { crashMessage, endMessage } from './engine-words.ts'
import type { LastKnown } from './engine-words.ts'

type StateEvent = Extract<EngineEvent, { type: 'state' }>

/** How long an engine may take, in milliseconds. */
export interface Patience {
  /** From the start to the first `state` event. */
  readonly start: number
  /** From `stop` (finish the step, write a checkpoint) to the end. */
  readonly stop: number
  /** From `stop-now`, or from its last word, to the end. */
  readonly exit: number
  /** From `stop` to the end when the app is closing. */
  readonly quit: number
  /** A silence longer than this is mentioned to the person. */
  readonly silence: number
}
export const defaultPatience: Patience = { start: 120_000, stop: 90_000, exit: 10_000, quit: 20_000, silence: 60_000 }

export interface SupervisorOptions {
  /** Asked for at every start: a missing Node binary is then an answer to a call, not a crash at launch. */
  readonly program: () => EngineProgram
  readonly patience: Patience
  /** Hears every event of every run, and the supervisor's own `state` events. */
  readonly announce: (directory: string, event: EngineEvent) => void
  /** Called when the last engine has gone: the next run may start. */
  readonly onIdle?: () => void
}

export interface Supervisor {
  /** Starts an engine. @throws UserError `usage` while another is at work, `engine` or what the engine said when it cannot start */
  start(start: EngineStart): Promise<RunSummary>
  startDemo(seed: number, runsDirectory: string): Promise<RunSummary>
  resume(directory: string): Promise<RunSummary>
  pause(directory: string): void
  continue(directory: string): void
  /** Finish the step and stop; asked a second time, stop at once. Returns immediately: the end is announced. */
  stop(directory: string): void
  /** Stop at once; the step in progress is dropped. */
  stopNow(directory: string): void
  /** Write a checkpoint after the step in progress. */
  checkpoint(directory: string): void
  /** Change rates or weights from the next step on. */
  set(directory: string, settings: readonly LiveSetting[]): void
  /** Whether an engine is at work, or leaving. */
  busy(): boolean
  /** Folders of the runs an engine is at work on, and that nobody has asked to stop. */
  working(): string[]
  /** The newest `state` of a run in progress here; undefined for others. */
  presentState(directory: string): StateEvent | undefined
  /** The last `state` of a run whose engine has gone since the app started; undefined for others. */
  lastState(directory: string): StateEvent | undefined
  /** Stops every engine and waits until they are gone. */
  dispose(): Promise<void>
}

interface LiveRun {
  readonly process: EngineProcess
  state: StateEvent | undefined
  last: LastKnown
  stopRequested: 'no' | 'after-step' | 'now'
  killedBecause: string | undefined
  lastProgressAt: number
  /** One bad message is worth a sentence, a thousand are not worth a thousand. */
  saidUnreadable: boolean
  timer: NodeJS.Timeout | undefined
  silence: NodeJS.Timeout | undefined
}

const finalStates: readonly RunState[] = ['stopped', 'done', 'failed']
/** Progress is announced at most this often; the page is a person's view. */
const progressMilliseconds = 100

export function createSupervisor(options: SupervisorOptions): Supervisor {
  const { patience, announce } = options
  const active = new Map<string, LiveRun>()
  const finished = new Map<string, StateEvent>()
  const processes = new Set<LiveRun>()
  let disposed = false

  function tell(run: LiveRun, event: EngineEvent): void {
    if (run.state === undefined) return
    const directory = resolve(run.state.runDirectory)
    if (event.type === 'state') run.state = event
    announce(directory, event)
  }

  function tellState(run: LiveRun, state: RunState, message: string): void {
    if (run.state === undefined) return
    tell(run, { ...run.state, state, step: run.last.step, secondsLeft: null, message })
  }

  function endLater(run: LiveRun, milliseconds: number, because: string, act: () => void): void {
    clearTimeout(run.timer)
    run.timer = setTimeout(() => {
      run.killedBecause = because
      act()
    }, milliseconds)
  }

  function stopRun(run: LiveRun): void {
    if (run.stopRequested === 'now') return
    const now = run.stopRequested === 'after-step'
    run.stopRequested = now ? 'now' : 'after-step'
    run.process.send({ type: now ? 'stop-now' : 'stop' })
    if (now) {
      endLater(run, patience.exit, 'The engine did not stop when asked and was ended.', run.process.kill)
    } else {
      endLater(run, patience.stop, 'The engine did not finish its step in time.', () => stopRun(run))
    }
    const message = now ? 'Stopping at once; the step in progress is dropped.' : 'Finishing the step and writing a checkpoint. Press Stop again to drop the step instead.'
    tellState(run, 'stopping', message)
  }

  function listenForSilence(run: LiveRun): void {
    clearTimeout(run.silence)
    if (run.state === undefined || run.state.state === 'paused') return
    run.silence = setTimeout(() => {
      const seconds = Math.round(patience.silence / 1000)
      tell(run, { type: 'warning', message: `The engine has said nothing for ${seconds} seconds. It may be in a long calculation; Stop ends it if it hangs.` })
    }, patience.silence)
  }

  function hear(run: LiveRun, said: EngineEvent): void {
    const event = said.type === 'state' ? withKnownLength(said, run.last) : said
    switch (event.type) {
      case 'state':
        // A state sent before the engine read the request would make the page flicker.
        if (run.stopRequested !== 'no' && !finalStates.includes(event.state)) return
        run.last = { ...run.last, step: event.step, totalSteps: event.totalSteps }
        if (finalStates.includes(event.state)) endLater(run, patience.exit, 'The engine did not end after its work.', run.process.kill)
        break
      case 'progress': {
        run.last = { ...run.last, phase: event.phase }
        const now = performance.now()
        if (event.done < event.total && now - run.lastProgressAt < progressMilliseconds) return
        run.lastProgressAt = now
        break
      }
      case 'metrics':
        run.last = { ...run.last, step: Math.max(run.last.step, event.row.step) }
        break
      case 'checkpoint':
        run.last = { ...run.last, checkpointStep: event.step }
        break
      case 'error':
        run.last = { ...run.last, error: event.error }
        break
      case 'rollouts':
      case 'evaluation':
      case 'changed':
      case 'warning':
        break
    }
    tell(run, event)
    listenForSilence(run)
  }

  function bury(run: LiveRun, end: EngineEnd): void {
    clearTimeout(run.timer)
    clearTimeout(run.silence)
    processes.delete(run)
    if (processes.size === 0 && !disposed) options.onIdle?.()
    if (run.state === undefined) return
    const directory = resolve(run.state.runDirectory)
    if (!finalStates.includes(run.state.state)) {
      if (run.stopRequested !== 'no') {
        const kept = 'Everything up to the newest checkpoint is kept; Resume continues from there.'
        tellState(run, 'stopped', run.killedBecause === undefined ? `Stopped. ${kept}` : `${run.killedBecause} ${kept}`)
      } else {
        tellState(run, 'failed', run.last.error === undefined ? crashMessage(end, run.last) : describeError(run.last.error))
      }
    }
    finished.set(directory, run.state)
    active.delete(directory)
  }

  /** A process that has reported its end may still be closing its files. */
  async function waitForLeaving(): Promise<void> {
    const leaving = [...processes].filter((run) => run.state !== undefined && finalStates.includes(run.state.state))
    await Promise.all(leaving.map((run) => run.process.gone))
  }

  /** Resolves once the engine has named its run folder. */
  async function launch(start: EngineStart): Promise<RunSummary> {
    await waitForLeaving()
    if (disposed) throw new UserError({ code: 'usage', what: 'Satchel is closing.' })
    if (processes.size > 0) {
      throw new UserError({ code: 'usage', what: 'A run is already in progress.', expected: 'one run at a time, so that it has the whole machine', remedy: 'Stop it, or wait until it is done.' })
    }
    return new Promise((resolvePromise, reject) => {
      const run: LiveRun = {
        process: startEngineProcess(options.program(), start, {
          onEvent: (event) => {
            if (event.type === 'state' && run.state === undefined) {
              clearTimeout(run.timer)
              run.state = event
              active.set(resolve(event.runDirectory), run)
              hear(run, event)
              resolvePromise(summaryOf(event))
            } else {
              hear(run, event)
            }
          },
          onUnreadable: (problem) => {
            if (run.state === undefined || run.saidUnreadable) return
            run.saidUnreadable = true
            tell(run, { type: 'warning', message: `The engine sent a message this version does not understand (${problem}). It was left out.` })
          },
        }),
        state: undefined,
        last: { step: 0, totalSteps: 0, phase: undefined, checkpointStep: undefined, error: undefined },
        stopRequested: 'no',
        killedBecause: undefined,
        lastProgressAt: -Infinity,
        saidUnreadable: false,
        timer: undefined,
        silence: undefined,
      }
      processes.add(run)
      endLater(run, patience.start, 'The engine did not report back after its start and was ended.', run.process.kill)
      void run.process.gone.then((end) => {
        const silent = run.state === undefined
        bury(run, end)
        if (silent) reject(startFailure(run, end))
      })
    })
  }

  function liveRun(directory: string): LiveRun {
    const run = active.get(resolve(directory))
    if (run === undefined) throw new UserError({ code: 'usage', what: 'This run is not in progress.', place: { file: directory }, remedy: 'Resume it first.' })
    return run
  }

  return {
    start: launch,
    startDemo: (seed, runsDirectory) => launch({ type: 'start', demo: { seed, runsDirectory } }),
    resume: (directory) => launch({ type: 'start', runDirectory: resolve(directory), resume: true }),
    pause: (directory) => liveRun(directory).process.send({ type: 'pause' }),
    continue: (directory) => liveRun(directory).process.send({ type: 'resume' }),
    stop: (directory) => stopRun(liveRun(directory)),
    stopNow: (directory) => {
      const run = liveRun(directory)
      if (run.stopRequested === 'no') run.stopRequested = 'after-step'
      stopRun(run)
    },
    checkpoint: (directory) => liveRun(directory).process.send({ type: 'checkpoint' }),
    set: (directory, settings) => liveRun(directory).process.send({ type: 'set', settings: [...settings] }),
    busy: () => processes.size > 0,
    working: () => [...active].flatMap(([directory, run]) => (run.stopRequested === 'no' && run.state !== undefined && !finalStates.includes(run.state.state) ? [directory] : [])),
    presentState: (directory) => active.get(resolve(directory))?.state,
    lastState: (directory) => finished.get(resolve(directory)),
    dispose: async () => {
      disposed = true
      const leaving = [...processes]
      for (const run of leaving) {
        if (run.state === undefined) run.process.kill()
        else if (run.stopRequested === 'no' && !finalStates.includes(run.state.state)) stopRun(run)
        endLater(run, patience.quit, 'The engine did not stop before Satchel closed and was ended.', run.process.kill)
      }
      await Promise.all(leaving.map((run) => run.process.gone))
    },
  }
}

/** An engine that has just begun, or fails early, says 0 of 0: it does not know how far its run is. */
function withKnownLength(state: StateEvent, last: LastKnown): StateEvent {
  return state.totalSteps > 0 ? state : { ...state, step: last.step, totalSteps: last.totalSteps }
}

function summaryOf(state: StateEvent): RunSummary {
  const directory = resolve(state.runDirectory)
  return { name: basename(directory), directory, state: state.state, step: state.step, totalSteps: state.totalSteps }
}

function startFailure(run: LiveRun, end: EngineEnd): UserError {
  if (run.last.error !== undefined) return new UserError(run.last.error)
  if (run.killedBecause !== undefined) return new UserError({ code: 'engine', what: run.killedBecause, remedy: 'Try again; `npx satchel doctor` tells what this machine can do.' })
  return new UserError({ code: 'engine', what: endMessage(end), remedy: 'Build Satchel again (`npm run build`); `npx satchel doctor` tells what this machine can do.' })
}
