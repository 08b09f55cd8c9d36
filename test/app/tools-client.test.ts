// The app's side and the tools process itself, over the channel they have in the product.
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { DatasetMapping } from '../../src-main/contract/calls/datasets.ts'
import type { Progress } from '../../src-main/contract/calls/tasks.ts'
import type { ToolResponse } from '../../src-main/contract/tools.ts'
import { engineEnvironment } from '../../src-main/app/engine-environment.ts'
import { createToolsClient } from '../../src-main/app/tools-client.ts'
import type { ToolsClient } from '../../src-main/app/tools-client.ts'
import { buildEntry } from '../support/build.ts'

const builtIn = resolve('resources', 'demo', 'model')
const mapping: DatasetMapping = { prompt: 'question', system: null, answer: 'answer', requirements: null, tests: null, entry: null, tags: null, id: null, split: null }

let home: string
let tools: ToolsClient
/** File with the id of the process for long work. */
let workProcess: string
let setting = 'one'
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'satchel-tools-'))
  const script = await buildEntry('src-main/engine-host/tools.ts')
  // No models of this machine: only the folders named here are looked at.
  const environment = { ...engineEnvironment(process.env), HOME: home, USERPROFILE: home, SATCHEL_MODELS: join(home, 'models'), SATCHEL_DISK: join(home, 'not yet', 'there') }
  // Writes down which process it is.
  const named = file('named.mjs', `import { writeFileSync } from 'node:fs'\nwriteFileSync(process.env.SATCHEL_TEST_ID, String(process.pid))\nawait import(${JSON.stringify(pathToFileURL(script).href)})\n`)
  workProcess = join(home, 'work.pid')
  tools = createToolsClient((lane) => ({ nodeBinary: process.execPath, script: named, environment: { ...environment, SATCHEL_TEST_ID: join(home, `${lane}.pid`), ...(lane === 'work' ? { SATCHEL_TEST_SETTING: setting } : {}) } }), 5_000)
})
afterAll(() => {
  tools.dispose()
  rmSync(home, { recursive: true, force: true, maxRetries: 5 })
})

function file(name: string, text: string): string {
  const path = join(home, name)
  writeFileSync(path, text)
  return path
}

function questions(count: number): string {
  return Array.from({ length: count }, (_, at) => JSON.stringify({ question: `What is ${at} plus ${at}?`, answer: `${2 * at}` })).join('\n')
}

describe('a dataset', () => {
  it('is inspected, shown, checked and written as prompts', async () => {
    const path = file('sums.jsonl', `${questions(300)}\nbroken`)
    const info = await tools.ask('datasets.inspect', { path })
    expect(info).toMatchObject({ name: 'sums.jsonl', format: 'jsonl', guess: { prompt: 'question', answer: 'answer' } })
    const { rows } = await tools.ask('datasets.rows', { path, offset: 299, count: 5 })
    expect(rows).toMatchObject([{ index: 299, line: 300, cells: ['What is 299 plus 299?', '598'] }, { index: 300, line: 301, problem: expect.stringMatching(/not JSON/) as string }])
    const report = await tools.ask('datasets.check', { path, mapping, heldoutShare: 0.2, seed: 1, model: builtIn, task: 'a' })
    expect(report).toMatchObject({ rows: 301, badRows: 1, withAnswer: 300, problems: [{ line: 301 }] })
    expect(report.tokens?.measured).toBe(300)
    const out = join(home, 'prompts.jsonl')
    const prepared = await tools.ask('datasets.convert', { path, mapping, heldoutShare: 0.2, seed: 1, task: 'b', out })
    expect(prepared).toMatchObject({ rows: 300, skipped: 1, train: report.train, heldout: report.heldout })
    expect(readFileSync(out, 'utf8').trim().split('\n')).toHaveLength(300)
  })

  it('is shown as the model reads it, token by token', async () => {
    const path = file('one.jsonl', JSON.stringify({ question: 'Write a button.' }))
    const preview = await tools.ask('datasets.template', { path, index: 0, mapping, model: builtIn, thinking: 'model' })
    expect(preview.tokens.map(({ text }) => text).join('')).toContain('Write a button.')
    expect(preview.count).toBe(preview.tokens.length)
    expect(preview.tokens.some(({ special }) => special)).toBe(true)
  })

  it('that changed is read again', async () => {
    const path = file('changing.jsonl', questions(1))
    expect((await tools.ask('datasets.count', { path, task: 'a' })).rows).toBe(1)
    file('changing.jsonl', questions(3))
    expect((await tools.ask('datasets.count', { path, task: 'b' })).rows).toBe(3)
  })

  it('is left when the person stops the work, and tells how far it came before', async () => {
    const path = file('many.jsonl', questions(400_000))
    const control = new AbortController()
    const heard: Progress[] = []
    const asking = tools.ask('datasets.check', { path, mapping, heldoutShare: 0.2, seed: 1, model: null, task: 'a' }, {
      signal: control.signal,
      onProgress: (progress) => {
        heard.push(progress)
        control.abort()
      },
    })
    await expect(asking).rejects.toMatchObject({ envelope: { code: 'stopped' } })
    expect(heard[0]).toMatchObject({ unit: 'bytes' })
  })
})

