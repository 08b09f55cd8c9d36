import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { engineEventSchema } from '../../src-main/contract/events.ts'
import { engineEnvironment } from '../../src-main/app/engine-environment.ts'
import type { Desktop } from '../../src-main/app/desktop.ts'
import { createRunServices } from '../../src-main/app/run-services.ts'
import type { RunServicesHandle } from '../../src-main/app/run-services.ts'
import type { RunHandlers } from '../../src-main/app/runs.ts'
import { defaultPatience } from '../../src-main/app/supervisor.ts'
import type { PageRunEvent } from '../../src-main/contract/calls/runs.ts'
import { takeCommand } from '../../src-main/engine/training/run-commands.ts'

const fakeEngine = resolve('test/support/fake-engine.mjs')
const fakeEnvironment = { ...engineEnvironment(process.env), SATCHEL_FAKE_STEP_MILLISECONDS: '20', SATCHEL_FAKE_STEPS: '500' }

/** Generous: a busy machine must not fail these tests. */
const eventually = { timeout: 30_000 }

let home: string
let runsFolder: string
let runs: RunServicesHandle
let handlers: RunHandlers
let heard: PageRunEvent[]
let elsewhere: ChildProcess | undefined

/** A desktop on which the person chooses nothing. */
const noDesktop: Desktop = { chooseFile: async () => null, chooseFolder: async () => null, choosePlace: async () => null, openFile: async () => undefined, showFolder: () => undefined, printPdf: async () => undefined }

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'satchel-runs-'))
  runsFolder = join(home, 'deep', 'runs')
  heard = []
  runs = createRunServices({
    runsFolder,
    reportsFolder: join(home, 'reports'),
    demoFile: resolve('resources/demo/run.json'),
    exportsFolder: () => '',
    memoryFile: join(home, 'runs.json'),
    granted: (path) => path,
    desktop: noDesktop,
    patience: { ...defaultPatience, quit: 20_000 },
    program: () => ({ nodeBinary: process.execPath, script: fakeEngine, environment: fakeEnvironment }),
    announce: (name, payload) => {
      if (name === 'run.event') heard.push((payload as { event: PageRunEvent }).event)
    },
    pollMilliseconds: 30,
  })
  handlers = runs.handlers
})
afterEach(async () => {
  elsewhere?.kill('SIGKILL')
  elsewhere = undefined
  await runs.dispose()
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
    expect(await handlers['runs.open']({ directory: started.directory })).toMatchObject({ summary: { name: 'demo-1', state: expect.stringMatching(/^(starting|running)$/) as string }, series: [] })
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
    await expect.poll(() => runs.supervisor.lastState(directory)?.state, eventually).toBe('failed')
    expect(await handlers['runs.open']({ directory })).toMatchObject({ summary: { state: 'failed' }, message: expect.stringMatching(/engine process was killed/) as string })
  })

  it('say what to do when their folder cannot be made', async () => {
    writeFileSync(join(home, 'deep'), 'a file where a folder should be')
    await expect(handlers['runs.startDemo']({ seed: 1 })).rejects.toThrow(/runs folder cannot be made.*SATCHEL_RUNS/s)
  })

  it('are the only folders the page may name', async () => {
    for (const name of ['runs.open', 'runs.pause', 'runs.continue', 'runs.stop', 'runs.stopNow', 'runs.checkpoint', 'runs.resume'] as const) {
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
    expect(heard.some((event) => event.type === 'rollouts-written')).toBe(true)
    await handlers['runs.stop']({ directory })
    await handlers['runs.checkpoint']({ directory })
    expect([takeCommand(directory), takeCommand(directory), takeCommand(directory)]).toEqual([{ type: 'stop' }, { type: 'checkpoint' }, undefined])
  })

  it('are no longer watched once their engine is gone', async () => {
    const directory = await startElsewhere()
    await handlers['runs.open']({ directory })
    elsewhere?.kill('SIGKILL')
    await expect.poll(() => heard.at(-1), eventually).toMatchObject({ type: 'state', state: 'failed' })
    await expect(handlers['runs.pause']({ directory })).rejects.toThrow(/not in progress/)
  })
})

