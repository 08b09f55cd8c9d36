// satchel export as a person runs it.
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { ErrorEnvelope } from '../../src-main/contract/errors.ts'
import { buildEntry } from '../support/build.ts'
import { run, start } from '../support/cli.ts'
import { writeExportableRun } from '../support/exportable-run.ts'

// Each command is a process of its own; a busy machine takes its time.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

let cli = ''
let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'satchel-export-'))
  cli = await buildEntry('src-main/engine-host/cli.ts')
  await writeExportableRun(folder)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const satchel = (...options: string[]) => run(cli, ['export', ...options], { cwd: folder })
const refusal = async (...options: string[]): Promise<{ code: number | null; error: ErrorEnvelope }> => {
  const ended = await satchel(...options, '--json')
  return { code: ended.code, error: ended.json<{ error: ErrorEnvelope }>().error }
}

describe('satchel export', () => {
  it('says where the files are, how they are stored and how near they come, and what it does meanwhile on stderr', async () => {
    const ended = await satchel('run', '--format', 'onnx', '--type', 'f16', '--to', 'onnx')
    expect(ended.code, ended.stderr).toBe(0)
    const lines = ended.stdout.split('\n')
    expect(lines[0]).toBe(join(folder, 'onnx'))
    expect(lines[1]).toContain('stored as float16')
    expect(lines[2]).toMatch(/tokens of 2 texts: log-probabilities differ by \S+ on average \(up to about 0.005 expected\), by \S+ at most/)
    expect(lines[3]).toMatch(/of 2 greedy continuations of 4 tokens are the same/)
    expect(ended.stderr.split('\n').filter((line) => line !== '')).toEqual(['asking the run', 'writing', 'checking what was written'])
  })

  it('prints the report alone as JSON, and writes into the run folder\'s export where no folder is named', async () => {
    const ended = await satchel('run', '--format', 'gguf', '--json')
    expect(ended.code, ended.stderr).toBe(0)
    expect(ended.json()).toMatchObject({ format: 'gguf', folder: join(folder, 'run', 'export', 'gguf'), storedType: 'float32', comparison: { greedy: { prompts: 2, equal: 2 } } })
    expect((await readdir(join(folder, 'run', 'export', 'gguf'))).toSorted()).toEqual(['export.json', 'small-f32.gguf'])
    expect(await readFile(join(folder, 'run', 'exports.jsonl'), 'utf8')).toContain('"format":"gguf"')
    // Once more: the folder is taken.
    expect(await refusal('run', '--format', 'gguf')).toMatchObject({ code: 3, error: { code: 'bad-input', what: 'the folder already holds files' } })
  })

  it.each([
    [['run', '--format', 'merged', '--type', 'q8_0', '--to', 'x'], 2, 'cannot store q8_0'],
    [['run', '--format', 'merged', '--to', join('run', 'merged')], 3, 'inside the run folder'],
    [['nowhere', '--format', 'merged', '--to', 'x'], 3, 'not exist'],
    [['run', '--format', 'merged', '--to', join('notes.txt', 'x')], 5, 'a file stands where a folder is needed'],
  ])('%j is refused with its exit code', async (options, code, words) => {
    await writeFile(join(folder, 'notes.txt'), 'mine')
    const refused = await refusal(...options)
    expect(refused.code).toBe(code)
    expect(refused.error.what).toContain(words)
    expect(await readdir(folder)).not.toContain('x')
  })
})

describe.skipIf(process.platform === 'win32')('(needs signals, which Windows has not) Ctrl-C', () => {
  it('ends an export with code 4 and leaves nothing of it', async () => {
    const large = await mkdtemp(join(tmpdir(), 'satchel-export-'))
    // Large enough that what follows the writing takes longer than a signal.
    await writeExportableRun(large, { model: { hiddenSize: 256, intermediateSize: 512, layers: 8, heads: 16 } })
    const before = await readdir(large, { recursive: true })
    const running = start(cli, ['export', 'run', '--format', 'merged', '--to', 'out', '--json'], { cwd: large })
    await running.said(/^writing$/m)
    running.interrupt()
    const ended = await running.ended
    expect(ended.code, ended.stderr).toBe(4)
    expect(ended.json<{ error: ErrorEnvelope }>().error).toMatchObject({ code: 'stopped' })
    expect((await readdir(large, { recursive: true })).toSorted()).toEqual(before.toSorted())
    await rm(large, { recursive: true, force: true })
  })
})
