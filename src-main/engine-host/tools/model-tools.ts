// Models for the app.
import { existsSync } from 'node:fs'
import { cp, mkdir, readdir, readFile, rename, stat } from 'node:fs/promises'
import { totalmem } from 'node:os'
import { basename, join, resolve } from 'node:path'
import type { BaseEntry, MemoryPlanView, ModelEntry, ModelList } from '../../contract/calls/models.ts'
import { UserError } from '../../contract/errors.ts'
import { runConfigSchema, type RunConfig } from '../../contract/run-config.ts'
import { asStorageError, removeQuietly, temporaryNeighbour } from '../../engine/models/atomic-file.ts'
import type { FoundModel } from '../../engine/models/discover.ts'
import { openModelFolder, type ModelFolder } from '../../engine/models/model-folder.ts'
import { addToLibrary, checkModelName, readLibrary, recordVerification, removeFromLibrary } from '../../engine/models/model-library.ts'
import type { RecordedVerification } from '../../engine/models/model-library.ts'
import { baseModels, findBase, modelBytes, summariseModel } from '../../engine/models/model-summary.ts'
import type { ModelSummary } from '../../engine/models/model-summary.ts'
import { recordOf, verifyModel } from '../../engine/models/verify.ts'
import { adviseMemory, machinePeaks, planMemory } from '../../engine/training/memory-plan.ts'
import { assumedPromptTokens, longestPromptTokens } from '../../engine/training/prompt-lengths.ts'
import { planParts } from '../cli-plan.ts'
import { findModels, modelsFolder } from '../model-names.ts'
import { writeAFewTokens } from '../model-trial.ts'
import { baseFacts } from './base-facts.ts'
import { refuseCancelled } from './tool-work.ts'
import type { Tools, ToolWork } from './tool-work.ts'

/** Caches of other tools hold models of every kind; those Satchel cannot compute are not worth a card. */
const otherTools: readonly string[] = ['hugging-face', 'lm-studio']

async function entryOf(summary: ModelSummary, recorded: RecordedVerification | undefined): Promise<ModelEntry> {
  const { name, source, path, state, problem, bytes, details } = summary
  const template = details === null ? null : await templateOf(path)
  return {
    name, source, path, state, problem, bytes,
    details: details === null ? null : { ...details, warnings: [...details.warnings], thinking: thinkingOf(template, details.base), chat: template !== null },
    licence: source === 'built-in' ? 'Apache-2.0' : await licenceOf(path, details?.base ?? null),
    verified: recorded !== undefined && (await sameFiles(path, recorded)) ? recorded.time : null,
  }
}

async function templateOf(path: string): Promise<string | null> {
  const model = await openModelFolder(path)
  await model.close()
  return model.chatTemplate
}

function thinkingOf(template: string | null, base: string | null): BaseEntry['thinking'] {
  if (template !== null && /\benable_thinking\b/.test(template)) return 'switch'
  return base !== null && baseFacts[base]?.thinking === 'always' ? 'always' : 'never'
}

/** The model card's word, or that of the base it has the geometry of. */
async function licenceOf(path: string, base: string | null): Promise<string> {
  const card = await readFile(join(path, 'README.md'), 'utf8').catch(() => '')
  const front = /^---\r?\n([\s\S]*?)\r?\n---/.exec(card)?.[1] ?? ''
  const said = /^license(?:_name)?:\s*(\S+)/m.exec(front)?.[1]
  return said ?? (base === null ? '' : (baseFacts[base]?.licence ?? ''))
}

/** Sizes only: hashing is what verification is for. */
async function sameFiles(path: string, { files }: RecordedVerification): Promise<boolean> {
  const inFolder = await stat(path).then((place) => place.isDirectory(), () => false)
  for (const [name, { bytes }] of Object.entries(files)) {
    const size = await stat(inFolder ? join(path, name) : path).then((file) => file.size, () => -1)
    if (size !== bytes) return false
  }
  return true
}