describe('models', () => {
  it('are listed with what is known of the bases', async () => {
    const { models, bases } = await tools.ask('models.list', {})
    expect(models).toMatchObject([{ name: 'built-in', state: 'ready', licence: 'Apache-2.0', verified: null, details: { family: 'qwen2', thinking: 'never' } }])
    expect(bases.map(({ name, path, thinking }) => [name, path, thinking])).toEqual([['Qwen2.5-3B', null, 'never'], ['SmolLM3-3B', null, 'switch'], ['Phi-4-mini-reasoning', null, 'always']])
  })

  it('are verified with progress, and remembered as such', async () => {
    const heard: string[] = []
    const result = await tools.ask('models.verify', { path: builtIn, accept: false, generate: false, task: 'a' }, { onProgress: ({ what }) => heard.push(what) })
    expect(result).toMatchObject({ usable: true, sentence: expect.stringMatching(/^Usable/) as string })
    expect(heard).toContain('Reading model.safetensors')
    expect((await tools.ask('models.list', {})).models[0]?.verified).toMatch(/^\d{4}-/)
  })

  it('are added under a name, copied, and forgotten', async () => {
    const elsewhere = join(home, 'elsewhere')
    cpSync(builtIn, elsewhere, { recursive: true })
    expect(await tools.ask('models.add', { path: elsewhere, name: 'mine' })).toMatchObject({ name: 'mine', source: 'added', state: 'ready' })
    expect(await tools.ask('models.import', { path: builtIn, name: 'copy', task: 'a' })).toMatchObject({ name: 'copy', source: 'library' })
    expect((await tools.ask('models.list', {})).models.map(({ name }) => name)).toEqual(['built-in', 'copy', 'mine'])
    await tools.ask('models.remove', { name: 'mine' })
    await expect(tools.ask('models.remove', { name: 'mine' })).rejects.toThrow(/no model named "mine" was added/)
    await expect(tools.ask('models.add', { path: home })).rejects.toThrow(/config\.json/)
  })

  it('are planned for, part by part', async () => {
    const plan = await tools.ask('models.plan', { path: builtIn, run: { rollout: { promptsPerStep: 4 } } })
    expect(plan).toMatchObject({ fits: true, promptTokens: 256, promptsRead: false })
    expect(plan.parts.map(({ part }) => part)).toContain('weights')
    expect(plan.peaks.training).toBeGreaterThan(plan.peaks.resume)
    await expect(tools.ask('models.plan', { path: builtIn, run: { rollout: { promptsPerStep: -1 } } })).rejects.toThrow(/rollout\.promptsPerStep/)
  })

  it('are planned for with the longest of the prompts that are read, again after they have changed', async () => {
    const prompts = file('lengths.jsonl', '{"prompt": "a"}\n{"prompt": "a button"}\n')
    const planned = (): Promise<ToolResponse<'models.plan'>> => tools.ask('models.plan', { path: builtIn, run: { data: { prompts } } })
    const before = await planned()
    expect(before.promptsRead).toBe(true)
    file('lengths.jsonl', `{"prompt": "${'a button '.repeat(40)}"}\n`)
    const after = await planned()
    expect(after.promptTokens).toBeGreaterThan(before.promptTokens + 39)
    expect(after.peaks.training).toBeGreaterThan(before.peaks.training)
    file('lengths.jsonl', 'no JSON')
    expect(await planned()).toMatchObject({ promptTokens: 256, promptsRead: false })
  })
})

