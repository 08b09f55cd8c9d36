// What a person has after installing: fuses, the command line, a run of the demo through the window, its exports; no trace in the installation.
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { FuseV1Options, getCurrentFuseWire } from '@electron/fuses'
import { afterAll, describe, expect, inject, it } from 'vitest'
import { fuses } from '../../electron-builder.config.mjs'
import { configureDemo, untilState } from '../desktop/app-driver.ts'
import { bareEnvironment, startInstalled } from './installed-app.ts'
import { contentsOf, installationAt, makeBarePath } from './installed.ts'

const installation = installationAt(inject('installed'))
const home = mkdtempSync(join(tmpdir(), 'satchel-person-'))
const path = makeBarePath(join(home, 'bin'))
/** Loading and an evaluation, on a slow machine. */
const patience = 240_000
const before = contentsOf(installation)

afterAll(() => rmSync(home, { recursive: true, force: true, maxRetries: 5 }))

/** What the command line inside the package answers to these words. */
async function ask<Answer>(...words: string[]): Promise<Answer> {
  const { stdout } = await promisify(execFile)(installation.commandLine, [...words, '--json'], { cwd: home, env: bareEnvironment(home, path), maxBuffer: 1 << 26 })
  return JSON.parse(stdout) as Answer
}

function rows(name: string, ...values: object[]): string {
  const file = join(home, name)
  writeFileSync(file, values.map((value) => `${JSON.stringify(value)}\n`).join(''))
  return file
}

describe('the installation', () => {
  it('has the fuses of its configuration', async () => {
    const wire = await getCurrentFuseWire(installation.executable)
    // The wire holds the characters 0 and 1; electron-builder writes names in lower case that @electron/fuses writes in upper.
    const state = Object.entries(fuses).map(([name]) => [name, wire[FuseV1Options[`${name.slice(0, 1).toUpperCase()}${name.slice(1)}` as keyof typeof FuseV1Options]]])
    expect(state).toEqual(Object.entries(fuses).map(([name, on]) => [name, (on === true ? '1' : '0').charCodeAt(0)]))
  })

  it('holds the archive, the engine with this platform’s binaries alone, its Node and the licences', () => {
    expect(readdirSync(installation.resources).sort()).toEqual(['app.asar', 'command-line', 'engine', 'node', 'notices'])
    const onnxruntime = join(installation.resources, 'engine', 'node_modules', 'onnxruntime-node', 'bin')
    expect(readdirSync(onnxruntime, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).map(({ parentPath }) => parentPath).every((folder) => folder.endsWith(join(process.platform, process.arch)))).toBe(true)
    expect(readdirSync(join(installation.resources, 'notices')).sort()).toEqual(['LICENSE.node.txt', 'LICENSE.satchel.txt', 'THIRD-PARTY-NOTICES.txt', 'licences.json'])
    expect(readdirSync(installation.folder)).toEqual(expect.arrayContaining(['LICENSE.electron.txt', 'LICENSES.chromium.html']))
  })
})

