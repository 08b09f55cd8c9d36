import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createRunLibrary, runInside } from '../../src-main/app/library.ts'
import type { RunSnapshot } from '../../src-main/contract/calls/run-data.ts'

let runs: string
let run: string

const row = (step: number): string => JSON.stringify({ step, values: { reward: step / 10 } })
const rate = { rate: 0.5, low: 0.4, high: 0.6, n: 10 }
const evaluation = (step: number): string =>
  JSON.stringify({ step, prompts: 5, samples: 2, temperature: 1, stages: { parse: rate, types: rate, bundle: rate, render: rate }, compile: rate, requirementScore: 0, hackRate: rate, passAtK: {}, reward: 0, meanLength: 1, samplesShown: [] })

const open = (directory: string): Promise<RunSnapshot> => createRunLibrary(runs).open(directory)
const rewards = (snapshot: RunSnapshot): readonly number[] => snapshot.series.find(({ name }) => name === 'reward')?.values ?? []

beforeEach(() => {
  runs = mkdtempSync(join(tmpdir(), 'satchel-library-'))
  run = join(runs, 'demo-1')
  for (const folder of ['eval', 'rollouts']) mkdirSync(join(run, folder), { recursive: true })
  writeFileSync(join(run, 'run.json'), JSON.stringify({ version: 1, training: { steps: 4 }, other: 'things' }))
  writeFileSync(join(run, 'metrics.jsonl'), `${row(1)}\n${row(2)}\n`)
})
afterEach(() => rmSync(runs, { recursive: true, force: true }))

describe('a run', () => {
  it('rebuilds a run from its folder', async () => {
    writeFileSync(join(run, 'eval', '000002.json'), evaluation(2))
    writeFileSync(join(run, 'eval', '000000.json'), evaluation(0))
    writeFileSync(join(run, 'rollouts', '000001.jsonl'), '')
    writeFileSync(join(run, 'rollouts', '000002.jsonl.gz'), '')
    const snapshot = await open(run)
    expect(snapshot.summary).toEqual({ name: 'demo-1', directory: run, state: 'stopped', step: 2, totalSteps: 4 })
    expect(snapshot.series).toEqual([{ name: 'reward', steps: [1, 2], values: [0.1, 0.2] }])
    expect(snapshot.newestRow).toEqual({ step: 2, values: { reward: 0.2 } })
    expect(snapshot.evaluations.map(({ step }) => step)).toEqual([0, 2])
    expect(snapshot.rolloutSteps).toEqual([[1, 2]])
    expect(snapshot.log.map(({ kind, step }) => [kind, step]).sort()).toEqual([['evaluation', 0], ['evaluation', 2]])
    expect(snapshot.message).not.toMatch(/left out/)
  })

  it('does without a half-written last line, and says nothing of it', async () => {
    appendFileSync(join(run, 'metrics.jsonl'), row(3).slice(0, -4))
    const snapshot = await open(run)
    expect(snapshot.summary.step).toBe(2)
    expect(snapshot.message).not.toMatch(/left out/)
  })

  it('counts lines and files that are damaged', async () => {
    writeFileSync(join(run, 'metrics.jsonl'), `${row(1)}\nnot json\n{"step":"x"}\n${row(2)}\n`)
    writeFileSync(join(run, 'eval', '000002.json'), evaluation(2).slice(0, 40))
    const snapshot = await open(run)
    expect(rewards(snapshot)).toHaveLength(2)
    expect(snapshot.message).toMatch(/3 damaged entries were left out/)
  })

  it('reads line ends of Windows', async () => {
    writeFileSync(join(run, 'metrics.jsonl'), `${row(1)}\r\n${row(2)}\r\n`)
    expect(rewards(await open(run))).toEqual([0.1, 0.2])
  })

  it('is done when every step has its row', async () => {
    appendFileSync(join(run, 'metrics.jsonl'), `${row(3)}\n${row(4)}\n`)
    expect((await open(run)).summary.state).toBe('done')
  })

  describe('and its status.json', () => {
    const status = (part: object): void => {
      writeFileSync(join(run, 'status.json'), JSON.stringify({ state: 'running', step: 3, totalSteps: 4, pid: process.pid, host: hostname(), time: new Date().toISOString(), message: 'Words.', ...part }))
    }
    const state = async (): Promise<string[]> => {
      const { summary, message } = await open(run)
      return [summary.state, message]
    }

    it('tells how the run ended, in the engine’s words', async () => {
      status({ state: 'stopped', pid: 0 })
      expect(await state()).toEqual(['stopped', 'Words.'])
    })

    it('is believed while its engine gives signs of life, also an engine of another machine', async () => {
      status({})
      expect(await state()).toEqual(['running', 'Words.'])
      expect((await open(run)).summary.step).toBe(3)
      status({ host: 'elsewhere', pid: 0 })
      expect(await state()).toEqual(['running', 'Words.'])
    })

    it('is not believed when the engine has been silent, or its process is gone', async () => {
      status({ time: '2020-01-01T00:00:00.000Z' })
      expect(await state()).toEqual(['failed', expect.stringMatching(/ended without a word/)])
      // No process has the largest number there can be.
      status({ pid: 2 ** 31 - 1 })
      expect(await state()).toEqual(['failed', expect.stringMatching(/ended without a word/)])
    })

    it('does without one that is half written', async () => {
      writeFileSync(join(run, 'status.json'), '{"state":"runn')
      expect((await state())[0]).toBe('stopped')
    })
  })

  it('names file and field when run.json is missing, damaged or newer', async () => {
    await expect(open(join(runs, 'nothing'))).rejects.toThrow(/nothing.*run\.json: This is not a run folder/)
    writeFileSync(join(run, 'run.json'), JSON.stringify({ version: 1, training: { steps: 'many' } }))
    await expect(open(run)).rejects.toThrow(/run\.json, training\.steps: .*cannot be read/)
    writeFileSync(join(run, 'run.json'), '{"version": 1, "trai')
    await expect(open(run)).rejects.toThrow(/cannot be read/)
    writeFileSync(join(run, 'run.json'), JSON.stringify({ version: 2, everything: 'else' }))
    await expect(open(run)).rejects.toThrow(/newer Satchel \(run format 2\)/)
  })
})

