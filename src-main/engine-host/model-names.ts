// What a person may call a model: a path, or a name that `satchel models list` shows.
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { resolve } from 'node:path'
import { UserError } from '../contract/errors.ts'
import { discoverModels, modelsNamed, usualCaches } from '../engine/models/discover.ts'
import type { Discovery, FoundModel } from '../engine/models/discover.ts'

/** Where models of this person lie: SATCHEL_MODELS, otherwise `models` in the current folder. */
export function modelsFolder(option?: string): string {
  return option ?? process.env['SATCHEL_MODELS'] ?? 'models'
}

/** Every model this machine is known to hold. */
export function findModels(folder: string): Promise<Discovery> {
  return discoverModels(folder, usualCaches(process.env, homedir()))
}

/**
 * The path a person means: what exists is a path, anything else the name of a model.
 * @throws UserError `not-found` for an unknown name, `usage` for an ambiguous one
 */
export async function resolveModel(nameOrPath: string, folder = modelsFolder()): Promise<string> {
  if (existsSync(nameOrPath)) return nameOrPath
  const found = modelsNamed((await findModels(folder)).models, nameOrPath)
  const only = found[0]
  if (only === undefined) throw new UserError({ code: 'not-found', what: 'there is no such folder, and no model of this name', place: { file: nameOrPath }, expected: 'a path, or a name that satchel models list shows' })
  if (found.length > 1) throw ambiguous(nameOrPath, found)
  return only.path
}

/**
 * The path of a model that a file in `folder` names: relative to it or, where nothing lies there, a name. A name nobody knows stays a path:
 * whoever opens it tells what is missing there.
 */
export async function modelBeside(folder: string, model: string): Promise<string> {
  const path = resolve(folder, model)
  if (existsSync(path)) return path
  try {
    return resolve(await resolveModel(model))
  } catch (error) {
    if (error instanceof UserError && error.envelope.code === 'not-found') return path
    throw error
  }
}

function ambiguous(name: string, found: readonly FoundModel[]): UserError {
  return new UserError({ code: 'usage', what: `"${name}" may mean ${found.map((model) => `${model.name} (${model.path})`).join(' or ')}`, remedy: 'Give the whole name or the path.' })
}
