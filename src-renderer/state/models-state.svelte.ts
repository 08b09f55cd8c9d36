// The models of this machine, and what is being done with each: verified, planned for, downloaded. Kept while other pages are looked at.
import { SvelteMap } from 'svelte/reactivity'
import type { SatchelBridge } from '../../src-main/contract/bridge.ts'
import type { MemoryPlanView, ModelEntry, ModelList, Verification } from '../../src-main/contract/calls/models.ts'
import { createTask } from './task.svelte.ts'
import type { Notices } from './notices.svelte.ts'
import type { Task } from './task.svelte.ts'
import { words } from '../words.ts'

const say = words.models

export type PlanPrecision = 'fp32' | 'stored' | 'int8' | 'int4'

export interface ModelsState {
  readonly load: 'loading' | 'ready' | 'failed'
  readonly list: ModelList | null
  /** Models a run can start from. */
  readonly usable: readonly ModelEntry[]
  verificationOf(path: string): Verification | undefined
  planOf(path: string): { readonly precision: PlanPrecision; readonly plan: MemoryPlanView | null } | undefined
  /** Work on a model or a repository: one at a time each. */
  taskOf(key: string): Task
  refresh(): Promise<void>
  add(path: string): Promise<ModelEntry | undefined>
  remove(name: string): Promise<void>
  verify(path: string, accept?: boolean): Promise<void>
  plan(path: string, precision: PlanPrecision): Promise<void>
  closePlan(path: string): void
  /** Copies a model into the models folder. */
  copy(path: string): Promise<void>
  download(repository: string): Promise<void>
}

/** What a model is called wherever it is chosen. */
export function modelName({ name, source }: Pick<ModelEntry, 'name' | 'source'>): string {
  return source === 'built-in' ? say.builtIn : name
}

export function createModelsState(bridge: SatchelBridge, notices: Notices): ModelsState {
  let load = $state<ModelsState['load']>('loading')
  let list = $state.raw<ModelList | null>(null)
  const usable = $derived((list?.models ?? []).filter(({ state }) => state === 'ready'))
  const verifications = new SvelteMap<string, Verification>()
  const plans = new SvelteMap<string, { precision: PlanPrecision; plan: MemoryPlanView | null }>()
  const tasks = new Map<string, Task>()

  function taskOf(key: string): Task {
    const known = tasks.get(key)
    if (known !== undefined) return known
    const task = createTask(bridge)
    tasks.set(key, task)
    return task
  }

  async function refresh(): Promise<void> {
    const outcome = await bridge.call('models.list', {})
    if (outcome.ok) {
      list = outcome.value
      load = 'ready'
    } else {
      load = list === null ? 'failed' : 'ready'
      notices.fail(outcome.error, `${say.unlisted}.`)
    }
  }

  return {
    get load() {
      return load
    },
    get list() {
      return list
    },
    get usable() {
      return usable
    },
    verificationOf: (path) => verifications.get(path),
    planOf: (path) => plans.get(path),
    taskOf,
    refresh,
    async add(path) {
      const outcome = await bridge.call('models.add', { path })
      if (!outcome.ok) {
        notices.fail(outcome.error, say.told.notAdded)
        return undefined
      }
      notices.tell(say.told.added(outcome.value.name), say.told.addedText)
      await refresh()
      return outcome.value
    },
    async remove(name) {
      const outcome = await bridge.call('models.remove', { name })
      if (!outcome.ok) notices.fail(outcome.error)
      await refresh()
    },
    async verify(path, accept = false) {
      const outcome = await taskOf(path).run((task) => bridge.call('models.verify', { path, accept, generate: true, task }))
      if (outcome === undefined) return
      if (outcome.ok) verifications.set(path, outcome.value)
      else notices.fail(outcome.error, say.told.notVerified)
      await refresh()
    },
    async plan(path, precision) {
      plans.set(path, { precision, plan: plans.get(path)?.plan ?? null })
      const outcome = await bridge.call('models.plan', { path, run: { weights: { precision } } })
      if (outcome.ok) plans.set(path, { precision, plan: outcome.value })
      else {
        plans.delete(path)
        notices.fail(outcome.error, say.told.noPlan)
      }
    },
    closePlan: (path) => void plans.delete(path),
    async copy(path) {
      const outcome = await taskOf(path).run((task) => bridge.call('models.import', { path, task }))
      if (outcome === undefined) return
      if (outcome.ok) notices.tell(say.told.copied(outcome.value.name), outcome.value.path)
      else notices.fail(outcome.error, say.told.notCopied)
      await refresh()
    },
    async download(repository) {
      const outcome = await taskOf(repository).run((task) => bridge.call('models.download', { repository, task }))
      if (outcome === undefined) return
      if (outcome.ok) notices.tell(say.told.downloaded(outcome.value.name), say.told.downloadedText)
      else notices.fail(outcome.error, say.unfinished)
      await refresh()
    },
  }
}