async function listModels(): Promise<ModelList> {
  const folder = modelsFolder()
  const { models: found, problems } = await findModels(folder)
  const { verified } = await readLibrary(folder)
  const summaries: ModelSummary[] = []
  for (const model of found) summaries.push(await summariseModel(model))
  const shown = summaries.filter(({ state, source }) => state !== 'unsupported' || !otherTools.includes(source))
  const models: ModelEntry[] = []
  for (const summary of shown) models.push(await entryOf(summary, verified[resolve(summary.path)]))
  const bases = baseModels.map(({ name, repository }, at): BaseEntry => {
    const facts = baseFacts[name]
    if (facts === undefined) throw new Error(`nothing is known of the base model ${name}`)
    return { name, repository, ...facts, bytes: 2 * facts.parameters, path: findBase(baseModels[at] as (typeof baseModels)[number], summaries)?.path ?? null }
  })
  return { folder: resolve(folder), bases, models, hidden: summaries.length - shown.length, problems: [...problems], partial: await begunDownloads(folder) }
}

/** Downloads of base models that were begun: their files lie under a hidden name until they are whole. */
async function begunDownloads(folder: string): Promise<ModelList['partial']> {
  const begun = await Promise.all(baseModels.map(async ({ repository }) => ({ repository, bytes: await modelBytes(join(resolve(folder), `.${basename(repository)}.download`)) })))
  return begun.filter(({ bytes }) => bytes > 0)
}

/** The entry of one model. @throws UserError when it cannot be used */
async function usableEntry(found: FoundModel): Promise<ModelEntry> {
  const summary = await summariseModel(found)
  if (summary.problem !== null) throw new UserError({ code: 'bad-input', what: summary.problem })
  return entryOf(summary, (await readLibrary(modelsFolder())).verified[resolve(found.path)])
}

/** Characters a model's name cannot have become dashes. */
function usualName(path: string): string {
  return basename(resolve(path)).replace(/[^A-Za-z0-9._-]+/g, '-').replace(/^[^A-Za-z0-9]+/, '') || 'model'
}

async function importModel(path: string, name: string, work: ToolWork): Promise<ModelEntry> {
  checkModelName(name)
  await usableEntry({ name, source: 'library', path })
  const folder = modelsFolder()
  const isFile = (await stat(path)).isFile()
  const target = join(folder, isFile && !name.endsWith('.gguf') ? `${name}.gguf` : name)
  if (existsSync(target)) throw new UserError({ code: 'bad-input', what: 'there is a model of this name already', place: { file: target }, remedy: 'Choose another name.' })
  const temporary = temporaryNeighbour(target)
  const total = await modelBytes(path)
  try {
    await mkdir(isFile ? folder : temporary, { recursive: true })
    let done = 0
    for (const file of isFile ? [''] : (await readdir(path)).filter((entry) => !/^\.git$|^__pycache__$|\.incomplete$/.test(entry))) {
      refuseCancelled(work)
      work.tell({ what: `Copying ${file === '' ? basename(path) : file}`, done, total, unit: 'bytes' })
      await cp(file === '' ? path : join(path, file), file === '' ? temporary : join(temporary, file), { recursive: true, dereference: true })
      done += await modelBytes(file === '' ? path : join(path, file))
    }
    refuseCancelled(work)
    await rename(temporary, target)
  } catch (error) {
    await removeQuietly(temporary)
    throw asStorageError(error, target)
  }
  return usableEntry({ name: basename(target), source: 'library', path: resolve(target) })
}

/** Longest prompts by what they depend on: the form asks again with every change, and seldom with other prompts. */
const promptLengths = new Map<string, Promise<number>>()
const keptLengths = 32

/**
 * Tokens of the longest prompt; undefined where there are no prompts that can be read. Why they cannot is said where they are chosen, and
 * when the run starts: the path was typed, and nothing of what lies there is repeated here.
 */
