// What a person chooses in a dialog or drops on the window: granted to the page, and named for what it is.
import type { FileChoice, fileCalls, Place } from '../contract/calls/files.ts'
import type { HandlersOf } from '../contract/calls/shared.ts'
import type { Desktop } from './desktop.ts'
import type { GrantedPaths } from './granted-paths.ts'
import type { ToolsClient } from './tools-client.ts'

const datasetExtensions = ['jsonl', 'ndjson', 'json', 'csv', 'tsv', 'parquet', 'txt', 'md']
const everything = { name: 'All files', extensions: ['*'] }

/** How each kind is asked for: a folder, or a file by its extensions. */
const questions: Readonly<Record<FileChoice, { readonly title: string; readonly extensions?: { readonly name: string; readonly extensions: string[] } }>> = {
  dataset: { title: 'Open a dataset', extensions: { name: 'Datasets', extensions: datasetExtensions } },
  'dataset-folder': { title: 'Open a folder of a dataset' },
  'model-folder': { title: 'Add a model folder' },
  'model-file': { title: 'Add a GGUF file', extensions: { name: 'GGUF models', extensions: ['gguf'] } },
  'run-folder': { title: 'Open a run folder' },
  'run-config': { title: 'Open the configuration of a run', extensions: { name: 'Configurations', extensions: ['json'] } },
  any: { title: 'Open', extensions: everything },
}

export interface FileServices {
  readonly handlers: HandlersOf<typeof fileCalls>
  /** Grants dropped files and says what they are. */
  offer(paths: readonly string[]): Promise<Place[]>
}

const mostDropped = 20

export function createFileServices(desktop: Pick<Desktop, 'chooseFile' | 'chooseFolder' | 'showFolder'>, tools: ToolsClient, paths: GrantedPaths): FileServices {
  async function identify(path: string): Promise<Place> {
    const place = await tools.ask('files.identify', { path })
    // A file inside a model folder stands for the folder.
    for (const known of [path, place.path]) paths.grant(known)
    return place
  }
  return {
    handlers: {
      'files.choose': async ({ what }) => {
        const { title, extensions } = questions[what]
        const chosen = extensions === undefined ? await desktop.chooseFolder(title) : await desktop.chooseFile(title, [extensions, everything])
        return chosen === null ? null : identify(chosen)
      },
      'files.reveal': async ({ path }) => {
        desktop.showFolder(paths.require(path))
        return {}
      },
    },
    offer: (dropped) => Promise.all(dropped.slice(0, mostDropped).map(identify)),
  }
}
