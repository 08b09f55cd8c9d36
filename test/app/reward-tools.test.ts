// Rewards composed in the app: the tools process itself, over the channel it has in the product.
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { engineEnvironment } from '../../src-main/app/engine-environment.ts'
import { createToolsClient } from '../../src-main/app/tools-client.ts'
import type { ToolsClient } from '../../src-main/app/tools-client.ts'
import type { RewardSample } from '../../src-main/contract/calls/rewards.ts'
import type { Recipe } from '../../src-main/contract/reward-config.ts'
import { buildEntry } from '../support/build.ts'
import { writeReplayableRun } from '../support/replayable-run.ts'

let home: string
let tools: ToolsClient
let openTools: () => ToolsClient
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'satchel-rewards-'))
  const script = await buildEntry('src-main/engine-host/tools.ts')
  const environment = { ...engineEnvironment(process.env), TMPDIR: home, TEMP: home, TMP: home }
  openTools = () => createToolsClient(() => ({ nodeBinary: process.execPath, script, environment }))
  tools = openTools()
})
afterAll(() => {
  tools.dispose()
  rmSync(home, { recursive: true, force: true, maxRetries: 5 })
})

const built = async (recipe: Recipe): Promise<RewardSample[]> => (await tools.ask('rewards.samples', { recipe, source: { kind: 'built-in' } })).samples

describe('samples', () => {
  it.each(['react', 'maths', 'code', 'custom'] as const)('of %s come with Satchel: prompts with several answers each', async (recipe) => {
    const samples = await built(recipe)
    const prompts = new Set(samples.map(({ prompt }) => prompt))
    expect(prompts.size).toBe(4)
    expect(samples.length).toBeGreaterThanOrEqual(3 * prompts.size)
    expect(new Set(samples.map(({ id }) => id)).size).toBe(samples.length)
    expect(samples[0]?.name).toBe('the reference')
  })

  it('of a dataset are the answers it holds; rows without one are counted', async () => {
    const path = join(home, 'answers.jsonl')
    writeFileSync(path, ['{"prompt": "1 + 1?", "answer": "2", "reference": "<final> 2 </final>"}', '{"prompt": "2 + 2?", "answer": "4"}'].join('\n'))
    const { samples, skipped } = await tools.ask('rewards.samples', { recipe: 'maths', source: { kind: 'dataset', path } })
    expect(samples).toMatchObject([{ prompt: '1 + 1?', completion: '<final> 2 </final>', row: { answer: '2' } }])
    expect(skipped).toBe(1)
  })
})

describe('a maths reward', () => {
  const scored = async (reward: Record<string, unknown>, scorings = 1) => tools.ask('rewards.score', { reward: { recipe: 'maths', ...reward }, code: null, samples: (await built('maths')).slice(0, 3), scorings, task: 'a' })

  it('tells the worth of every word, what each source said, and what would go wrong', async () => {
    const { scored: [first, second], report } = await scored({})
    expect(first?.stages.render).toBe(true)
    expect(second?.stages.render).toBe(false)
    expect(first?.starts).toHaveLength(first?.tokenRewards.length ?? -1)
    expect(first?.sources.reduce((sum, { part }) => sum + part, 0)).toBeCloseTo(first?.global ?? NaN, 12)
    expect(report).toMatchObject({ completions: 3, groups: 1, scorings: 1, sources: [{ source: 'answer' }, { source: 'format' }, { source: 'steps' }] })
    expect(report.cheats.map(({ name }) => name)).toContain('many guesses')
  })

  it('has other sums under other weights, and the same verdicts', async () => {
    const before = await scored({})
    const after = await scored({ answer: { globalWeight: 2 } })
    expect(after.scored[0]?.sources.map(({ global }) => global)).toEqual(before.scored[0]?.sources.map(({ global }) => global))
    expect((after.scored[0]?.global ?? 0) - (before.scored[0]?.global ?? 0)).toBeCloseTo(1, 12)
    // The very same measurement: nothing was scored again.
    expect(after.scored.map(({ sources }) => sources.map(({ milliseconds }) => milliseconds))).toEqual(before.scored.map(({ sources }) => sources.map(({ milliseconds }) => milliseconds)))
  })

  it('is asked again for its repeatability, which stays known', async () => {
    expect((await scored({}, 3)).report).toMatchObject({ scorings: 3, sources: [{ noisy: 0 }, { noisy: 0 }, { noisy: 0 }] })
    expect((await scored({ globalWeight: 4 })).report.scorings).toBe(3)
  })

  it('that has a field out of range is refused by its name', async () => {
    await expect(scored({ localBound: -1 })).rejects.toThrow(/localBound/)
  })
})

