// Everything but runs put together: settings, files, models, datasets, this machine. One object for the app to start with and to end with.
import { join } from 'node:path'
import type { z } from 'zod'
import type { datasetMemoryCalls } from '../contract/calls/datasets.ts'
import type { fileCalls, Place } from '../contract/calls/files.ts'
import { machineTrialsSchema } from '../contract/calls/machine.ts'
import type { machineMemoryCalls } from '../contract/calls/machine.ts'
import type { pageCalls } from '../contract/calls/pages.ts'
import type { rewardFileCalls, rewardToolCalls } from '../contract/calls/rewards.ts'
import type { FolderName, settingsCalls, settingsPageEvents, SettingsView } from '../contract/calls/settings.ts'
import type { HandlersOf } from '../contract/calls/shared.ts'
import type { taskCalls, taskPageEvents } from '../contract/calls/tasks.ts'
import type { forwardedCalls } from '../contract/tools.ts'
import { createDatasetMemory } from './dataset-memory.ts'
import type { Desktop } from './desktop.ts'
import type { EngineProgram } from './engine-process.ts'
import { createFileServices } from './files.ts'
import { createGrantedPaths } from './granted-paths.ts'
import type { GrantedPaths } from './granted-paths.ts'
import { openJsonStore } from './json-store.ts'
import { createLongWork } from './long-work.ts'
import { createPageHandlers } from './page-services.ts'
import { createRewardHandlers } from './reward-services.ts'
import { createSettings } from './settings.ts'
import { createToolHandlers } from './tool-calls.ts'
import { createToolsClient } from './tools-client.ts'
import type { Lane } from './tools-client.ts'

type WorkspaceCalls = typeof pageCalls & typeof forwardedCalls & typeof datasetMemoryCalls & typeof rewardToolCalls & typeof rewardFileCalls & typeof fileCalls & typeof machineMemoryCalls & typeof settingsCalls & typeof taskCalls

type PageEvents = typeof settingsPageEvents & typeof taskPageEvents

export interface WorkspaceOptions {
  /** Folder of the app's own files: settings and what it remembers. */
  readonly dataFolder: string
  readonly promptsFolder: string
  readonly usualFolders: Readonly<Record<FolderName, string>>
  /** Runs the tools; `environment` is added to what every process of the app gets, `keyVariable` names the variable with a judge's key it may see. */
  readonly program: (environment: Readonly<Record<string, string>>, keyVariable: string) => EngineProgram
  readonly desktop: Pick<Desktop, 'chooseFile' | 'chooseFolder' | 'choosePlace' | 'showFolder'>
  /** The folder of a run the page names. @throws UserError for a folder that is none of the app's runs */
  readonly allowedRun: (directory: string) => string
  readonly announce: <Name extends keyof PageEvents>(name: Name, payload: z.infer<PageEvents[Name]>) => void
  /** Hears the settings at every change. */
  readonly onSettings: (view: SettingsView) => void
}

export interface Workspace {
  readonly handlers: HandlersOf<WorkspaceCalls>
  readonly paths: GrantedPaths
  settings(): SettingsView
  /** What was dropped on the window. */
  offer(paths: readonly string[]): Promise<Place[]>
  dispose(): void
}

/** What a process of the tools is told of the settings when it starts: no more than it needs, so that other changes leave it at its work. */
function toldOf(lane: Lane, { folders, settings: { mirror, judge } }: SettingsView): { readonly environment: Readonly<Record<string, string>>; readonly keyVariable: string } {
  const models = { SATCHEL_MODELS: folders.models }
  switch (lane) {
    case 'quick':
      return { environment: { ...models, SATCHEL_DISK: folders.runs }, keyVariable: judge.apiKeyVariable }
    case 'work':
      return { environment: { ...models, SATCHEL_DISK: folders.runs }, keyVariable: '' }
    case 'download':
      return { environment: { ...models, SATCHEL_MIRROR: mirror }, keyVariable: '' }
    case 'pages':
      return { environment: {}, keyVariable: '' }
    case 'rewards':
      return { environment: {}, keyVariable: judge.apiKeyVariable }
  }
}

export function createWorkspace(options: WorkspaceOptions): Workspace {
  const { dataFolder, desktop, announce } = options
  const paths = createGrantedPaths()
  const tools = createToolsClient((lane) => {
    const { environment, keyVariable } = toldOf(lane, settings.view())
    return options.program({ ...environment, SATCHEL_PICTURES: join(dataFolder, 'pages') }, keyVariable)
  })
  const work = createLongWork((progress) => announce('task.progress', progress))
  const settings = createSettings({
    file: join(dataFolder, 'settings.json'),
    usualFolders: options.usualFolders,
    chooseFolder: (title) => desktop.chooseFolder(title),
    onChange: (view) => {
      tools.refresh()
      announce('settings.changed', view)
      options.onSettings(view)
    },
  })
  const trials = openJsonStore(join(dataFolder, 'machine.json'), machineTrialsSchema.nullable(), null)
  const files = createFileServices(desktop, tools, paths)
  return {
    handlers: {
      ...createToolHandlers({
        tools, paths, work,
        onAnswer: (name, value) => {
          // What could not be kept is tried again the next time.
          if (name === 'machine.try') trials.update(() => machineTrialsSchema.parse(value)).catch(() => undefined)
        },
      }),
      ...createDatasetMemory({ file: join(dataFolder, 'datasets.json'), promptsFolder: options.promptsFolder, tools, paths, work }),
      ...createRewardHandlers({ tools, paths, work, desktop, allowedRun: options.allowedRun }),
      ...createPageHandlers({ tools, allowedRun: options.allowedRun }),
      ...files.handlers,
      ...settings.handlers,
      ...work.handlers,
      'machine.lastTrials': async () => trials.value,
    },
    paths,
    settings: settings.view,
    offer: files.offer,
    dispose: () => tools.dispose(),
  }
}
