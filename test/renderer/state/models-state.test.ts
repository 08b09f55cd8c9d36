import { describe, expect, it } from 'vitest'
import type { ModelEntry, ModelList } from '../../../src-main/contract/calls/models.ts'
import { UserError } from '../../../src-main/contract/errors.ts'
import { createBridgeDouble } from '../../../src-renderer/bridge/bridge-double.ts'
import { createModelsState } from '../../../src-renderer/state/models-state.svelte.ts'
import { createNotices } from '../../../src-renderer/state/notices.svelte.ts'

const entry: ModelEntry = { name: 'built-in', source: 'built-in', path: '/m', state: 'ready', problem: null, bytes: 1, details: { family: 'qwen2', parameters: 1, storedType: 'float32', contextTokens: 8, base: null, warnings: [], thinking: 'never', chat: true }, licence: '', verified: null }
const list: ModelList = { folder: '/models', bases: [], models: [entry, { ...entry, name: 'bad', path: '/b', state: 'damaged', problem: 'broken', details: null }], hidden: 0, problems: [], partial: [] }

describe('models', () => {
  it('that a run can start from are the ready ones', async () => {
    const models = createModelsState(createBridgeDouble({ 'models.list': () => list }), createNotices())
    await models.refresh()
    expect(models.usable.map(({ name }) => name)).toEqual(['built-in'])
  })

  it('are verified one at a time each, with the progress of that one', async () => {
    let finish: (() => void) | undefined
    const bridge = createBridgeDouble({
      'models.list': () => list,
      'models.verify': ({ path }) => new Promise((resolve) => (finish = () => resolve({ path, usable: true, sentence: 'Usable.', checks: [], files: [] }))),
    })
    const models = createModelsState(bridge, createNotices())
    const verifying = models.verify('/m')
    await models.verify('/m')
    const task = (bridge.made[0]?.request as { task: string }).task
    bridge.announce('task.progress', { task: 'another', what: 'x', done: 1, total: 2, unit: 'bytes', secondsLeft: null })
    expect(models.taskOf('/m').progress).toBe(null)
    bridge.announce('task.progress', { task, what: 'Reading', done: 1, total: 2, unit: 'bytes', secondsLeft: 3 })
    expect(models.taskOf('/m')).toMatchObject({ running: true, progress: { what: 'Reading', secondsLeft: 3 } })
    expect(models.taskOf('/b').running).toBe(false)
    finish?.()
    await verifying
    expect(models.verificationOf('/m')?.usable).toBe(true)
    expect(bridge.made.filter(({ name }) => name === 'models.verify')).toHaveLength(1)
    expect(bridge.subscriptions()).toBe(0)
  })

  it('whose download is paused are no failure; whose list fails can be tried again', async () => {
    let broken = true
    const notices = createNotices()
    const models = createModelsState(createBridgeDouble({
      'models.list': () => {
        if (broken) throw new UserError({ code: 'bad-input', what: 'library.json is damaged' })
        return list
      },
      'models.download': () => {
        throw new UserError({ code: 'stopped', what: 'stopped' })
      },
    }), notices)
    await models.refresh()
    expect([models.load, notices.entries.length]).toEqual(['failed', 1])
    broken = false
    await models.download('Qwen/Qwen2.5-3B')
    expect([models.load, notices.entries.length]).toEqual(['ready', 1])
  })
})
