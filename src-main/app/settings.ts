// What the person set: kept in one file, told to the page, and handed to the processes the app starts.
import { join } from 'node:path'
import { settingsSchema } from '../contract/calls/settings.ts'
import type { FolderName, Settings, settingsCalls, SettingsView } from '../contract/calls/settings.ts'
import type { HandlersOf } from '../contract/calls/shared.ts'
import { openJsonStore } from './json-store.ts'

export interface SettingsOptions {
  readonly file: string
  /** Folders where the person named none. */
  readonly usualFolders: Readonly<Record<FolderName, string>>
  readonly chooseFolder: (title: string) => Promise<string | null>
  /** Hears every change, after it was kept. */
  readonly onChange: (view: SettingsView) => void
}

export interface SettingsService {
  readonly handlers: HandlersOf<typeof settingsCalls>
  view(): SettingsView
}

const folderTitles: Readonly<Record<FolderName, string>> = { runs: 'Folder for runs', models: 'Folder for models', exports: 'Folder for exports' }

export function createSettings({ file, usualFolders, chooseFolder, onChange }: SettingsOptions): SettingsService {
  const store = openJsonStore(file, settingsSchema, settingsSchema.parse({}))

  function view(): SettingsView {
    const { folders } = store.value
    const inUse = (folder: FolderName): string => (folders[folder] === '' ? usualFolders[folder] : folders[folder])
    return { settings: store.value, folders: { runs: inUse('runs'), models: inUse('models'), exports: inUse('exports') }, file, problem: store.problem }
  }

  async function update(next: (before: Settings) => Settings): Promise<SettingsView> {
    await store.update(next)
    const now = view()
    onChange(now)
    return now
  }

  const withFolder = (folder: FolderName, path: string): Promise<SettingsView> => update((before) => ({ ...before, folders: { ...before.folders, [folder]: path } }))

  return {
    view,
    handlers: {
      'settings.read': async () => view(),
      'settings.change': (part) => update((before) => ({ ...before, ...Object.fromEntries(Object.entries(part).filter(([, value]) => value !== undefined)) })),
      'settings.chooseFolder': async ({ folder }) => {
        const chosen = await chooseFolder(folderTitles[folder])
        return chosen === null ? view() : withFolder(folder, chosen)
      },
      'settings.resetFolder': ({ folder }) => withFolder(folder, ''),
      'settings.reset': () => update(() => settingsSchema.parse({})),
    },
  }
}

/** Folders where nothing was set: environment variables, then the app's own data folder. */
export function usualFolders(data: string, environment: NodeJS.ProcessEnv): Record<FolderName, string> {
  return { runs: join(data, 'runs'), models: environment['SATCHEL_MODELS'] ?? join(data, 'models'), exports: '' }
}
