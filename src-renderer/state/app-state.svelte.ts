// What every page is given: the bridge, where the person is, the runs, and what is shared between pages.
import { createDatasetsState } from './datasets-state.svelte.ts'
import type { DatasetsState } from './datasets-state.svelte.ts'
import { createMachineState } from './machine-state.svelte.ts'
import type { MachineState } from './machine-state.svelte.ts'
import { createModelsState } from './models-state.svelte.ts'
import type { ModelsState } from './models-state.svelte.ts'
import { createNavigation } from './navigation.svelte.ts'
import type { Navigation } from './navigation.svelte.ts'
import { createNotices } from './notices.svelte.ts'
import type { Notices } from './notices.svelte.ts'
import { createRunController, initialAppView } from './run-controller.ts'
import type { AppView, RunController } from './run-controller.ts'
import { createRunDraft } from './run-draft.svelte.ts'
import type { RunDraft } from './run-draft.svelte.ts'
import { createSettingsState } from './settings-state.svelte.ts'
import type { SettingsState } from './settings-state.svelte.ts'
import type { SatchelBridge } from '../../src-main/contract/bridge.ts'
import type { CallName, CallRequest, CallResponse } from '../../src-main/contract/calls.ts'

export interface AppState {
  readonly bridge: SatchelBridge
  readonly view: AppView
  readonly controller: RunController
  readonly navigation: Navigation
  readonly notices: Notices
  readonly draft: RunDraft
  readonly machine: MachineState
  readonly models: ModelsState
  readonly datasets: DatasetsState
  readonly settings: SettingsState
  /** Asks the app; a failure becomes a notice, and undefined. */
  ask<Name extends CallName>(name: Name, request: CallRequest<Name>): Promise<CallResponse<Name> | undefined>
}

/** Views are immutable and may be large, so they are held raw: never made into deep proxies. They are taken over at most once a frame. */
export function createAppState(bridge: SatchelBridge): AppState {
  let view = $state.raw<AppView>(initialAppView)
  let newest = initialAppView
  let scheduled = false
  const controller = createRunController(bridge, (next) => {
    newest = next
    if (scheduled) return
    scheduled = true
    requestAnimationFrame(() => {
      scheduled = false
      view = newest
    })
  })
  const notices = createNotices()
  const draft = createRunDraft()
  return {
    bridge,
    get view() {
      return view
    },
    controller,
    navigation: createNavigation('home'),
    notices,
    draft,
    machine: createMachineState(bridge, notices),
    models: createModelsState(bridge, notices),
    datasets: createDatasetsState(bridge, notices, draft),
    settings: createSettingsState(bridge, notices),
    async ask(name, request) {
      const outcome = await bridge.call(name, request)
      if (outcome.ok) return outcome.value
      notices.fail(outcome.error)
      return undefined
    },
  }
}
