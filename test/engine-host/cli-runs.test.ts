// Whole runs from the command line: trained, steered by another process, interrupted, resumed, used, exported and reported.
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { EvaluationResult } from '../../src-main/contract/events.ts'
import { resourcePath } from '../../src-main/engine/runtime/paths.ts'
import { readMetrics, readRollouts } from '../../src-main/engine/training/run-folder-reading.ts'
import { buildForTests } from '../support/build-entries.ts'
import { buildEntry } from '../support/build.ts'
import { run, start } from '../support/cli.ts'
import type { Ended } from '../support/cli.ts'
import { writeTinyModel } from '../support/tiny-model.ts'

// Each command is a process of its own, some start reward workers; a busy machine takes its time.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 })

let cli = ''
let folder = ''
let trained: Ended
const inFolder = (...parts: string[]): string => join(folder, ...parts)
const prompts = resourcePath('demo', 'prompts.jsonl')

interface RunResult {
  readonly state: string
  readonly step: number
  readonly runDirectory: string
  readonly checkpoint: string
  readonly evaluation: { readonly first: EvaluationResult; readonly last: EvaluationResult }
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'satchel-runs-'))
  await buildForTests()
  cli = await buildEntry('src-main/engine-host/cli.ts')
  await writeTinyModel(inFolder('model'))
  await writeFile(inFolder('run.json'), JSON.stringify({
    name: 'tiny', model: 'model', data: { prompts }, reward: { typeCheck: false }, rollout: { promptsPerStep: 2, groupSize: 2, maxNewTokens: 12 }, adapter: { kind: 'lora', rank: 4 },
    training: { steps: 3, checkpointEvery: 2 }, evaluation: { every: 3, prompts: 2, samples: 1, k: [1] }, optimizer: { learningRate: 0.01 },
  }))
  trained = await run(cli, ['train', 'run.json', '--out', 'finished', '--json'], { cwd: folder })
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe('satchel train', () => {
  it('ends with the state, both held-out results and where everything lies', async () => {
    expect(trained.code, trained.stderr).toBe(0)
    const result = trained.json<RunResult>()
    expect(result).toMatchObject({ state: 'done', step: 3, runDirectory: inFolder('finished'), checkpoint: inFolder('finished', 'checkpoints', '000003') })
    expect([result.evaluation.first.step, result.evaluation.last.step]).toEqual([0, 3])
    expect((await readdir(inFolder('finished'))).toSorted()).toEqual(['checkpoints', 'eval', 'metrics.jsonl', 'report.html', 'rollouts', 'run.json', 'status.json'])
    expect((await readMetrics(inFolder('finished'))).values.map(({ step }) => step)).toEqual([1, 2, 3])
    expect((await readRollouts(inFolder('finished'), 2)).values).toHaveLength(4)
  })

  it('says on stderr what happens: a line a step where it is no terminal', () => {
    const lines = trained.stderr.split('\n')
    expect(lines.filter((line) => /^step \d\/3 .*reward .*compiles .*length 1[0-2]/.test(line))).toHaveLength(3)
    expect(lines.filter((line) => line.startsWith('held out, step'))).toHaveLength(2)
    expect(trained.stderr).toMatch(/^kernels: (native|TypeScript)/)
    expect(trained.stderr).not.toContain('\u001b')
  })

  it('refuses a folder that holds a run, and points to resume', async () => {
    const again = await run(cli, ['train', 'run.json', '--out', 'finished'], { cwd: folder })
    expect(again.code).toBe(3)
    expect(again.stderr).toContain('satchel resume')
  })

  it('takes the run.json of a run as a configuration', async () => {
    const again = await run(cli, ['train', join('finished', 'run.json'), '--out', 'again', '--steps', '1', '--json'], { cwd: folder })
    expect(again.code, again.stderr).toBe(0)
    expect(again.json<RunResult>()).toMatchObject({ state: 'done', step: 1 })
    // Same seed, same model, same prompts: the same first step.
    expect((await readRollouts(inFolder('again'), 1)).values.map(({ ids }) => ids)).toEqual((await readRollouts(inFolder('finished'), 1)).values.map(({ ids }) => ids))
  })
})