describe('a function of one\'s own', () => {
  const wordy = 'export default ({ completion }: { completion: string }) => completion.split(/\\s+/).length / 100\n'
  const score = async (text: string) => tools.ask('rewards.score', { reward: { recipe: 'custom' }, code: { text, path: null }, samples: (await built('custom')).slice(0, 3), scorings: 1, task: 'a' })

  it('is scored as the editor has it, without a file', async () => {
    const { scored } = await score(wordy)
    expect(scored[0]?.global).toBeGreaterThan(0.1)
    expect(scored[0]?.sources[0]?.failure).toBeUndefined()
  })

  it('that does not parse is refused with the row', async () => {
    await expect(score('export default (\n  => 1\n')).rejects.toMatchObject({ envelope: { place: { row: 2 } } })
  })

  it('that throws on a sample says so before anything is scored', async () => {
    await expect(score('export default () => { throw new Error("not today") }\n')).rejects.toThrow(/not today/)
  })

  it('has type errors at their places, as it is being written', async () => {
    const text = "import type { RewardFunction } from 'satchel'\nconst score: RewardFunction = ({ completion }) => completion.size\nexport default score\n"
    const { problems } = await tools.ask('rewards.check', { text, path: null })
    expect(problems).toMatchObject([{ row: 2, message: expect.stringMatching(/size/) as string }])
    expect(text.slice(problems[0]?.start, problems[0]?.end)).toBe('size')
    expect((await tools.ask('rewards.check', { text: text.replace('size', 'length'), path: null })).problems).toEqual([])
    expect((await tools.ask('rewards.check', { text: 'export default 3\n', path: null })).problems).toMatchObject([{ row: 1, message: expect.stringMatching(/no reward function/) as string }])
    expect((await tools.ask('rewards.check', { text: '', path: null })).problems).toHaveLength(1)
  })

  it('begins with a template that has no errors', async () => {
    const { text } = await tools.ask('rewards.template', {})
    expect((await tools.ask('rewards.check', { text, path: null })).problems).toEqual([])
  })

  it('leaves one folder of trial files, whatever ended the process before', async () => {
    await score(wordy)
    const folders = (): string[] => readdirSync(home).filter((name) => name.startsWith('satchel-reward-'))
    const [before] = folders()
    // Killed: it cannot clean up.
    tools.dispose()
    tools = openTools()
    await score(wordy)
    expect(folders()).toHaveLength(1)
    expect(folders()[0]).not.toBe(before)
  })
})

describe('a run', () => {
  it('gives its newest rollouts as samples, and says what is missing of their prompts', async () => {
    const directory = join(home, 'run')
    writeReplayableRun(directory, 3)
    const { samples, note } = await tools.ask('rewards.samples', { recipe: 'react', source: { kind: 'run', directory, step: null } })
    expect(samples).toHaveLength(4)
    expect(samples[0]).toMatchObject({ name: 'step 3, rollout 1', tokens: { starts: [0, 4], ends: [4, 6] } })
    expect(note).toMatch(/no longer there/)
    expect((await tools.ask('rewards.samples', { recipe: 'react', source: { kind: 'run', directory, step: 1 } })).samples[0]?.name).toBe('step 1, rollout 1')
  })

  it('is replayed step by step under other weights or another estimator; what needs scoring again is refused', async () => {
    const directory = join(home, 'run')
    writeReplayableRun(directory, 3)
    const replay = (reward: Record<string, unknown> | null, estimator: string | null) => tools.ask('rewards.replay', { directory, reward, estimator, task: 'a' })
    const { steps, left } = await replay({ recipe: 'react', compiler: { globalWeight: 2 } }, null)
    expect(steps.map(({ step, before, after }) => [step, before.reward, after.reward])).toEqual([1, 2, 3].map((step) => [step, 0, -1]))
    expect(left).toBe(0)
    expect((await replay(null, 'grpo')).steps[0]?.after.rootMeanSquare).toBeCloseTo(1, 4)
    await expect(replay({ recipe: 'react', ladder: { types: -0.5 } }, null)).rejects.toThrow(/reward\.ladder/)
  })

  it('that was changed on the way is replayed with what held at each step', async () => {
    const directory = join(home, 'changed')
    writeReplayableRun(directory, 3)
    writeFileSync(join(directory, 'changes.jsonl'), `${JSON.stringify({ step: 2, field: 'reward.compiler.globalWeight', from: 1, to: 2, time: '2026-11-30T00:00:00.000Z' })}\n`)
    const { steps } = await tools.ask('rewards.replay', { directory, reward: null, estimator: 'grpo', task: 'a' })
    expect(steps.map(({ after }) => after.reward)).toEqual([-0.5, -1, -1])
  })
})
