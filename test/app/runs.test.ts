import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { EngineEvent } from '../../src-main/contract/events.ts'
import { engineEventSchema } from '../../src-main/contract/events.ts'
import { engineEnvironment } from '../../src-main/app/engine-environment.ts'
import { createFolderWatcher, eventsBetween } from '../../src-main/app/folder-watcher.ts'
import type { FolderWatcher } from '../../src-main/app/folder-watcher.ts'
import { readRun } from '../../src-main/app/library.ts'
import { createRunHandlers } from '../../src-main/app/runs.ts'
import type { RunHandlers } from '../../src-main/app/runs.ts'
import { createSupervisor, defaultPatience } from '../../src-main/app/supervisor.ts'
import type { Supervisor } from '../../src-main/app/supervisor.ts'

const fakeEngine = resolve('test/support/fake-engine.mjs')
const fakeEnvironment = { ...engineEnvironment(process.env), SATCHEL_FAKE_STEP_MILLISECONDS: '20', SATCHEL_FAKE_STEPS: '500' }

/** Generous: a busy machine must not fail these tests. */
const eventually = { timeout: 30_000 }

let home: string
let runsFolder: string
let supervisor: Supervisor
let watcher: FolderWatcher
let handlers: RunHandlers
let heard: EngineEvent[]
let elsewhere: ChildProcess | undefined

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'satchel-runs-'))
  runsFolder = join(home, 'deep', 'runs')
  heard = []
  const announce = (_directory: string, event: EngineEvent): void => {
    heard.push(event)
  }
  supervisor = createSupervisor({ program: () => ({ nodeBinary: process.execPath, script: fakeEngine, environment: fakeEnvironment }), patience: { ...defaultPatience, quit: 20_000 }, announce })
  watcher = createFolderWatcher(announce, 30)
  handlers = createRunHandlers(runsFolder, supervisor, watcher)
})
afterEach(async () => {
  watcher.dispose()
  elsewhere?.kill('SIGKILL')
  elsewhere = undefined
  await supervisor.dispose()
  rmSync(home, { recursive: true, force: true, maxRetries: 3 })
})

/** An engine this app knows nothing of; resolves with its run folder. */
function startElsewhere(): Promise<string> {
  return new Promise((resolvePromise) => {
    mkdirSync(runsFolder, { recursive: true })
    const child = fork(fakeEngine, [], { env: fakeEnvironment, execArgv: [] })
    elsewhere = child
    child.on('message', (message) => {
      const event = engineEventSchema.safeParse(message)
      if (event.success && event.data.type === 'state' && event.data.state === 'running') resolvePromise(event.data.runDirectory)
    })
    child.send({ type: 'start', demo: { seed: 1, runsDirectory: runsFolder } })
  })
}

describe('runs of this app', () => {
  it('are listed and opened with the state the supervisor knows', async () => {
    const started = await handlers['runs.startDemo']({ seed: 1 })
    expect(existsSync(runsFolder)).toBe(true)
    // The engine has named its folder and not made it yet.
    expect(await handlers['runs.open']({ directory: started.directory })).toMatchObject({ summary: { name: 'demo-1', state: 'starting' }, metrics: [] })
    await expect.poll(() => handlers['runs.list']({}), eventually).toMatchObject([{ directory: started.directory, state: 'running' }])
    await handlers['runs.pause']({ directory: started.directory })
    await expect.poll(async () => (await handlers['runs.open']({ directory: started.directory })).summary.state, eventually).toBe('paused')
    await handlers['runs.continue']({ directory: started.directory })
    await handlers['runs.stop']({ directory: started.directory })
    await expect.poll(async () => (await handlers['runs.list']({}))[0]?.state, eventually).toBe('stopped')
  })

  it('keep the words of how their engine went, also when they are opened again', async () => {
    const { directory } = await handlers['runs.startDemo']({ seed: 1 })
    await expect.poll(() => existsSync(join(directory, 'status.json')), eventually).toBe(true)
    process.kill((JSON.parse(readFileSync(join(directory, 'status.json'), 'utf8')) as { pid: number }).pid, 'SIGKILL')
    await expect.poll(() => supervisor.lastState(directory)?.state, eventually).toBe('failed')
    expect(await handlers['runs.open']({ directory })).toMatchObject({ summary: { state: 'failed' }, message: expect.stringMatching(/engine process was killed/) as string })
  })

  it('say what to do when their folder cannot be made', async () => {
    writeFileSync(join(home, 'deep'), 'a file where a folder should be')
    await expect(handlers['runs.startDemo']({ seed: 1 })).rejects.toThrow(/runs folder cannot be made.*SATCHEL_RUNS/s)
  })

  it('are the only folders the page may name', async () => {
    for (const name of ['runs.open', 'runs.pause', 'runs.continue', 'runs.stop', 'runs.resume'] as const) {
      await expect((async () => handlers[name]({ directory: home }))(), name).rejects.toThrow(/not in the runs folder/)
    }
  })
})

describe('runs an engine elsewhere works on', () => {
  it('are watched through their folder, and obey through it', async () => {
    await startElsewhere()
    const [summary] = await handlers['runs.list']({})
    const directory = summary?.directory as string
    expect((await handlers['runs.open']({ directory })).summary.state).toBe('running')
    await expect.poll(() => heard.filter((event) => event.type === 'metrics').length, eventually).toBeGreaterThan(2)
    expect(heard.some((event) => event.type === 'rollouts')).toBe(true)
    await handlers['runs.stop']({ directory })
    expect(JSON.parse(readFileSync(join(directory, 'control.json'), 'utf8'))).toEqual({ type: 'stop' })
  })

  it('are no longer watched once their engine is gone', async () => {
    const directory = await startElsewhere()
    await handlers['runs.open']({ directory })
    elsewhere?.kill('SIGKILL')
    await expect.poll(() => heard.at(-1), eventually).toMatchObject({ type: 'state', state: 'failed' })
    await expect(handlers['runs.pause']({ directory })).rejects.toThrow(/not in progress/)
  })
})

describe('eventsBetween', () => {
  it('says nothing when nothing is new, and only what is new otherwise', async () => {
    const { directory } = await handlers['runs.startDemo']({ seed: 1 })
    await expect.poll(() => heard.filter((event) => event.type === 'metrics').length, eventually).toBeGreaterThan(1)
    const before = await readRun(directory)
    expect(eventsBetween(before, before)).toEqual([])
    const row = { step: (before.metrics.at(-1)?.step ?? 0) + 1, values: { reward: 1 } }
    expect(eventsBetween(before, { ...before, metrics: [...before.metrics, row] })).toEqual([{ type: 'metrics', row }])
  })
})
