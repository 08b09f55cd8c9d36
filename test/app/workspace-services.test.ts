// The calls of the page that are not about runs, with the tools process replaced by what a test says: paths, settings, long work, memory.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { settingsCalls, settingsSchema } from '../../src-main/contract/calls/settings.ts'
import { createDatasetMemory, promptsName } from '../../src-main/app/dataset-memory.ts'
import { createFileServices } from '../../src-main/app/files.ts'
import { createGrantedPaths } from '../../src-main/app/granted-paths.ts'
import type { GrantedPaths } from '../../src-main/app/granted-paths.ts'
import { createLongWork, secondsLeft } from '../../src-main/app/long-work.ts'
import { createSettings, usualFolders } from '../../src-main/app/settings.ts'
import type { SettingsService } from '../../src-main/app/settings.ts'
import { createToolHandlers } from '../../src-main/app/tool-calls.ts'
import type { ToolsClient } from '../../src-main/app/tools-client.ts'

let home: string
let paths: GrantedPaths
let asked: [name: string, request: unknown][]
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'satchel-workspace-'))
  paths = createGrantedPaths()
  asked = []
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

function toolsThatAnswer(answers: Readonly<Record<string, unknown>>): ToolsClient {
  return {
    ask: (async (name: string, request: unknown) => {
      asked.push([name, request])
      return answers[name]
    }) as ToolsClient['ask'],
    refresh: () => undefined,
    dispose: () => undefined,
  }
}

const mapping = { prompt: 'q', system: null, answer: null, requirements: null, tests: null, entry: null, tags: null, id: null, split: null }

describe('paths of the page', () => {
  it('are handed on only when they were granted', async () => {
    const handlers = createToolHandlers({ tools: toolsThatAnswer({ 'datasets.inspect': 'info' }), paths, work: createLongWork(() => undefined), onAnswer: () => undefined })
    await expect(handlers['datasets.inspect']({ path: '/etc/passwd' })).rejects.toThrow(/may not name this path/)
    expect(asked).toEqual([])
    paths.grant(join(home, 'a.csv'))
    expect(await handlers['datasets.inspect']({ path: join(home, 'sub', '..', 'a.csv') })).toBe('info')
    expect(asked).toEqual([['datasets.inspect', { path: join(home, 'a.csv') }]])
  })

  it('may name the models the page was told of', async () => {
    const handlers = createToolHandlers({ tools: toolsThatAnswer({ 'models.list': { models: [{ path: '/models/a' }] } }), paths, work: createLongWork(() => undefined), onAnswer: () => undefined })
    const verify = { path: '/models/a', accept: false, generate: false, task: 'verify' }
    await expect(handlers['models.verify'](verify)).rejects.toThrow(/may not name/)
    await handlers['models.list']({})
    await handlers['models.verify'](verify)
    expect(asked.at(-1)).toEqual(['models.verify', { ...verify, path: resolve('/models/a') }])
  })

  it('may be typed where only a plan is made of them, as a run may be started with a path that was typed', async () => {
    const handlers = createToolHandlers({ tools: toolsThatAnswer({}), paths, work: createLongWork(() => undefined), onAnswer: () => undefined })
    await handlers['models.plan']({ path: '/typed/model', run: {} })
    expect(asked.at(-1)).toEqual(['models.plan', { path: resolve('/typed/model'), run: {} }])
  })

  it('come from dialogs and drops', async () => {
    const place = { path: resolve('/data/model'), name: 'model', kind: 'model', what: '' }
    const desktop = { chooseFile: async () => '/data/model/config.json', chooseFolder: async () => null, showFolder: () => undefined }
    const files = createFileServices(desktop, toolsThatAnswer({ 'files.identify': place }), paths)
    expect(await files.handlers['files.choose']({ what: 'model-folder' })).toBe(null)
    expect(await files.handlers['files.choose']({ what: 'any' })).toEqual(place)
    expect(await files.offer(Array.from({ length: 30 }, (_, at) => `/dropped/${at}`))).toHaveLength(20)
    for (const path of ['/data/model', '/data/model/config.json', '/dropped/7']) expect(paths.require(path)).toBe(resolve(path))
    await expect(files.handlers['files.reveal']({ path: '/elsewhere' })).rejects.toThrow(/may not name/)
  })
})