describe.skipIf(process.platform === 'win32')('(needs signals, which Windows has not) Ctrl-C', () => {
  it('finishes the step, writes a checkpoint and ends with code 4; resume goes on from there', async () => {
    const running = start(cli, ['train', 'run.json', '--out', 'interrupted', '--steps', '500', '--json'], { cwd: folder })
    await running.said(/step +2\/500/)
    running.interrupt()
    const ended = await running.ended
    expect(ended.code, ended.stderr).toBe(4)
    const result = ended.json<RunResult>()
    expect(result.state).toBe('stopped')
    expect(result.step).toBeGreaterThanOrEqual(2)
    expect(result.step).toBeLessThan(500)
    expect(Number(basename(result.checkpoint))).toBe(result.step)
    expect(ended.stderr).toContain('Finishing the step')
    // The processes that score heard Ctrl-C as well and went on: no completion was scored as failed because of it.
    expect((await readRollouts(inFolder('interrupted'), result.step)).values.flatMap(({ sources }) => sources.filter(({ failure }) => failure !== undefined))).toEqual([])

    const resumed = await run(cli, ['resume', 'interrupted', '--steps', '2', '--json'], { cwd: folder })
    expect(resumed.code).toBe(4)
    expect(resumed.json<RunResult>().step).toBe(result.step + 2)
    expect((await readMetrics(inFolder('interrupted'))).values.map(({ step }) => step)).toEqual(Array.from({ length: result.step + 2 }, (_, index) => index + 1))
  })

  it('pressed twice stops at once; what was written stays whole', async () => {
    const running = start(cli, ['train', 'run.json', '--out', 'stopped', '--steps', '500', '--json'], { cwd: folder })
    await running.said(/step +1\/500/)
    running.interrupt()
    running.interrupt()
    // The two may be delivered as one; a later one then is the second.
    const again = setInterval(running.interrupt, 300)
    void running.ended.then(() => clearInterval(again))
    const ended = await running.ended
    expect(ended.code).toBe(4)
    const status = await run(cli, ['status', 'stopped', '--json'], { cwd: folder })
    expect(status.code).toBe(0)
    expect(status.json<RunResult>().state).toBe('stopped')
  })
})

describe('a run in progress', () => {
  it('is paused, changed, continued and stopped from another process, and held against a second engine', async () => {
    const running = start(cli, ['train', 'run.json', '--out', 'steered', '--steps', '500', '--json'], { cwd: folder })
    await running.said(/step +1\/500/)
    const steer = (...options: string[]): Promise<Ended> => run(cli, [...options, '--json'], { cwd: folder })
    expect((await steer('pause', 'steered')).json()).toMatchObject({ asked: 'pause' })
    await running.said(/Paused/)
    expect((await steer('status', 'steered')).json<RunResult>().state).toBe('paused')
    const second = await steer('resume', 'steered')
    expect(second.code).toBe(2)
    expect(second.stderr).toContain('in progress')
    const before = (await readMetrics(inFolder('steered'))).values.length
    await sleep(500)
    expect((await readMetrics(inFolder('steered'))).values.length).toBe(before)
    const changed = await steer('control', 'steered', '--set', 'optimizer.learningRate=0.002', '--set', 'reward.localWeight=0.1')
    expect(changed.code, changed.stderr).toBe(0)
    expect(changed.json()).toMatchObject({ changes: [{ field: 'optimizer.learningRate', from: 0.01, to: 0.002 }, { field: 'reward.localWeight', from: 0.5, to: 0.1 }] })
    await running.said(/optimizer\.learningRate changed from 0\.01 to 0\.002, from step \d+ on/)
    await steer('continue', 'steered')
    await running.said(/Going on/)
    await steer('stop', 'steered')
    const ended = await running.ended
    expect(ended.code).toBe(4)
    expect(ended.json<RunResult>().state).toBe('stopped')
    // A stopped run is changed from where it is resumed.
    const later = await steer('control', 'steered', '--set', 'optimizer.learningRate=0.001')
    expect(later.json()).toMatchObject({ changes: [{ step: ended.json<RunResult>().step + 1, from: 0.002, to: 0.001 }] })
  })
})

