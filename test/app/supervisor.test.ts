import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { EngineEvent } from '../../src-main/contract/events.ts'
import { engineEnvironment } from '../../src-main/app/engine-environment.ts'
import { createMetricsIndex } from '../../src-main/app/metrics-index.ts'
import { createSupervisor } from '../../src-main/app/supervisor.ts'
import type { Patience, Supervisor } from '../../src-main/app/supervisor.ts'

const fakeEngine = resolve('test/support/fake-engine.mjs')
/** Generous, so that a busy machine fails nothing; a test about patience shortens what it is about. */
const longPatience: Patience = { start: 60_000, stop: 60_000, exit: 30_000, quit: 30_000, silence: 60_000 }

let runsFolder: string
let supervisor: Supervisor
let heard: EngineEvent[]
let wakers: (() => void)[]

function supervise(mode: string, patience: Partial<Patience> = {}, steps = 6): void {
  heard = []
  wakers = []
  supervisor = createSupervisor({
    program: () => ({
      nodeBinary: process.execPath,
      script: fakeEngine,
      environment: { ...engineEnvironment(process.env), SATCHEL_FAKE_ENGINE: mode, SATCHEL_FAKE_STEP_MILLISECONDS: '20', SATCHEL_FAKE_STEPS: String(steps) },
    }),
    patience: { ...longPatience, ...patience },
    announce: (_directory, event) => {
      heard.push(event)
      for (const wake of wakers) wake()
    },
  })
}

/** Resolves with the first event, past or future, that `accepts`. */
function heardEvent<Type extends EngineEvent['type']>(type: Type, accepts: (event: Extract<EngineEvent, { type: Type }>) => boolean = () => true): Promise<Extract<EngineEvent, { type: Type }>> {
  return new Promise((resolvePromise) => {
    const look = (): void => {
      for (const event of heard) {
        if (event.type === type && accepts(event as Extract<EngineEvent, { type: Type }>)) resolvePromise(event as Extract<EngineEvent, { type: Type }>)
      }
    }
    wakers.push(look)
    look()
  })
}

const reached = (state: string): Promise<Extract<EngineEvent, { type: 'state' }>> => heardEvent('state', (event) => event.state === state)

beforeEach(() => {
  runsFolder = mkdtempSync(join(tmpdir(), 'satchel-supervisor-'))
})
afterEach(async () => {
  await supervisor.dispose()
  rmSync(runsFolder, { recursive: true, force: true })
})

describe('a run that goes well', () => {
  it('is named by its first state, announces its work and ends as done', async () => {
    supervise('normal')
    const summary = await supervisor.startDemo(5, runsFolder)
    expect(summary).toMatchObject({ name: 'demo-1', directory: join(runsFolder, 'demo-1'), state: 'starting' })
    await reached('done')
    expect(heard.filter((event) => event.type === 'metrics').map((event) => event.row.step)).toEqual([1, 2, 3, 4, 5, 6])
    expect((supervisor.presentState(summary.directory) ?? supervisor.lastState(summary.directory))?.state).toBe('done')
  })

  it('pauses, continues and stops with a checkpoint when asked', async () => {
    supervise('normal', {}, 500)
    const { directory } = await supervisor.startDemo(1, runsFolder)
    await heardEvent('metrics')
    supervisor.pause(directory)
    const paused = await reached('paused')
    const rowsAtPause = heard.filter((event) => event.type === 'metrics').length
    expect(rowsAtPause).toBe(paused.step)
    supervisor.continue(directory)
    await heardEvent('metrics', (event) => event.row.step > paused.step)
    supervisor.stop(directory)
    const stopped = await reached('stopped')
    await heardEvent('checkpoint', (event) => event.step === stopped.step)
    expect(heard.some((event) => event.type === 'state' && event.state === 'stopping')).toBe(true)
  })

  it('refuses a second run while one is in progress, and takes it afterwards', async () => {
    supervise('normal')
    const first = await supervisor.startDemo(1, runsFolder)
    await expect(supervisor.startDemo(2, runsFolder)).rejects.toThrow(/already in progress/)
    await expect(supervisor.resume(first.directory)).rejects.toThrow(/already in progress/)
    await reached('done')
    expect((await supervisor.startDemo(2, runsFolder)).name).toBe('demo-2')
  })
})

