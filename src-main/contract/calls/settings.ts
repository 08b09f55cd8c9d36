// What the person set for the app as a whole. Kept by the app in one JSON file.
import { z } from 'zod'
import { judgeServerSchema } from '../judge-config.ts'
import { nothing } from './shared.ts'

export const themeSchema = z.enum(['system', 'light', 'dark'])
export type ThemeChoice = z.infer<typeof themeSchema>

const address = z.url({ protocol: /^https?$/, error: 'must be an address such as https://huggingface.co' })

/** What the page may change; without defaults, which would come along with every change. */
const fields = {
  theme: themeSchema,
  /** Where new runs compute unless they say otherwise. */
  device: z.enum(['auto', 'cpu', 'webgpu']),
  /** Processor threads of new runs; 0 uses all. */
  threads: z.int().min(0).max(1024),
  /** Where models are downloaded from. */
  mirror: address,
  /** The server new rewards with a judge begin with; the environment variable it names is the only one the app hands on to engines. */
  judge: judgeServerSchema,
}

export const settingsSchema = z.strictObject({
  version: z.literal(1).default(1),
  theme: fields.theme.default('system'),
  folders: z
    .strictObject({
      /** Empty: the app's own folder. */
      runs: z.string().max(4096).default(''),
      models: z.string().max(4096).default(''),
      /** Empty: the folder `export` of each run. */
      exports: z.string().max(4096).default(''),
    })
    .prefault({}),
  device: fields.device.default('auto'),
  threads: fields.threads.default(0),
  mirror: fields.mirror.default('https://huggingface.co'),
  judge: fields.judge.prefault({}),
})
export type Settings = z.infer<typeof settingsSchema>

export const settingsViewSchema = z.object({
  settings: settingsSchema,
  /** The folders in use, absolute; `exports` is empty where every run has its own. */
  folders: z.object({ runs: z.string(), models: z.string(), exports: z.string() }),
  /** Where the settings lie. */
  file: z.string(),
  /** Why the stored settings could not be read and the defaults are in use; empty otherwise. */
  problem: z.string(),
})
export type SettingsView = z.infer<typeof settingsViewSchema>
export const folderNameSchema = z.enum(['runs', 'models', 'exports'])
export type FolderName = z.infer<typeof folderNameSchema>

export const settingsCalls = {
  'settings.read': { request: nothing, response: settingsViewSchema },
  /** Folders are changed through a dialog only. */
  'settings.change': {
    request: z.strictObject(fields).partial(),
    response: settingsViewSchema,
  },
  'settings.chooseFolder': { request: z.object({ folder: folderNameSchema }).strict(), response: settingsViewSchema },
  /** Back to the app's own folder. */
  'settings.resetFolder': { request: z.object({ folder: folderNameSchema }).strict(), response: settingsViewSchema },
  'settings.reset': { request: nothing, response: settingsViewSchema },
} as const

export const settingsPageEvents = { 'settings.changed': settingsViewSchema } as const
