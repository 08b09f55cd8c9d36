// The settings as the app has them. The theme is applied from here as well, whoever changed it.
import type { SatchelBridge } from '../../src-main/contract/bridge.ts'
import type { CallRequest } from '../../src-main/contract/calls.ts'
import type { FolderName, SettingsView } from '../../src-main/contract/calls/settings.ts'
import type { CallOutcome } from '../../src-main/contract/bridge.ts'
import type { ErrorEnvelope } from '../../src-main/contract/errors.ts'
import { theme } from './theme.svelte.ts'
import type { Notices } from './notices.svelte.ts'

export interface SettingsState {
  /** Null until they were read. */
  readonly view: SettingsView | null
  read(): Promise<void>
  /** Returns what was wrong, for the field it belongs to; undefined when it was taken. */
  change(part: CallRequest<'settings.change'>): Promise<ErrorEnvelope | undefined>
  chooseFolder(folder: FolderName): Promise<void>
  resetFolder(folder: FolderName): Promise<void>
  reset(): Promise<boolean>
}

export function createSettingsState(bridge: SatchelBridge, notices: Notices): SettingsState {
  let view = $state.raw<SettingsView | null>(null)

  function take(outcome: CallOutcome<SettingsView>): ErrorEnvelope | undefined {
    if (!outcome.ok) return outcome.error
    view = outcome.value
    theme.choose(outcome.value.settings.theme)
    return undefined
  }

  async function orTell(asked: Promise<CallOutcome<SettingsView>>): Promise<boolean> {
    const problem = take(await asked)
    if (problem !== undefined) notices.fail(problem)
    return problem === undefined
  }

  bridge.subscribe('settings.changed', (changed) => void take({ ok: true, value: changed }))
  return {
    get view() {
      return view
    },
    read: async () => void (await orTell(bridge.call('settings.read', {}))),
    change: async (part) => take(await bridge.call('settings.change', part)),
    chooseFolder: async (folder) => void (await orTell(bridge.call('settings.chooseFolder', { folder }))),
    resetFolder: async (folder) => void (await orTell(bridge.call('settings.resetFolder', { folder }))),
    reset: () => orTell(bridge.call('settings.reset', {})),
  }
}
