// Where models lie on this machine: the built-in one, the models folder, what the person added, and the caches other tools keep.
// Finding reads names only and changes nothing; nothing is ever copied from here.
import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { resourcePath } from '../runtime/paths.ts'
import { fileErrorCode } from './json-file.ts'
import { readLibrary } from './model-library.ts'

export type ModelSource = 'built-in' | 'library' | 'added' | 'hugging-face' | 'lm-studio'

/** A place that looks like a model; what is in it has not been looked at yet. */
export interface FoundModel {
  /** What a command may call it: `built-in`, a name in the library, or a repository such as `Qwen/Qwen2.5-3B`. */
  readonly name: string
  readonly source: ModelSource
  /** Absolute path of a folder or a .gguf file. */
  readonly path: string
}

/** A cache of another tool. */
export interface ModelCache {
  readonly kind: 'hugging-face' | 'lm-studio'
  readonly folder: string
}

export interface Discovery {
  readonly models: readonly FoundModel[]
  /** Places that could not be read, as sentences. */
  readonly problems: readonly string[]
}

type Environment = Readonly<Record<string, string | undefined>>

/** Folders below an LM Studio folder that are looked into: publisher, repository, and one spare. */
const lmStudioDepth = 3

/**
 * Caches where they usually lie, the ones the environment names first; whether they are there is not checked.
 * Hugging Face: HF_HUB_CACHE (formerly HUGGINGFACE_HUB_CACHE), HF_HOME/hub, XDG_CACHE_HOME/huggingface/hub, ~/.cache/huggingface/hub
 * (on Windows below the user's profile). LM Studio: ~/.lmstudio/models and, formerly, ~/.cache/lm-studio/models.
 * @param home the person's home folder
 */
export function usualCaches(environment: Environment, home: string): ModelCache[] {
  const named = (variable: string, ...below: string[]): string[] => {
    const value = environment[variable]
    if (value === undefined || value.trim() === '') return []
    return [join(resolve(value.replace(/^~(?=$|[/\\])/, home)), ...below)]
  }
  const huggingFace = [
    ...named('HF_HUB_CACHE'),
    ...named('HUGGINGFACE_HUB_CACHE'),
    ...named('HF_HOME', 'hub'),
    ...named('XDG_CACHE_HOME', 'huggingface', 'hub'),
    join(home, '.cache', 'huggingface', 'hub'),
  ]
  const lmStudio = [join(home, '.lmstudio', 'models'), join(home, '.cache', 'lm-studio', 'models')]
  return [...[...new Set(huggingFace)].map((folder) => ({ kind: 'hugging-face' as const, folder })), ...lmStudio.map((folder) => ({ kind: 'lm-studio' as const, folder }))]
}

/**
 * Everything that looks like a model, in the order: built-in, models folder, added, caches.
 * @param modelsFolder the person's models folder; it need not exist
 * @throws UserError when the library file is damaged
 */
export async function discoverModels(modelsFolder: string, caches: readonly ModelCache[]): Promise<Discovery> {
  const problems: string[] = []
  const entriesOf = async (folder: string): Promise<string[]> => {
    try {
      return (await readdir(folder)).toSorted()
    } catch (error) {
      if (!['ENOENT', 'ENOTDIR'].includes(fileErrorCode(error) ?? '')) problems.push(`${folder} cannot be read (${String(error)})`)
      return []
    }
  }
  const models: FoundModel[] = [{ name: 'built-in', source: 'built-in', path: resourcePath('demo', 'model') }]
  for (const name of await entriesOf(modelsFolder)) {
    const path = resolve(modelsFolder, name)
    if (name.startsWith('.')) continue
    if (isFirstGguf(name)) models.push({ name, source: 'library', path })
    else if (await isFolder(path)) models.push(...ownModels(name, path, await entriesOf(path)))
  }
  for (const { name, path } of (await readLibrary(modelsFolder)).added) models.push({ name, source: 'added', path })
  for (const { kind, folder } of caches) models.push(...(kind === 'hugging-face' ? await huggingFaceModels(folder, entriesOf) : await lmStudioModels(folder, entriesOf, lmStudioDepth)))
  // Two variables may name one folder, and one cache may lie inside another.
  return { models: models.filter(({ path }, index) => models.findIndex((other) => other.path === path) === index), problems }
}

/** A folder of the models folder is a model, unless all it holds are .gguf files: then each of them is. */
function ownModels(name: string, path: string, files: readonly string[]): FoundModel[] {
  const packed = files.includes('config.json') ? [] : files.filter(isFirstGguf)
  return packed.length === 0 ? [{ name, source: 'library', path }] : packed.map((file) => ({ name: `${name}/${file}`, source: 'library', path: join(path, file) }))
}

type Entries = (folder: string) => Promise<string[]>

/** `models--ORG--NAME/snapshots/COMMIT/...`, whose files are links into `blobs` or, where links are not allowed, the files themselves. */
async function huggingFaceModels(cache: string, entriesOf: Entries): Promise<FoundModel[]> {
  const found: FoundModel[] = []
  for (const entry of await entriesOf(cache)) {
    if (!entry.startsWith('models--')) continue
    const repository = entry.slice('models--'.length).replaceAll('--', '/')
    const main = await readReference(join(cache, entry, 'refs', 'main'))
    for (const commit of await entriesOf(join(cache, entry, 'snapshots'))) {
      const snapshot = resolve(cache, entry, 'snapshots', commit)
      const name = commit === main ? repository : `${repository}@${commit.slice(0, 8)}`
      const files = await entriesOf(snapshot)
      if (files.includes('config.json')) found.push({ name, source: 'hugging-face', path: snapshot })
      for (const file of files.filter(isFirstGguf)) found.push({ name: `${name}/${file}`, source: 'hugging-face', path: join(snapshot, file) })
    }
  }
  return found
}

async function lmStudioModels(folder: string, entriesOf: Entries, depth: number, prefix = ''): Promise<FoundModel[]> {
  const found: FoundModel[] = []
  for (const entry of await entriesOf(folder)) {
    const path = resolve(folder, entry)
    if (isFirstGguf(entry)) found.push({ name: `${prefix}${entry}`, source: 'lm-studio', path })
    else if (depth > 0 && !entry.startsWith('.') && (await isFolder(path))) found.push(...(await lmStudioModels(path, entriesOf, depth - 1, `${prefix}${entry}/`)))
  }
  return found
}

/** A whole GGUF model or the first of its parts; projectors of vision models are none. */
function isFirstGguf(name: string): boolean {
  const part = /-(\d{5})-of-\d{5}\.gguf$/i.exec(name)?.[1]
  return /\.gguf$/i.test(name) && !/^mmproj/i.test(name) && (part === undefined || Number(part) === 1)
}

async function readReference(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, 'utf8')).trim()
  } catch {
    // A snapshot without a reference is found by its commit.
    return undefined
  }
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory()
  } catch {
    return false
  }
}

/**
 * The models a name may mean: exactly its name, otherwise the last part of a repository or its file (`SmolLM3-3B`), letters of either case.
 * More than one means the name is ambiguous, none that it is unknown.
 */
export function modelsNamed(models: readonly FoundModel[], name: string): FoundModel[] {
  const exact = models.filter((model) => model.name === name)
  if (exact.length > 0) return exact.slice(0, 1)
  const wanted = name.toLowerCase()
  return models.filter((model) => [model.name.toLowerCase(), basename(model.name).toLowerCase()].includes(wanted))
}