describe('a place', () => {
  it.each<[string, () => string, Record<string, unknown>]>([
    ['a dataset', () => file('some.csv', 'q,a\n1,2\n'), { kind: 'dataset', what: expect.stringMatching(/CSV/) as string }],
    ['a model', () => builtIn, { kind: 'model', name: 'model', what: expect.stringMatching(/qwen2 model of 3\.\d+ million/) as string }],
    ['a file of a model', () => join(builtIn, 'model.safetensors'), { kind: 'model', path: builtIn }],
    ['a configuration', () => file('run.json', '{"model": "m", "data": {"prompts": "p"}}'), { kind: 'run-config' }],
    ['a picture', () => file('picture.png', '\u0000png'), { kind: 'unknown' }],
    ['a damaged model', () => file('bad.gguf', 'GGUF'), { kind: 'model', what: expect.stringMatching(/./) as string }],
  ])('that is %s is known for it', async (_, path, expected) => {
    expect(await tools.ask('files.identify', { path: path() })).toMatchObject(expected)
  })

  it('that is not there is an error', async () => {
    await expect(tools.ask('files.identify', { path: join(home, 'absent') })).rejects.toThrow(/no such file/)
  })
})

describe('this machine', () => {
  it('says what it is, also where the folder of runs is not there yet', async () => {
    expect(await tools.ask('machine.facts', {})).toMatchObject({ node: process.versions.node, disk: { folder: home } })
  })
})

describe('the process', () => {
  it('answers what it does not know, and what is malformed, with an error', async () => {
    await expect(tools.ask('models.erase' as 'models.list', {})).rejects.toThrow(/no tool named/)
    await expect(tools.ask('datasets.rows', { path: 'x', offset: -1, count: 5 })).rejects.toThrow(/malformed/)
  })

  it('that dies costs its answer, and is there again for the next question', async () => {
    const path = file('long.jsonl', questions(300_000))
    const asking = tools.ask('datasets.check', { path, mapping, heldoutShare: 0.2, seed: 1, model: null, task: 'a' }, { onProgress: () => process.kill(Number(readFileSync(workProcess, 'utf8')), 'SIGKILL') })
    await expect(asking).rejects.toThrow(/ended before it had answered \(SIGKILL\)/)
    expect((await tools.ask('datasets.inspect', { path })).name).toBe('long.jsonl')
  })

  it('whose settings are others ends its work, and leaves the next question to a new one', async () => {
    const path = file('others.jsonl', questions(200))
    const count = (): Promise<unknown> => tools.ask('datasets.check', { path, mapping, heldoutShare: 0.2, seed: 1, model: null, task: 'a' })
    const working = count()
    setting = 'another'
    tools.refresh()
    await working
    const first = readFileSync(workProcess, 'utf8')
    await count()
    expect(readFileSync(workProcess, 'utf8')).not.toBe(first)
    // Nothing it was told has changed.
    const second = readFileSync(workProcess, 'utf8')
    tools.refresh()
    await count()
    expect(readFileSync(workProcess, 'utf8')).toBe(second)
  })
})