async function knownLength(model: ModelFolder, run: RunConfig): Promise<number | undefined> {
  const found = await Promise.all([run.model, run.data.prompts].map((path) => stat(path).catch(() => undefined)))
  const key = JSON.stringify([run.model, run.data.prompts, run.chat, ...found.map((file) => file && [file.size, file.mtimeMs])])
  let length = promptLengths.get(key)
  if (length === undefined) {
    length = longestPromptTokens(model, run)
    promptLengths.set(key, length)
    const [oldest] = promptLengths.keys()
    if (promptLengths.size > keptLengths && oldest !== undefined) promptLengths.delete(oldest)
  }
  return length.catch(() => undefined)
}

async function planFor(path: string, run: Readonly<Record<string, unknown>>): Promise<MemoryPlanView> {
  const parsed = runConfigSchema.safeParse({ data: { prompts: '-' }, ...run, model: path })
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    throw new UserError({ code: 'bad-input', what: issue?.message ?? 'the configuration is not valid', place: { field: issue?.path.join('.') } })
  }
  const folder = await openModelFolder(path)
  const known = await knownLength(folder, parsed.data).finally(() => folder.close())
  const memory = totalmem()
  const promptTokens = known ?? assumedPromptTokens
  const lengths = { promptTokens, longest: promptTokens + parsed.data.rollout.maxNewTokens }
  const plan = planMemory(folder.config, parsed.data, lengths, memory)
  const peaks = machinePeaks(plan)
  const fits = Math.max(...Object.values(peaks)) <= memory
  return {
    model: path,
    promptTokens,
    promptsRead: known !== undefined,
    layout: plan.layout,
    parts: planParts.flatMap(([part, label]) => (Number(plan[part]) === 0 ? [] : [{ part, label, bytes: Number(plan[part]) }])),
    peaks,
    memory,
    fits,
    advice: fits ? [] : adviseMemory(folder.config, parsed.data, lengths, memory).map(({ change, trainingPeak: peak }) => ({ change, trainingPeak: peak })),
  }
}

export const modelTools: Tools<'models.list' | 'models.add' | 'models.remove' | 'models.import' | 'models.verify' | 'models.plan' | 'models.download'> = {
  'models.list': () => listModels(),
  'models.add': async ({ path, name = usualName(path) }) => {
    checkModelName(name)
    const entry = await usableEntry({ name, source: 'added', path: resolve(path) })
    await addToLibrary(modelsFolder(), name, path)
    return entry
  },
  'models.remove': async ({ name }) => {
    await removeFromLibrary(modelsFolder(), name)
    return {}
  },
  'models.import': ({ path, name = usualName(path) }, work) => importModel(path, name, work),
  'models.verify': async ({ path, accept, generate }, work) => {
    const folder = modelsFolder()
    const earlier = accept ? undefined : (await readLibrary(folder)).verified[resolve(path)]
    const total = await modelBytes(path)
    const before = new Map<string, number>()
    const onProgress = (file: string, done: number): void => {
      before.set(file, done)
      work.tell({ what: `Reading ${file}`, done: [...before.values()].reduce((sum, bytes) => sum + bytes, 0), total, unit: 'bytes' })
    }
    const result = await verifyModel(path, {
      earlier, signal: work.signal, onProgress,
      generate: async () => {
        if (!generate) return { skipped: 'no generation was tried, as asked' }
        work.tell({ what: 'Writing a few tokens', done: total, total, unit: 'bytes' })
        return writeAFewTokens(path)
      },
    })
    if (result.usable) await recordVerification(folder, path, recordOf(result, new Date().toISOString()))
    const { usable, sentence, checks, files } = result
    return { path, usable, sentence, checks: checks.map(({ name, state, what }) => ({ name, state, what })), files: files.map(({ name, bytes, sha256, matches }) => ({ name, bytes, sha256, matches })) }
  },
  'models.plan': ({ path, run }) => planFor(path, run),
  'models.download': async ({ repository }, work) => {
    // Loaded when a person asks for a download and never before: nothing else has code in memory that could open a socket.
    const { downloadInto } = await import('./download.ts')
    const path = await downloadInto(modelsFolder(), repository, work)
    return usableEntry({ name: basename(path), source: 'library', path: resolve(path) })
  },
}
