import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readReward, rewardPresets } from '../../src-main/engine-host/cli-options.ts'
import { sourceNames } from '../../src-main/engine/rewards/sources.ts'

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'satchel-presets-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe('reward presets', () => {
  it('are complete rewards, those with a judge on this machine', async () => {
    const presets = await Promise.all(rewardPresets.map((name) => readReward(name)))
    expect(presets.map(({ recipe, judge }) => [recipe, judge.kind === 'server' ? judge.url : judge.kind])).toEqual([['react', 'none'], ['maths', 'none'], ['code', 'none'], ['react', 'http://127.0.0.1:8080/v1'], ['maths', 'http://127.0.0.1:8080/v1']])
    expect(presets.map(sourceNames)).toEqual([['compiler', 'lint', 'requirements'], ['answer', 'format', 'steps'], ['compiler', 'tests'], ['compiler', 'lint', 'requirements', 'codeJudge'], ['answer', 'format', 'steps']])
  })
})

describe('a reward in a file', () => {
  it('names its prompts and models relative to itself', async () => {
    await mkdir(join(folder, 'judge-model'))
    const file = join(folder, 'reward.json')
    await writeFile(file, JSON.stringify({ recipe: 'react', judge: { kind: 'model', model: 'judge-model' }, codeJudge: { promptFile: 'prompts.txt' } }))
    expect(await readReward(file)).toMatchObject({ judge: { model: resolve(folder, 'judge-model') }, codeJudge: { promptFile: resolve(folder, 'prompts.txt') } })
  })
})
