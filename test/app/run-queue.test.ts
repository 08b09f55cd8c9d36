import { existsSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openRunMemory } from '../../src-main/app/run-memory.ts'
import { createRunQueue } from '../../src-main/app/run-queue.ts'
import type { RunQueue, RunRequest } from '../../src-main/app/run-queue.ts'
import type { QueuedRun, RunSummary } from '../../src-main/contract/calls/run-data.ts'
import { UserError } from '../../src-main/contract/errors.ts'

const summary = (name: string): RunSummary => ({ name, directory: `/runs/${name}`, state: 'starting', step: 0, totalSteps: 0 })
const request = (name: string): RunRequest => ({ start: { type: 'start', config: { name }, runsDirectory: '/runs' }, name, what: 'start', detail: '' })

interface Machine {
  readonly queue: RunQueue
  readonly started: string[]
  readonly news: { queue: string[]; problem?: string; started?: string }[]
  busy: boolean
}

/** A machine that is busy with whatever was started; runs named in `broken` cannot start. */
function machine(broken: readonly string[] = []): Machine {
  const started: string[] = []
  const news: Machine['news'] = []
  const self: Machine = {
    started, news, busy: false,
    queue: createRunQueue({
      busy: () => self.busy,
      start: async (start) => {
        const name = 'config' in start ? String(start.config['name']) : ''
        await Promise.resolve()
        if (broken.includes(name)) throw new UserError({ code: 'bad-input', what: `${name} is broken` })
        self.busy = true
        started.push(name)
        return summary(name)
      },
      onChange: (queue: readonly QueuedRun[], told) => {
        news.push({ queue: queue.map(({ name }) => name), ...(told.problem === undefined ? {} : { problem: told.problem.what }), ...(told.started === undefined ? {} : { started: told.started.name }) })
      },
    }),
  }
  return self
}

describe('the queue', () => {
  it('starts at once what finds the machine free, and lets the others wait in order', async () => {
    const { queue, started } = machine()
    const answers = await Promise.all(['a', 'b', 'c'].map((name) => queue.submit(request(name))))
    expect(answers.map((answer) => ('started' in answer ? 'started' : 'waiting'))).toEqual(['started', 'waiting', 'waiting'])
    expect(started).toEqual(['a'])
    expect(queue.list().map(({ name }) => name)).toEqual(['b', 'c'])
  })

  it('starts the next when the machine is free again, and says so', async () => {
    const it = machine()
    for (const name of ['a', 'b']) await it.queue.submit(request(name))
    it.busy = false
    await it.queue.next()
    expect(it.started).toEqual(['a', 'b'])
    expect(it.news.at(-1)).toEqual({ queue: [], started: 'b' })
    await it.queue.next()
    expect(it.started).toEqual(['a', 'b'])
  })

  it('tells why one could not start, and goes on with those behind it', async () => {
    const it = machine(['b'])
    for (const name of ['a', 'b', 'c']) await it.queue.submit(request(name))
    it.busy = false
    await it.queue.next()
    expect(it.news.filter(({ problem }) => problem !== undefined)).toEqual([{ queue: ['c'], problem: 'b is broken' }])
    expect(it.started).toEqual(['a', 'c'])
  })

  it('answers whoever asked for a run that cannot start', async () => {
    const it = machine(['a'])
    await expect(it.queue.submit(request('a'))).rejects.toThrow(/a is broken/)
    expect(await it.queue.submit(request('b'))).toMatchObject({ started: { name: 'b' } })
  })

  it('lets a waiting run be taken out', async () => {
    const it = machine()
    await it.queue.submit(request('a'))
    await it.queue.submit(request('b'))
    it.queue.remove(it.queue.list()[0]?.id ?? '')
    it.busy = false
    await it.queue.next()
    expect(it.started).toEqual(['a'])
  })
})

describe('runs that waited when the app was closed', () => {
  it('wait again, are kept at every change, and start when somebody says so', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'satchel-queue-')), 'runs.json')
    const started: string[] = []
    const open = (busy: boolean): RunQueue => {
      const memory = openRunMemory(file)
      return createRunQueue({
        restored: memory.queue, keep: (queue) => void memory.keepQueue(queue), busy: () => busy, onChange: () => undefined,
        start: async (start) => {
          started.push('config' in start ? String(start.config['name']) : '')
          return summary('x')
        },
      })
    }
    const before = open(true)
    for (const name of ['a', 'b']) await before.submit(request(name))
    await expect.poll(() => (existsSync(file) ? openRunMemory(file).queue.length : 0)).toBe(2)
    const after = open(false)
    expect(after.list().map(({ name }) => name)).toEqual(['a', 'b'])
    expect(started).toEqual([])
    await after.next()
    expect(started).toEqual(['a'])
    await expect.poll(() => openRunMemory(file).queue.map(({ entry }) => entry.name)).toEqual(['b'])
  })

  it('are told as interrupted once', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'satchel-queue-')), 'runs.json')
    await openRunMemory(file).keepInterrupted(['/runs/a'])
    expect(await openRunMemory(file).takeInterrupted()).toEqual(['/runs/a'])
    expect(await openRunMemory(file).takeInterrupted()).toEqual([])
  })

  it('are none where the file is damaged', () => {
    const file = join(mkdtempSync(join(tmpdir(), 'satchel-queue-')), 'runs.json')
    writeFileSync(file, '{"version":1,"queue":[{"start":{"type":"rm"}}]}')
    expect(openRunMemory(file).queue).toEqual([])
  })
})