describe('what a run has learned', () => {
  it('is exported as an adapter that is the same policy', async () => {
    const ended = await run(cli, ['export', 'finished', '--format', 'peft', '--out', 'adapter', '--json'], { cwd: folder })
    expect(ended.code, ended.stderr).toBe(0)
    expect(ended.json<{ comparison: { tokens: number; largestDifference: number } }>().comparison.tokens).toBeGreaterThan(100)
    expect(ended.json<{ comparison: { largestDifference: number } }>().comparison.largestDifference).toBeLessThan(1e-5)
    expect((await readdir(inFolder('adapter'))).toSorted()).toEqual(['adapter_config.json', 'adapter_model.safetensors', 'export.json'])
  })

  it('answers the same from the run, the adapter and the merged model, and otherwise than the base', async () => {
    const merged = await run(cli, ['export', 'finished', '--format', 'safetensors', '--out', 'merged', '--json'], { cwd: folder })
    expect(merged.code, merged.stderr).toBe(0)
    await run(cli, ['export', 'finished', '--format', 'peft', '--out', 'adapter-2'], { cwd: folder })
    await writeFile(inFolder('tokens.json'), JSON.stringify({ sequences: [[5, 6, 7, 8], [9]] }))
    const logprobs = async (model: string): Promise<(number | null)[][]> => (await run(cli, ['logprobs', model, '--tokens', 'tokens.json', '--json'], { cwd: folder })).json<{ logprobs: (number | null)[][] }>().logprobs
    const [own, adapter, whole, base] = [await logprobs('finished'), await logprobs('adapter-2'), await logprobs('merged'), await logprobs('model')]
    expect(own.map((row) => row.length)).toEqual([4, 1])
    expect(own.map((row) => row[0])).toEqual([null, null])
    for (const other of [adapter, whole]) other[0]!.slice(1).forEach((value, index) => expect(value).toBeCloseTo(own[0]![index + 1]!, 4))
    expect(Math.max(...base[0]!.slice(1).map((value, index) => Math.abs(value! - own[0]![index + 1]!)))).toBeGreaterThan(1e-4)
  })

  it('is written down by generate, reproducibly', async () => {
    const generate = async (...more: string[]): Promise<{ completions: { text: string; ids: number[]; logprobs: number[] }[] }> =>
      (await run(cli, ['generate', 'finished', '--prompt', 'Make a counter.', '--max-tokens', '8', '--n', '2', '--json', ...more], { cwd: folder })).json()
    const first = await generate()
    expect(first.completions).toHaveLength(2)
    expect(first.completions[0]!.ids).toHaveLength(first.completions[0]!.logprobs.length)
    expect(await generate()).toEqual(first)
    expect(await generate('--seed', '2')).not.toEqual(first)
  })

  it('is evaluated with its intervals', async () => {
    const ended = await run(cli, ['eval', 'finished', '--data', prompts, '--n', '2', '--k', '1,2', '--prompts', '3', '--max-tokens', '8', '--json'], { cwd: folder })
    expect(ended.code, ended.stderr).toBe(0)
    const result = ended.json<EvaluationResult>()
    expect(result).toMatchObject({ step: 3, prompts: 3, samples: 2, compile: { n: 6, low: 0 } })
    expect(Object.keys(result.passAtK)).toEqual(['1', '2'])
    expect(result.compile.high).toBeLessThan(1)
  })

  it('is reported on one page, several runs beside each other', async () => {
    const ended = await run(cli, ['report', 'finished', 'finished', '--out', 'both.html', '--json'], { cwd: folder })
    expect(ended.json()).toEqual({ report: inFolder('both.html'), runs: [inFolder('finished'), inFolder('finished')] })
    expect(await readFile(inFolder('both.html'), 'utf8')).toContain('<h1>2 runs</h1>')
  })
})