describe('settings', () => {
  const open = (): SettingsService => createSettings({ file: join(home, 'settings.json'), usualFolders: usualFolders(home, {}), chooseFolder: async () => '/chosen', onChange: () => undefined })

  it('are kept over a restart', async () => {
    const { handlers } = open()
    await handlers['settings.change']({ theme: 'dark', threads: 3 })
    await handlers['settings.chooseFolder']({ folder: 'models' })
    expect(open().view()).toMatchObject({ settings: { theme: 'dark', threads: 3, device: 'auto' }, folders: { models: '/chosen', runs: join(home, 'runs') }, problem: '' })
    await open().handlers['settings.reset']({})
    expect(open().view().settings).toEqual(settingsSchema.parse({}))
  })

  it('are changed by what is named and nothing else', () => {
    expect(settingsCalls['settings.change'].request.parse({ theme: 'dark' })).toEqual({ theme: 'dark' })
    expect(settingsCalls['settings.change'].request.safeParse({ folders: { runs: '/x' } }).success).toBe(false)
  })

  it('that cannot be read are said to be so, and left in place until something is set', async () => {
    writeFileSync(join(home, 'settings.json'), '{"theme": "pink"}')
    const { handlers, view } = open()
    expect(view()).toMatchObject({ settings: { theme: 'system' }, problem: expect.stringMatching(/settings\.json cannot be read/) as string })
    expect(readFileSync(join(home, 'settings.json'), 'utf8')).toContain('pink')
    expect(await handlers['settings.change']({ device: 'cpu' })).toMatchObject({ settings: { device: 'cpu' }, problem: '' })
  })

  it('that cannot be kept are not taken', async () => {
    mkdirSync(join(home, 'settings.json'))
    const { handlers, view } = open()
    await expect(handlers['settings.change']({ theme: 'dark' })).rejects.toThrow(/could not be kept/)
    expect(view().settings.theme).toBe('system')
  })

  it('lose to nothing: two changes at once are both kept', async () => {
    const { handlers, view } = open()
    await handlers['settings.change']({ theme: 'dark' })
    await Promise.all([handlers['settings.change']({ threads: 2 }), handlers['settings.change']({ device: 'cpu' })])
    expect(view().settings).toMatchObject({ theme: 'dark', threads: 2, device: 'cpu' })
  })
})

describe('long work', () => {
  it('announces its progress with the time that is left', async () => {
    const announced: unknown[] = []
    let seconds = 0
    const work = createLongWork((progress) => announced.push(progress), () => seconds)
    await work.run('a', async ({ onProgress }) => {
      onProgress?.({ what: 'Reading', done: 0, total: 100, unit: 'bytes' })
      seconds = 4
      onProgress?.({ what: 'Reading', done: 25, total: 100, unit: 'bytes' })
    })
    expect(announced).toEqual([
      { task: 'a', what: 'Reading', done: 0, total: 100, unit: 'bytes', secondsLeft: null },
      { task: 'a', what: 'Reading', done: 25, total: 100, unit: 'bytes', secondsLeft: 12 },
    ])
  })

  it('is cancelled by its name, once it runs and not after', async () => {
    const work = createLongWork(() => undefined)
    let aborted = false
    const running = work.run('a', ({ signal }) => new Promise<void>((done) => signal?.addEventListener('abort', () => {
      aborted = true
      done()
    })))
    await expect(work.run('a', async () => undefined)).rejects.toThrow(/being done already/)
    await work.handlers['tasks.cancel']({ task: 'b' })
    expect(aborted).toBe(false)
    await work.handlers['tasks.cancel']({ task: 'a' })
    await running
    expect(aborted).toBe(true)
    await work.handlers['tasks.cancel']({ task: 'a' })
    await work.run('a', async () => undefined)
  })

  it.each([[0.5, 10, 100, null], [2, 0, 100, null], [2, 50, 100, 2], [2, 120, 100, 0], [5, 3, 0, null]])('after %d s with %d of %d has %j s left', (seconds, done, total, left) => {
    expect(secondsLeft(seconds, done, total)).toBe(left)
  })
})

describe('datasets of earlier days', () => {
  const open = (): ReturnType<typeof createDatasetMemory> => createDatasetMemory({ file: join(home, 'datasets.json'), promptsFolder: join(home, 'prompts'), tools: toolsThatAnswer({ 'datasets.convert': { prompts: join(home, 'prompts', 'x.jsonl'), rows: 1, skipped: 0, train: 1, heldout: 0 } }), paths, work: createLongWork(() => undefined) })

  it('are remembered with their mapping, the newest first, and may be named again', async () => {
    const [a, b] = [join(home, 'a.csv'), join(home, 'b.csv')]
    writeFileSync(a, 'q\n1\n')
    for (const path of [a, b]) paths.grant(path)
    const first = open()
    for (const path of [a, b, a]) await first['datasets.remember']({ path, name: 'n', format: 'csv', bytes: 4, rows: 1, mapping })
    paths = createGrantedPaths()
    const later = open()
    expect((await later['datasets.list']({})).map(({ path, missing }) => [path, missing])).toEqual([[a, false], [b, true]])
    expect(paths.require(b)).toBe(b)
    await later['datasets.forget']({ path: b })
    expect(await later['datasets.list']({})).toHaveLength(1)
  })

  it('are made into prompt files in the app\'s folder, and nowhere the page says', async () => {
    const path = join(home, 'a.csv')
    paths.grant(path)
    await open()['datasets.prepare']({ path, mapping, heldoutShare: 0.1, seed: 1, task: 'a' })
    expect(asked).toEqual([['datasets.convert', { path, mapping, heldoutShare: 0.1, seed: 1, task: 'a', out: join(home, 'prompts', promptsName(path)) }]])
    expect(paths.require(join(home, 'prompts', 'x.jsonl'))).toBeTruthy()
  })

  it('have file names that any system takes, another one for each path', () => {
    expect(promptsName('/data/My prompts: α.csv')).toMatch(/^My-prompts-α-[0-9a-f]{8}\.jsonl$/)
    expect(promptsName('/a/x.csv')).not.toBe(promptsName('/b/x.csv'))
    expect(promptsName('/a/....')).toMatch(/^prompts-|^[\w]/)
  })
})
