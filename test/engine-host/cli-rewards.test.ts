// Rewards on the command line: problems made and imported, completions scored, a reward tried on the bench.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { PromptRow, ScoredCompletion } from '../../src-main/contract/rewards.ts'
import type { BenchReport } from '../../src-main/engine/rewards/bench/reward-bench.ts'
import { resourcePath } from '../../src-main/engine/runtime/paths.ts'
import { buildEntry } from '../support/build.ts'
import { buildForTests } from '../support/build-entries.ts'
import { run, type Ended } from '../support/cli.ts'

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 })

let cli: string
let folder: string
const satchel = (...options: string[]): Promise<Ended> => run(cli, options, { cwd: folder })
const rowsOf = async (name: string): Promise<PromptRow[]> => (await readFile(join(folder, name), 'utf8')).trim().split('\n').map((line) => JSON.parse(line) as PromptRow)
const write = (name: string, rows: readonly object[]): Promise<void> => writeFile(join(folder, name), rows.map((row) => `${JSON.stringify(row)}\n`).join(''))

beforeAll(async () => {
  await buildForTests()
  cli = await buildEntry('src-main/engine-host/cli.ts')
  folder = await mkdtemp(join(tmpdir(), 'cli rewards '))
  await satchel('problems', 'make', '--out', 'problems.jsonl', '--count', '6', '--levels', '1,2')
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe('satchel problems', () => {
  it('makes problems of the levels asked for, with instructions, the same for the same seed', async () => {
    const rows = await rowsOf('problems.jsonl')
    expect(rows.map(({ data }) => data?.['level'])).toEqual([1, 2, 1, 2, 1, 2])
    expect(rows.every(({ system, reference, answer }) => system?.includes('<step_1>') && reference?.endsWith(`<final> ${answer} </final>`))).toBe(true)
    const again = await satchel('problems', 'make', '--out', 'again.jsonl', '--count', '6', '--levels', '1,2', '--json')
    expect(again.json()).toEqual({ file: 'again.jsonl', rows: 6 })
    expect(await rowsOf('again.jsonl')).toEqual(rows)
  })
  it('imports the public list, and names the row of what is wrong with it', async () => {
    await writeFile(join(folder, 'aime.csv'), 'ID,Year,Problem Number,Question,Answer,Part\n1983-1,1983,1,"Find x, please.",060,\n')
    expect((await satchel('problems', 'import', 'aime.csv', '--out', 'aime.jsonl', '--no-instructions')).code).toBe(0)
    expect(await rowsOf('aime.jsonl')).toEqual([{ id: '1983-1', prompt: 'Find x, please.', answer: '60', data: { year: 1983, number: 1 } }])
    await writeFile(join(folder, 'bad.csv'), 'ID,Question,Answer\na,b,c\n')
    const bad = await satchel('problems', 'import', 'bad.csv', '--out', 'never.jsonl')
    expect(bad).toMatchObject({ code: 3, stderr: expect.stringMatching(/bad\.csv, row 2, Answer/) as string })
  })
})

describe('satchel score', () => {
  it('scores maths, and says what each completion came to', async () => {
    const rows = (await rowsOf('problems.jsonl')).slice(0, 2)
    await write('maths.jsonl', [{ ...rows[0], completion: rows[0]!.reference }, { ...rows[1], completion: 'no idea' }])
    const json = await satchel('score', '--reward', 'maths', '--data', 'maths.jsonl', '--json')
    expect(json.json<{ results: ScoredCompletion[] }>().results.map(({ stages }) => stages.render)).toEqual([true, false])
    const { stdout } = await satchel('score', '--reward', 'maths', '--data', 'maths.jsonl')
    expect(stdout).toMatch(/it is right.*\n.*fails at: gives an answer/)
  })
  it('scores with a function of one\'s own, named alone or relative to a configuration', async () => {
    await writeFile(join(folder, 'mine.js'), 'export default ({ completion }) => completion.length / 10')
    await writeFile(join(folder, 'reward.json'), JSON.stringify({ recipe: 'custom', file: 'mine.js', passAt: 0.5 }))
    await write('texts.jsonl', [{ prompt: 'p', completion: '12345' }])
    for (const reward of ['mine.js', 'reward.json']) {
      const { json } = await satchel('score', '--reward', reward, '--data', 'texts.jsonl', '--json')
      expect(json<{ results: ScoredCompletion[] }>().results[0]).toMatchObject({ global: 0.5, requirementScore: reward === 'mine.js' ? 0 : 1 })
    }
  })
  it('tries a reward on the bench', async () => {
    await write('bench.jsonl', ['hello', 'hello world', 'no!'].map((completion) => ({ id: completion, prompt: 'Say hello to the world.', completion, data: { words: ['hello', 'world'] } })))
    const report = (await satchel('score', '--bench', '--reward', resourcePath('rewards', 'example-reward.ts'), '--data', 'bench.jsonl', '--json')).json<BenchReport>()
    expect(report).toMatchObject({ recipe: 'custom', completions: 3, groups: 1, flatGroups: 0 })
    expect(report.sources[0]).toMatchObject({ source: 'custom', mean: 0.5, noisy: 0, failures: 0 })
  })
  it.each([
    [['score', '--data', 'problems.jsonl'], 2, /no reward was named/],
    [['score', '--reward', 'maths'], 2, /no data was named/],
    [['score', '--reward', 'code', '--data', 'texts.jsonl'], 3, /texts\.jsonl, row 1, entry/],
    [['score', '--reward', 'poetry', '--data', 'texts.jsonl'], 3, /neither a reward preset nor a file/],
    [['score', '--replay', 'nowhere'], 3, /does not exist/],
    [['problems', 'make', '--out', 'x.jsonl', '--levels', '4'], 2, /levels from 1 to 3/],
  ] as const)('%s ends with code %s', async (options, code, message) => {
    const ended = await satchel(...options)
    expect(ended.stderr).toMatch(message)
    expect(ended.code).toBe(code)
  })
})