describe('a run that does not go well', () => {
  it('says in words that the engine crashed, where, and what to do', async () => {
    supervise('crash')
    const { directory } = await supervisor.startDemo(1, runsFolder)
    const failed = await reached('failed')
    expect(failed.message).toBe(
      'The engine process ended unexpectedly with code 7. Its last words: “Error: the tensor arena is empty”. It had finished step 2 of 6, while scoring completions. Nothing already written is lost; Resume continues from the newest checkpoint.',
    )
    expect(failed.step).toBe(2)
    expect(() => supervisor.pause(directory)).toThrow(/not in progress/)
  })

  it('resumes after a crash and works on to the end', async () => {
    supervise('crash')
    const { directory } = await supervisor.startDemo(1, runsFolder)
    await reached('failed')
    expect((await supervisor.resume(directory)).directory).toBe(directory)
    await reached('done')
    const index = createMetricsIndex(join(directory, 'metrics.jsonl'))
    await index.refresh()
    expect(Array.from({ length: index.length }, (_, at) => index.row(at).step)).toEqual([1, 2, 3, 4, 5, 6])
  })

  it('mentions a long silence, and ends a hung engine when a stop is not obeyed', async () => {
    supervise('hang', { stop: 200, exit: 200, silence: 200 })
    const { directory } = await supervisor.startDemo(1, runsFolder)
    // It hangs after step 2.
    await heardEvent('metrics', (event) => event.row.step === 2)
    const warning = await heardEvent('warning')
    expect(warning.message).toMatch(/has said nothing/)
    supervisor.stop(directory)
    const stopped = await reached('stopped')
    expect(stopped.message).toMatch(/did not stop when asked and was ended/)
  })

  it('drops the step in progress when stop is asked twice', async () => {
    supervise('normal', {}, 500)
    const { directory } = await supervisor.startDemo(1, runsFolder)
    supervisor.stop(directory)
    supervisor.stop(directory)
    await reached('stopped')
    expect(heard.filter((event) => event.type === 'state' && event.state === 'stopping').map((event) => (event.type === 'state' ? event.message : ''))).toEqual([
      expect.stringMatching(/^Finishing the step/),
      expect.stringMatching(/^Stopping at once/),
    ])
  })

  it('reports messages it does not understand once, and works on', async () => {
    supervise('garbage')
    await supervisor.startDemo(1, runsFolder)
    await reached('done')
    expect(heard.filter((event) => event.type === 'warning').map((event) => event.message)).toEqual([expect.stringMatching(/does not understand/)])
    expect(heard.filter((event) => event.type === 'metrics')).toHaveLength(6)
  })

  it('ends an engine that never answers its start', async () => {
    supervise('deaf', { start: 300 })
    await expect(supervisor.startDemo(1, runsFolder)).rejects.toThrow(/did not report back/)
  })

  it('hands on the reason of an engine that refuses to start', async () => {
    supervise('refuse')
    await expect(supervisor.startDemo(1, runsFolder)).rejects.toThrow('model.safetensors: the built-in model is damaged. Expected a whole file. Install Satchel again.')
  })

  it('names a Node binary that cannot be started', async () => {
    supervise('normal')
    const broken = createSupervisor({ program: () => ({ nodeBinary: join(runsFolder, 'no-such-node'), script: fakeEngine, environment: {} }), patience: longPatience, announce: () => undefined })
    await expect(broken.startDemo(1, runsFolder)).rejects.toThrow(/could not be started/)
  })

  it('ends an engine that does not leave after its work', async () => {
    supervise('lingering', { exit: 300 })
    await supervisor.startDemo(1, runsFolder)
    await reached('done')
    expect((await supervisor.startDemo(1, runsFolder)).name).toBe('demo-2')
  })

  it('leaves no engine behind when it is disposed, not even a hung one', async () => {
    supervise('hang', { quit: 300 })
    await supervisor.startDemo(1, runsFolder)
    await heardEvent('metrics', (event) => event.row.step === 2)
    await supervisor.dispose()
    expect(heard.at(-1)).toMatchObject({ type: 'state', state: 'stopped' })
    await expect(supervisor.startDemo(1, runsFolder)).rejects.toThrow(/closing/)
  })
})