describe('score', () => {
  it('tells good from bad, and lays the blame on tokens', async () => {
    const [row] = (await readFile(prompts, 'utf8')).split('\n', 1).map((line) => JSON.parse(line) as { reference: string })
    const broken = row!.reference.replace('</h1>', '</h2>')
    await writeFile(inFolder('rows.jsonl'), [row!.reference, broken].map((completion, index) => JSON.stringify({ ...row, id: `${index}`, completion })).join('\n'))
    const ended = await run(cli, ['score', '--reward', 'react', '--data', 'rows.jsonl', '--tokenizer', 'model', '--json'], { cwd: folder })
    expect(ended.code, ended.stderr).toBe(0)
    const [good, bad] = ended.json<{ results: { global: number; spans: { start: number; end: number }[]; tokenRewards: number[]; ends: number[]; stages: { render: boolean } }[] }>().results
    expect(good).toMatchObject({ stages: { render: true }, spans: [] })
    expect(new Set(good!.tokenRewards).size).toBe(1)
    expect(bad!.stages.render).toBe(false)
    expect(bad!.global).toBeLessThan(good!.global)
    // The flagged token gets the lowest reward (its neighbours may share it, the local signal is bounded), a distant one none of the blame.
    const mistake = broken.indexOf('</h2>')
    const flagged = bad!.ends.findIndex((end) => end > mistake)
    expect(bad!.tokenRewards[flagged]).toBe(Math.min(...bad!.tokenRewards))
    expect(bad!.tokenRewards[0]).toBe(Math.max(...bad!.tokenRewards))
    expect(bad!.tokenRewards[0]!).toBeGreaterThan(bad!.tokenRewards[flagged]!)
  })
})

describe('models', () => {
  it('are checked, copied and listed', async () => {
    const imported = await run(cli, ['models', 'import', 'model', '--name', 'mine', '--models', 'library', '--json'], { cwd: folder })
    expect(imported.code, imported.stderr).toBe(0)
    expect(imported.json()).toMatchObject({ name: 'mine', family: 'qwen2', storedType: 'float32', contextTokens: 128 })
    expect((await readdir(inFolder('library', 'mine'))).toSorted()).toEqual((await readdir(inFolder('model'))).toSorted())
    const again = await run(cli, ['models', 'import', 'model', '--name', 'mine', '--models', 'library'], { cwd: folder })
    expect(again.code).toBe(3)
    const listed = await run(cli, ['models', 'list', '--json'], { cwd: folder, env: { SATCHEL_MODELS: inFolder('library') } })
    expect(listed.json<{ models: { name: string }[] }>().models.map(({ name }) => name)).toContain('mine')
  })
})

describe('doctor', () => {
  it('tries every device in a process of its own, and says in words what fails', async () => {
    const ended = await run(cli, ['doctor', '--json'], { cwd: folder })
    const result = ended.json<{ ok: boolean; kernels: { backend: string }; onnxruntime: string; trials: Record<string, { ok: boolean; what: string }> }>()
    expect(result.trials['cpu'], ended.stdout).toMatchObject({ ok: true })
    expect(result.trials['rewards'], ended.stdout).toMatchObject({ ok: true })
    expect(result.trials['webgpu']!.what.length).toBeGreaterThan(20)
    expect(result.trials['browser']!.what).toContain('reward.screenshots')
    expect(result.onnxruntime).toMatch(/^\d+\.\d+/)
    expect(['native', 'typescript']).toContain(result.kernels.backend)
    expect(ended.code).toBe(0)
  })
})