describe('the command line of the installation', () => {
  it('runs without Node on the PATH, through a link as well, and everything it tries works', async () => {
    interface Doctor { readonly ok: boolean; readonly node: string; readonly kernels: { backend: string }; readonly trials: Record<string, { ok: boolean; what: string }> }
    const { ok, node, kernels, trials } = await ask<Doctor>('doctor')
    expect(Object.entries(trials).filter(([name, trial]) => name !== 'webgpu' && !trial.ok)).toEqual([])
    expect({ ok, backend: kernels.backend }).toEqual({ ok: true, backend: 'native' })
    expect(node).toBe((JSON.parse(readFileSync(join(installation.resources, 'node', 'node.json'), 'utf8')) as { version: string }).version.slice(1))
    symlinkSync(installation.commandLine, join(path, 'satchel'))
    const linked = await promisify(execFile)(join(path, 'satchel'), ['--version'], { env: bareEnvironment(home, path) })
    expect(linked.stdout.trim()).toMatch(/^\d+\.\d+\.\d+$/)
  })

  it.each([
    ['programs', 'react', rows('react.jsonl', { prompt: 'Make a counter.', completion: "import { useState } from 'react'\nexport default function App() {\n  const [count, setCount] = useState<number>(0)\n  return <button onClick={() => setCount(count + 1)}>Add {count}</button>\n}\n" })],
    ['answers', rows('any-answer.json', { recipe: 'maths', answerKind: 'any' }), rows('maths.jsonl', { prompt: 'What is 1/2 + 1/4?', completion: 'It is \\boxed{\\frac{3}{4}}.', answer: '0.75' })],
    ['functions', 'code', rows('code.jsonl', { prompt: 'add', completion: '```js\nfunction add(a, b) {\n  return a + b\n}\n```', entry: 'add', tests: [{ input: [1, 2], expected: 3 }] })],
  ])('scores %s in its locked-down process', async (_what, reward, data) => {
    const { results } = await ask<{ results: { global: number }[] }>('score', '--reward', reward, '--data', data)
    expect(results).toHaveLength(1)
    expect(results[0]?.global).toBeGreaterThan(0.5)
  })

  it('sees pages with the app’s own browser, and one on which nothing can be seen', async () => {
    const page = (colour: string): object => ({ prompt: 'Make a title.', completion: `export default function App() {\n  return <p style={{ color: '${colour}' }}>Somebody may read this</p>\n}\n` })
    const reward = rows('pixels.json', { recipe: 'react', screenshots: { mode: 'reward' } })
    const { results } = await ask<{ results: { pixels?: string; stages: { render: boolean } }[] }>('score', '--reward', reward, '--data', rows('pages.jsonl', page('black'), page('white')))
    expect(results.map(({ pixels, stages }) => [pixels, stages.render])).toEqual([['seen', true], ['blank', false]])
  })

  it('scores with a function of the person’s own, checked against the types it brings', async () => {
    const reward = join(home, 'mine.ts')
    writeFileSync(reward, "import type { RewardFunction } from 'satchel'\nconst score: RewardFunction = ({ completion }) => ({ global: completion.includes('fog') ? 1 : 0 })\nexport default score\n")
    const { results } = await ask<{ results: { global: number }[] }>('score', '--reward', reward, '--data', rows('own.jsonl', { prompt: 'Write.', completion: 'The fog lifts.' }))
    expect(results[0]?.global).toBe(1)
  })
})

describe('the app of the installation', () => {
  let runFolder = ''

  /** Programs that run an engine of this installation, by the link in /proc. */
  function engines(): string[] {
    return readdirSync('/proc').filter((name) => /^\d+$/.test(name)).flatMap((id) => {
      try {
        const command = readFileSync(`/proc/${id}/cmdline`, 'utf8')
        return command.includes(join(installation.resources, 'engine', 'out', 'main', 'engine-child.js')) ? [readlinkSync(`/proc/${id}/exe`)] : []
      } catch {
        // It ended while we looked.
        return []
      }
    })
  }

  it('trains the demo for two steps through the window, with the Node inside', async () => {
    const app = await startInstalled(installation, home, path)
    let exitCode: number | null
    try {
      await configureDemo(app.page, { 'training.steps': '2', 'evaluation.prompts': '4', 'evaluation.samples': '4' })
      await app.page.getByRole('button', { name: 'Start the run' }).click()
      await app.page.getByRole('heading', { name: 'Monitor', level: 1 }).waitFor()
      await expect.poll(engines, { timeout: patience }).toEqual([installation.node])
      await untilState(app.page, 'Done', patience)
    } finally {
      exitCode = await app.close()
    }
    const runs = join(home, 'config', 'satchel', 'runs')
    runFolder = join(runs, readdirSync(runs)[0] as string)
    expect(readFileSync(join(runFolder, 'metrics.jsonl'), 'utf8').trim().split('\n')).toHaveLength(2)
    expect(readdirSync(join(runFolder, 'checkpoints'))).toContain('000002')
    expect(exitCode, app.output()).toBe(0)
  }, 2 * patience)

  it.each(['peft', 'safetensors', 'onnx', 'gguf'])('exports what was trained as %s, and finds it answers as the run does', async (format) => {
    const { comparison } = await ask<{ comparison: { tokens: number } }>('export', runFolder, '--format', format, '--to', join(home, `as ${format}`))
    expect(comparison.tokens).toBeGreaterThan(0)
  })

  it('wrote nothing into its own folder', () => {
    expect(contentsOf(installation)).toEqual(before)
  })
})
