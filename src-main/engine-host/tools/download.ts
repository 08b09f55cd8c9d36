// A download for the app, told as one progress over all files.
import { basename, join } from 'node:path'
import { downloadModel } from '../../engine/models/hub-download.ts'
import type { ToolWork } from './tool-work.ts'

/** The hub, unless the app names a mirror in SATCHEL_MIRROR. */
const usualMirror = 'https://huggingface.co'

/** Downloads a model into a folder of the models folder and returns that folder. Errors are those of `downloadModel`. */
export async function downloadInto(models: string, repository: string, work: ToolWork): Promise<string> {
  const named = process.env['SATCHEL_MIRROR'] ?? ''
  const { folder } = await downloadModel({
    repository,
    mirror: named === '' ? usualMirror : named,
    folder: join(models, basename(repository)),
    signal: work.signal,
    onProgress: (file, done, total) => work.tell({ what: `Downloading ${file}`, done, total, unit: 'bytes' }),
    onRetry: (message) => work.tell({ what: message, done: 0, total: 0, unit: 'bytes' }),
  })
  return folder
}
