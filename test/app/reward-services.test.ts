// What the app does with rewards itself: paths it lets through, files it reads and writes.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createGrantedPaths } from '../../src-main/app/granted-paths.ts'
import type { GrantedPaths } from '../../src-main/app/granted-paths.ts'
import { createLongWork } from '../../src-main/app/long-work.ts'
import { createRewardHandlers } from '../../src-main/app/reward-services.ts'
import type { RewardHandlers } from '../../src-main/app/reward-services.ts'
import type { ToolsClient } from '../../src-main/app/tools-client.ts'
import { UserError } from '../../src-main/contract/errors.ts'

let home: string
let asked: { name: string; request: unknown }[]
let paths: GrantedPaths
let chosen: string | null
let rewards: RewardHandlers

beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'satchel-reward-files-'))
})
afterAll(() => rmSync(home, { recursive: true, force: true, maxRetries: 5 }))
beforeEach(() => {
  asked = []
  chosen = null
  paths = createGrantedPaths()
  const tools: ToolsClient = {
    async ask(name, request) {
      asked.push({ name, request })
      return {} as never
    },
    refresh: () => undefined,
    dispose: () => undefined,
  }
  rewards = createRewardHandlers({
    tools, paths, work: createLongWork(() => undefined), desktop: { chooseFile: async () => chosen, choosePlace: async () => chosen },
    allowedRun: (directory) => {
      if (directory === '/runs/a') return directory
      throw new UserError({ code: 'usage', what: 'not in the runs folder' })
    },
  })
})

const file = (name: string, text: string): string => {
  const path = join(home, name)
  writeFileSync(path, text)
  return path
}

describe('paths of the page', () => {
  it('are handed on only where a person chose them, or where they are runs', async () => {
    await expect(rewards['rewards.samples']({ recipe: 'maths', source: { kind: 'dataset', path: '/etc/passwd' } })).rejects.toThrow(/may not name/)
    await expect(rewards['rewards.samples']({ recipe: 'maths', source: { kind: 'run', directory: '/elsewhere', step: null } })).rejects.toThrow(/runs folder/)
    await expect(rewards['rewards.check']({ text: '', path: '/etc/reward.ts' })).rejects.toThrow(/may not name/)
    await expect(rewards['rewards.readFile']({ path: '/etc/passwd' })).rejects.toThrow(/may not name/)
    await expect(rewards['rewards.saveFile']({ text: '', path: '/etc/passwd' })).rejects.toThrow(/may not name/)
    await expect(rewards['rewards.replay']({ directory: '/elsewhere', reward: null, estimator: null, task: 'a' })).rejects.toThrow(/runs folder/)
    expect(asked).toEqual([])
    await rewards['rewards.samples']({ recipe: 'maths', source: { kind: 'run', directory: '/runs/a', step: 2 } })
    expect(asked).toHaveLength(1)
  })

  it('are taken out of a reward that is scored', async () => {
    const sample = { id: 'a', name: '', prompt: 'p', completion: '', row: {}, tokens: null }
    await rewards['rewards.score']({ reward: { recipe: 'custom', file: '/etc/passwd' }, code: { text: 'export default () => 1', path: null }, samples: [sample], scorings: 1, task: 'a' })
    expect(asked).toMatchObject([{ request: { reward: { recipe: 'custom' }, code: { path: null } } }])
    expect(JSON.stringify(asked)).not.toContain('passwd')
  })
})

describe('a function', () => {
  it('is opened, written back to its file, and saved elsewhere', async () => {
    expect(await rewards['rewards.openFile']({})).toBeNull()
    chosen = file('mine.ts', 'export default () => 1\n')
    expect(await rewards['rewards.openFile']({})).toEqual({ path: resolve(chosen), text: 'export default () => 1\n' })
    await rewards['rewards.saveFile']({ text: 'export default () => 2\n', path: chosen })
    expect(readFileSync(chosen, 'utf8')).toBe('export default () => 2\n')
    chosen = join(home, 'other')
    expect(await rewards['rewards.saveFile']({ text: 'export default () => 3\n', path: null })).toEqual({ path: resolve(home, 'other.ts') })
    expect(await rewards['rewards.readFile']({ path: join(home, 'other.ts') })).toEqual({ text: 'export default () => 3\n' })
  })

  it('that cannot be written says where', async () => {
    chosen = join(home, 'no such folder', 'a.ts')
    await expect(rewards['rewards.saveFile']({ text: '', path: null })).rejects.toMatchObject({ envelope: { code: 'storage' } })
  })
})

describe('a reward', () => {
  it('is written as JSON and read again, alone or out of a configuration, its file beside it', async () => {
    chosen = join(home, 'reward.json')
    await rewards['rewards.export']({ reward: { recipe: 'maths', globalWeight: 2 } })
    expect(await rewards['rewards.import']({})).toEqual({ file: chosen, reward: { recipe: 'maths', globalWeight: 2 } })
    file('beside.ts', 'export default () => 1\n')
    chosen = file('run.json', JSON.stringify({ model: 'm', reward: { recipe: 'custom', file: 'beside.ts' } }))
    expect(await rewards['rewards.import']({})).toMatchObject({ reward: { recipe: 'custom', file: resolve(home, 'beside.ts') } })
    // Named by a configuration the person chose, so it may be read.
    expect((await rewards['rewards.readFile']({ path: join(home, 'beside.ts') })).text).toMatch(/1/)
  })

  it.each([['broken', '{'], ['a list', '[1]'], ['another thing', '{"reward": 3}']])('that is %s is refused in words', async (_, text) => {
    chosen = file('bad.json', text)
    await expect(rewards['rewards.import']({})).rejects.toThrow(/holds no reward/)
  })
})