describe('a configured run', () => {
  it('starts with its configuration, writes a checkpoint when asked, and stops at once when asked', async () => {
    const answer = await handlers['runs.start']({ config: { name: 'mine', training: { steps: 300 }, estimator: { name: 'grpo' } } })
    const directory = 'started' in answer ? answer.started.directory : ''
    expect(directory).toBe(join(runsFolder, 'mine-1'))
    await expect.poll(() => heard.some((event) => event.type === 'metrics'), eventually).toBe(true)
    expect(await handlers['runs.open']({ directory })).toMatchObject({ summary: { totalSteps: 300, estimator: 'grpo' }, description: { estimator: { name: 'grpo' } } })
    const before = heard.filter((event) => event.type === 'checkpoint').length
    await handlers['runs.checkpoint']({ directory })
    await expect.poll(() => heard.filter((event) => event.type === 'checkpoint').length, eventually).toBeGreaterThan(before)
    await handlers['runs.stopNow']({ directory })
    await expect.poll(async () => (await handlers['runs.open']({ directory })).summary.state, eventually).toBe('stopped')
  })

  it('waits while another is in progress, and starts when that has ended', async () => {
    await handlers['runs.start']({ config: { name: 'first', training: { steps: 8 } } })
    expect(await handlers['runs.start']({ config: { name: 'second', training: { steps: 3 } } })).toMatchObject({ waiting: { name: 'second', detail: 'bot-grpo, 3 steps' } })
    await expect.poll(async () => (await handlers['runs.list']({})).find(({ name }) => name === 'second-1')?.state, eventually).toBe('done')
    expect(await handlers['runs.queue']({})).toEqual([])
  })

  it('shows its rollouts step by step, without what the page did not ask for', async () => {
    const { directory } = await handlers['runs.startDemo']({ seed: 1 })
    await expect.poll(() => heard.some((event) => event.type === 'rollouts-written' && event.step === 2), eventually).toBe(true)
    expect(heard.some((event) => (event.type as string) === 'rollouts')).toBe(false)
    const headers = await handlers['runs.rollouts']({ directory, step: 2 })
    expect(headers).toHaveLength(16)
    const record = await handlers['runs.rollout']({ directory, step: 2, order: 3 })
    expect(record).toMatchObject({ step: 2, promptId: headers[3]?.promptId, index: headers[3]?.index })
    const found = await handlers['runs.search']({ directory, query: { text: '', promptId: headers[0]?.promptId ?? '', only: 'all' }, from: 2 })
    expect(new Set(found.hits.map(({ promptId }) => promptId))).toEqual(new Set([headers[0]?.promptId]))
    expect((await handlers['runs.evaluation']({ directory, step: 0 })).samplesShown.length).toBeGreaterThan(0)
  })
})

describe('configurations for the page', () => {
  it('are those of the demo, with absolute paths', async () => {
    const { config } = await handlers['runs.demoConfig']({})
    expect(config).toMatchObject({ name: 'demo', model: resolve('resources/demo/model'), data: { prompts: resolve('resources/demo/prompts.jsonl') } })
  })

  it('come from no file when the person chose none', async () => {
    expect(await handlers['runs.importConfig']({})).toBeNull()
    expect(await handlers['runs.exportConfig']({ config: {} })).toBeNull()
  })
})

describe('closing the app', () => {
  it('remembers the run it had to stop, which is offered once', async () => {
    const { directory } = await handlers['runs.startDemo']({ seed: 1 })
    await expect.poll(() => heard.some((event) => event.type === 'metrics'), eventually).toBe(true)
    await runs.dispose()
    expect(JSON.parse(readFileSync(join(home, 'runs.json'), 'utf8'))).toMatchObject({ interrupted: [directory] })
    expect(await handlers['runs.interrupted']({})).toMatchObject([{ directory, state: 'stopped' }])
    expect(await handlers['runs.interrupted']({})).toEqual([])
  })
})

describe('a run folder from elsewhere', () => {
  it('that was dropped is looked at, and nothing in it is changed', async () => {
    const { directory } = await handlers['runs.startDemo']({ seed: 1 })
    await expect.poll(() => heard.some((event) => event.type === 'metrics'), eventually).toBe(true)
    await handlers['runs.stopNow']({ directory })
    await expect.poll(async () => (await handlers['runs.open']({ directory })).summary.state, eventually).toBe('stopped')
    const copy = join(home, 'stick', 'copied')
    cpSync(directory, copy, { recursive: true })
    await expect((async () => handlers['runs.open']({ directory: copy }))()).rejects.toThrow(/not in the runs folder/)
    expect(await handlers['runs.openFolder']({ path: copy })).toMatchObject({ directory: copy, outside: true })
    expect((await handlers['runs.open']({ directory: copy })).summary).toMatchObject({ outside: true, state: 'stopped' })
    expect((await handlers['runs.list']({})).map(({ outside }) => outside ?? false).toSorted()).toEqual([false, true])
    for (const name of ['runs.pause', 'runs.stop', 'runs.checkpoint', 'runs.resume'] as const) {
      await expect((async () => handlers[name]({ directory: copy }))(), name).rejects.toThrow(/lies outside the runs folder: it can be looked at/)
    }
    await expect((async () => handlers['runs.set']({ directory: copy, settings: [{ field: 'optimizer.learningRate', value: 1 }] }))()).rejects.toThrow(/lies outside/)
  })
})
