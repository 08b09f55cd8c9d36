// The engine process as the app drives it: a start message, commands, events, and what happens when its parent goes.
import { fork, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { mkdtemp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { engineEventSchema } from '../../src-main/contract/events.ts'
import type { EngineEvent } from '../../src-main/contract/events.ts'
import { runConfigSchema } from '../../src-main/contract/run-config.ts'
import { openModelFolder } from '../../src-main/engine/models/model-folder.ts'
import { resourcePath } from '../../src-main/engine/runtime/paths.ts'
import { newestCheckpoint } from '../../src-main/engine/training/checkpoint.ts'
import { sendCommand } from '../../src-main/engine/training/run-commands.ts'
import { createRunFolder, describeRun, hashFile } from '../../src-main/engine/training/run-folder.ts'
import { isRunLocked } from '../../src-main/engine/training/run-folder-lock.ts'
import { readStatus } from '../../src-main/engine/training/run-folder-reading.ts'
import { buildForTests } from '../support/build-entries.ts'
import { buildEntry } from '../support/build.ts'
import { writeTinyModel } from '../support/tiny-model.ts'

// Each run starts a process of its own with reward workers; a busy machine takes its time.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 })

let entry = ''
let folder = ''
let modelHash = ''
let runs = 0

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'satchel-child-'))
  await buildForTests()
  entry = await buildEntry('src-main/engine-host/engine-child.ts')
  await writeTinyModel(join(folder, 'model'))
  const model = await openModelFolder(join(folder, 'model'))
  modelHash = await model.hash()
  await model.close()
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** A run folder that waits for its first step: made here, started by `resume`. */
async function freshRun(steps: number): Promise<string> {
  const prompts = resourcePath('demo', 'prompts.jsonl')
  const config = runConfigSchema.parse({
    model: join(folder, 'model'), data: { prompts }, reward: { typeCheck: false }, rollout: { promptsPerStep: 1, groupSize: 2, maxNewTokens: 8 }, adapter: { kind: 'lora', rank: 2 },
    training: { steps, checkpointEvery: 1000 }, evaluation: { every: 0 },
  })
  runs += 1
  const directory = join(folder, `run-${runs}`)
  await (await createRunFolder(directory, describeRun(config, { model: modelHash, data: await hashFile(prompts) }, '1.30.0'))).close()
  return directory
}

interface Child {
  readonly child: ChildProcess
  readonly events: EngineEvent[]
  heard(test: (event: EngineEvent) => boolean): Promise<EngineEvent>
  readonly code: Promise<number | null>
}

function startChild(message: unknown): Child {
  const child = fork(entry, [], { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] })
  const events: EngineEvent[] = []
  const waiting = new Set<() => void>()
  child.on('message', (heard) => {
    events.push(engineEventSchema.parse(heard))
    for (const look of waiting) look()
  })
  let stderr = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const code = new Promise<number | null>((resolve) => child.on('exit', resolve))
  const heard = (test: (event: EngineEvent) => boolean): Promise<EngineEvent> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const found = events.find(test)
        if (found === undefined) return
        waiting.delete(look)
        resolve(found)
      }
      waiting.add(look)
      look()
      void code.then((ended) => reject(new Error(`the engine ended with code ${ended} before it was heard:\n${stderr}`)))
    })
  child.send(message as object)
  return { child, events, heard, code }
}

const stateOf = (event: EngineEvent): string | undefined => (event.type === 'state' ? event.state : undefined)