describe('the list of runs', () => {
  it('lists runs, newest first, and shows one it cannot read as failed', async () => {
    mkdirSync(join(runs, 'demo-2'))
    writeFileSync(join(runs, 'demo-2', 'run.json'), 'nonsense')
    mkdirSync(join(runs, 'notes'))
    writeFileSync(join(runs, 'readme.txt'), 'no folder')
    expect((await createRunLibrary(runs).list()).map(({ name, state, step }) => [name, state, step])).toEqual([['demo-2', 'failed', 0], ['demo-1', 'stopped', 2]])
  })

  it('is empty when there is no folder yet', async () => {
    expect(await createRunLibrary(join(runs, 'absent')).list()).toEqual([])
  })
})

describe('a run from elsewhere', () => {
  it('may be opened once the person has added its folder, and is then listed', async () => {
    const library = createRunLibrary(join(runs, 'own'))
    expect(() => library.allowed(run)).toThrow(/not in the runs folder/)
    await library.add(run)
    expect(library.allowed(run)).toBe(run)
    expect((await library.list()).map(({ name }) => name)).toEqual(['demo-1'])
    await expect(library.add(runs)).rejects.toThrow(/not a run folder/)
  })
})

describe('runInside', () => {
  it('takes only direct children of the runs folder', () => {
    expect(runInside(runs, run)).toBe(run)
    for (const path of [runs, join(run, 'eval'), join(runs, '..', 'other'), join(run, '..', '..', 'x'), '/etc']) expect(() => runInside(runs, path), path).toThrow(/not in the runs folder/)
  })
})
