// What somebody dropped on the window: a dataset, a model, a run, the configuration of one, or nothing Satchel knows.
import { existsSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { basename, dirname, extname, join, resolve } from 'node:path'
import type { Place, PlaceKind } from '../../contract/calls/files.ts'
import { toEnvelope, UserError } from '../../contract/errors.ts'
import { openDataset } from '../../engine/data/open-dataset.ts'
import { openModelFolder } from '../../engine/models/model-folder.ts'
import { parameterCount } from '../../engine/models/weights.ts'
import { bytes } from '../cli-output.ts'
import type { Tools } from './tool-work.ts'

/** The file or folder a person means: a file inside a model's or a run's folder stands for the folder. */
async function meantPath(path: string): Promise<string> {
  const full = resolve(path)
  const place = await stat(full).catch(() => {
    throw new UserError({ code: 'not-found', what: 'there is no such file or folder', place: { file: path } })
  })
  if (place.isDirectory()) return full
  const beside = dirname(full)
  if (['.safetensors', '.model'].includes(extname(full).toLowerCase()) || ['config.json', 'tokenizer.json'].includes(basename(full))) {
    if (existsSync(join(beside, 'config.json'))) return beside
  }
  return basename(full) === 'metrics.jsonl' && existsSync(join(beside, 'run.json')) ? beside : full
}

async function kindOf(path: string): Promise<PlaceKind> {
  if ((await stat(path)).isDirectory()) {
    if (existsSync(join(path, 'run.json'))) return 'run'
    if (existsSync(join(path, 'config.json'))) return 'model'
    return 'dataset'
  }
  if (extname(path).toLowerCase() === '.gguf') return 'model'
  return extname(path).toLowerCase() === '.json' && (await looksLikeRun(path)) ? 'run-config' : 'dataset'
}

/** A configuration names a model and prompts; a dataset may be large, so only small files are looked at. */
async function looksLikeRun(path: string): Promise<boolean> {
  if ((await stat(path)).size > 1 << 20) return false
  try {
    const value = JSON.parse(await readFile(path, 'utf8')) as unknown
    return typeof value === 'object' && value !== null && 'model' in value && 'data' in value
  } catch {
    return false
  }
}

async function describe(path: string, kind: PlaceKind): Promise<string> {
  switch (kind) {
    case 'run':
      return 'A run of Satchel.'
    case 'run-config':
      return 'The configuration of a run.'
    case 'model': {
      const model = await openModelFolder(path)
      await model.close()
      const parameters = parameterCount(model.config)
      return `A ${model.config.family} model of ${(parameters / 1e6).toFixed(parameters < 1e8 ? 2 : 0)} million parameters.`
    }
    case 'dataset': {
      const source = await openDataset(path)
      await source.close()
      const files = source.files.length === 1 ? '' : `, ${source.files.length} files`
      return `A dataset (${source.format === 'folder' ? 'folder' : source.format.toUpperCase()}${files}, ${bytes(source.bytes)}).`
    }
    case 'unknown':
      return ''
  }
}

export const placeTools: Tools<'files.identify'> = {
  'files.identify': async ({ path }): Promise<Place> => {
    const full = await meantPath(path)
    const kind = await kindOf(full)
    try {
      return { path: full, name: basename(full), kind, what: await describe(full, kind) }
    } catch (error) {
      // A damaged model is still a model to look at: its page says what is wrong.
      if (!(error instanceof UserError)) throw error
      return { path: full, name: basename(full), kind: kind === 'model' ? kind : 'unknown', what: toEnvelope(error).what }
    }
  },
}