describe('an engine process', () => {
  it('trains to the end, tells events of the contract only, and leaves with code 0', async () => {
    const directory = await freshRun(2)
    const engine = startChild({ type: 'start', runDirectory: directory, resume: true })
    expect(await engine.code).toBe(0)
    expect(engine.events[0]).toMatchObject({ type: 'state', state: 'starting', runDirectory: directory })
    expect(engine.events.findLast((event) => event.type === 'state')).toMatchObject({ state: 'done', step: 2, totalSteps: 2 })
    expect(engine.events.filter((event) => event.type === 'metrics')).toHaveLength(2)
    expect(await readFile(join(directory, 'report.html'), 'utf8')).toContain('<!doctype html>')
    expect(await isRunLocked(directory)).toBe(false)
  })

  it('pauses, goes on and stops when told, with a checkpoint of the last step', async () => {
    const directory = await freshRun(1000)
    const engine = startChild({ type: 'start', runDirectory: directory, resume: true })
    await engine.heard((event) => event.type === 'metrics')
    engine.child.send({ type: 'pause' })
    await engine.heard((event) => stateOf(event) === 'paused')
    const steps = engine.events.filter((event) => event.type === 'metrics').length
    await sleep(500)
    expect(engine.events.filter((event) => event.type === 'metrics')).toHaveLength(steps)
    engine.child.send({ type: 'applaud' })
    await engine.heard((event) => event.type === 'warning' && event.message.includes('not understood'))
    engine.child.send({ type: 'resume' })
    await engine.heard((event) => event.type === 'metrics' && event.row.step > steps)
    engine.child.send({ type: 'stop' })
    expect(await engine.code).toBe(0)
    const last = engine.events.findLast((event) => event.type === 'state')
    expect(last).toMatchObject({ state: 'stopped' })
    expect((await newestCheckpoint(directory))?.step).toBe(last?.type === 'state' ? last.step : -1)
  })

  it('goes on when its parent dies, and obeys the run folder then', async () => {
    const directory = await freshRun(1000)
    // A parent of its own that starts the engine and is killed.
    const script = join(folder, 'parent.mjs')
    await writeFile(script, `import { fork } from 'node:child_process'\nconst engine = fork(${JSON.stringify(entry)}, [], { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] })\nengine.send(${JSON.stringify({ type: 'start', runDirectory: directory, resume: true })})\nengine.on('message', (event) => { if (event.type === 'metrics') process.stdout.write('step\\n') })\n`)
    const parent = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'] })
    await new Promise((resolve) => parent.stdout.once('data', resolve))
    parent.kill('SIGKILL')
    const before = (await readStatus(directory))?.step ?? 0
    await vi.waitFor(async () => expect((await readStatus(directory))?.step ?? 0).toBeGreaterThan(before + 2), { timeout: 60_000, interval: 100 })
    await sendCommand(directory, { type: 'stop' })
    await vi.waitFor(async () => expect(await isRunLocked(directory)).toBe(false), { timeout: 60_000, interval: 100 })
    expect((await readStatus(directory))?.state).toBe('stopped')
    expect((await newestCheckpoint(directory))?.step).toBe((await readStatus(directory))?.step)
  })

  it('killed in the middle loses at most the step it was in', async () => {
    const directory = await freshRun(1000)
    const first = startChild({ type: 'start', runDirectory: directory, resume: true })
    await first.heard((event) => event.type === 'metrics' && event.row.step >= 2)
    first.child.send({ type: 'checkpoint' })
    const written = await first.heard((event) => event.type === 'checkpoint' && event.step > 0)
    first.child.kill('SIGKILL')
    await first.code
    const second = startChild({ type: 'start', runDirectory: directory, resume: true })
    const running = await second.heard((event) => stateOf(event) === 'running')
    expect(running).toMatchObject({ step: written.type === 'checkpoint' ? written.step : -1 })
    second.child.send({ type: 'stop-now' })
    expect(await second.code).toBe(0)
  })

  it.each([
    ['a message it does not know', { type: 'start', nothing: true }, 2, 'usage'],
    ['a folder that is no run', { type: 'start', runDirectory: '/nowhere/at/all', resume: true }, 3, 'not-found'],
  ])('given %s says why and leaves with the code of the failure', async (_, message, code, errorCode) => {
    const engine = startChild(message)
    expect(await engine.code).toBe(code)
    expect(engine.events.filter((event) => event.type === 'error')).toMatchObject([{ error: { code: errorCode } }])
  })

  it('given a run of a newer version says so', async () => {
    const directory = join(folder, 'newer')
    await mkdir(directory)
    await writeFile(join(directory, 'run.json'), '{"version":3}')
    const engine = startChild({ type: 'start', runDirectory: directory, resume: true })
    expect(await engine.code).toBe(3)
    expect(engine.events.findLast((event) => event.type === 'error')).toMatchObject({ error: { code: 'newer-version', place: { field: 'version' } } })
  })
})
