// models list, add, remove, import, verify: the models of this machine.
import { existsSync } from 'node:fs'
import { cp, mkdir, rename, stat } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import type { Command } from 'commander'
import { UserError } from '../contract/errors.ts'
import { asStorageError, removeQuietly, temporaryNeighbour } from '../engine/models/atomic-file.ts'
import { addToLibrary, checkModelName, readLibrary, recordVerification, removeFromLibrary } from '../engine/models/model-library.ts'
import { openModelFolder } from '../engine/models/model-folder.ts'
import { baseModels, detailsOf, findBase, modelBytes, summariseModel } from '../engine/models/model-summary.ts'
import type { ModelSummary } from '../engine/models/model-summary.ts'
import { recordOf, verifyModel } from '../engine/models/verify.ts'
import type { Verification } from '../engine/models/verify.ts'
import { createByteProgress } from './cli-byte-progress.ts'
import { bytes, log, table } from './cli-output.ts'
import type { CommandResult } from './cli-output.ts'
import type { Answer } from './cli-train.ts'
import { abortOnInterrupt } from './command-queue.ts'
import { findModels, modelsFolder, resolveModel } from './model-names.ts'
import { writeAFewTokens } from './model-trial.ts'

const modelsOption = ['--models <dir>', 'folder that holds models (SATCHEL_MODELS, otherwise ./models)'] as const

/** Registers the commands below `models`. */
export function addLibraryCommands(models: Command, answer: Answer): void {
  const list = models
    .command('list')
    .description('the models of this machine: the three base models, the built-in one, copied and added ones, and what the caches of other tools hold')
    .option('--all', 'also those that cannot be used')
    .option(...modelsOption)
  answer(list, (options: { all?: boolean; models?: string }) => listModels(options))

  const add = models
    .command('add')
    .description('remember where a model lies, without copying it')
    .argument('<path>', 'model folder or .gguf file')
    .option('--name <name>', 'name it gets; its own where left out')
    .option(...modelsOption)
  answer(add, (path: string, options: { name?: string; models?: string }) => addModel(path, options))

  const remove = models.command('remove').description('forget an added model; its files stay').argument('<name>', 'name of an added model').option(...modelsOption)
  answer(remove, async (name: string, options: { models?: string }) => {
    const path = await removeFromLibrary(modelsFolder(options.models), name)
    return { json: { removed: name, path }, text: `Forgotten. The files are still at ${path}` }
  })

  const importing = models
    .command('import')
    .description('check a Hugging Face folder or a .gguf file and copy it to the models of this machine')
    .argument('<path>', 'folder with config.json, safetensors and tokenizer.json, or a .gguf file')
    .option('--name <name>', 'name it gets; the folder\'s own where left out')
    .option(...modelsOption)
  answer(importing, (folder: string, options: { name?: string; models?: string }) => importModel(folder, options))

  const verify = models
    .command('verify')
    .description('check shapes, types, hashes, tokenizer and a short generation, and say whether a model is usable')
    .argument('<model>', 'path of a model, or a name that models list shows')
    .option('--no-generate', 'leave the generation out')
    .option('--accept', 'take files that changed since the last verification as they are now')
    .option(...modelsOption)
  answer(verify, (model: string, options: VerifyOptions) => verifyNamed(model, options))
}

async function listModels(options: { all?: boolean; models?: string }): Promise<CommandResult> {
  const { models: found, problems } = await findModels(modelsFolder(options.models))
  const summaries: ModelSummary[] = []
  for (const model of found) summaries.push(await summariseModel(model))
  // Caches of other tools hold models of every kind: only what the person put here is worth a word when it cannot be used.
  const shown = summaries.filter(({ state, source }) => options.all === true || state !== 'unsupported' || !['hugging-face', 'lm-studio'].includes(source))
  const bases = baseModels.map((base) => ({ name: base.name, repository: base.repository, found: findBase(base, summaries) ?? null }))
  const rows = shown.map((model) => [model.name, model.details?.family ?? '', model.details === null ? '' : millions(model.details.parameters), model.details?.storedType ?? '', bytes(model.bytes), model.source, model.state])
  const hidden = summaries.length - shown.length
  const lines = [
    ...bases.map(({ name, repository, found: own }) => (own === null ? `${name}: missing (satchel models download ${repository}, or satchel models add its folder)` : `${name}: found, ${own.name} at ${own.path}`)),
    '',
    table([['name', 'family', 'parameters', 'stored as', 'size', 'from', 'state'], ...rows]),
    '',
    ...shown.map(({ name, path }) => `${name}: ${path}`),
    ...shown.flatMap(({ name, problem, details }) => [...(problem === null ? [] : [`${name}: ${problem}`]), ...(details?.warnings ?? []).map((warning) => `${name}: warning: ${warning}`)]),
    ...(hidden === 0 ? [] : [`${hidden} more in the caches of other tools ${hidden === 1 ? 'is' : 'are'} of no family or format Satchel computes; --all lists them.`]),
    ...problems,
  ]
  const json = { bases: bases.map(({ found: own, ...base }) => ({ ...base, found: own !== null, path: own?.path ?? null })), models: shown.map(({ details, ...model }) => ({ ...model, ...details })), hidden, problems }
  return { json, text: lines.join('\n') }
}

async function addModel(path: string, options: { name?: string; models?: string }): Promise<CommandResult> {
  const name = options.name ?? basename(resolve(path))
  checkModelName(name)
  const result = await describeUsable(path, name)
  await addToLibrary(modelsFolder(options.models), name, path)
  return result
}

async function importModel(folder: string, options: { name?: string; models?: string }): Promise<CommandResult> {
  const chosen = options.name ?? basename(resolve(folder))
  checkModelName(chosen)
  await describeUsable(folder, chosen)
  // A GGUF file is known by its ending.
  const name = (await stat(folder)).isFile() && !/\.gguf$/i.test(chosen) ? `${chosen}.gguf` : chosen
  const target = join(modelsFolder(options.models), name)
  if (existsSync(target)) throw new UserError({ code: 'bad-input', what: 'there is a model of this name already', place: { file: target }, remedy: 'Choose another one with --name, or remove that folder.' })
  const temporary = temporaryNeighbour(target)
  try {
    await mkdir(modelsFolder(options.models), { recursive: true })
    await cp(folder, temporary, { recursive: true, dereference: true, filter: (path) => !/(^|[/\\])(\.git|__pycache__|[^/\\]*\.incomplete)$/.test(path) })
    await rename(temporary, target)
  } catch (error) {
    await removeQuietly(temporary)
    throw asStorageError(error, target)
  }
  return describeUsable(target, name)
}

/** @throws UserError when the model cannot be used */
export async function describeUsable(path: string, name: string): Promise<CommandResult> {
  const model = await openModelFolder(path)
  try {
    await model.tokenizer()
    const details = detailsOf(model)
    const json = { name, path: resolve(path), bytes: await modelBytes(path), ...details }
    const text = `${json.path}\n${details.family}, ${millions(details.parameters)} parameters, ${details.storedType}, context of ${details.contextTokens} tokens, ${bytes(json.bytes)}${details.warnings.map((warning) => `\nwarning: ${warning}`).join('')}`
    return { json, text }
  } finally {
    await model.close()
  }
}

interface VerifyOptions {
  readonly generate: boolean
  readonly accept?: boolean
  readonly models?: string
}

async function verifyNamed(nameOrPath: string, options: VerifyOptions): Promise<CommandResult> {
  const folder = modelsFolder(options.models)
  const path = await resolveModel(nameOrPath, folder)
  const earlier = options.accept === true ? undefined : (await readLibrary(folder)).verified[resolve(path)]
  const progress = createByteProgress(process.stderr)
  const { signal, release } = abortOnInterrupt()
  try {
    const result = await verifyModel(path, { earlier, signal, onProgress: progress.update, generate: () => (options.generate ? writeAFewTokens(path) : Promise.resolve({ skipped: 'no generation was tried, as asked' })) })
    progress.close()
    if (result.usable) await remember(folder, path, result)
    const marks = { passed: 'ok', failed: 'FAILED', skipped: 'not checked' } as const
    const lines = [...result.checks.map(({ name, state, what }) => `${name}: ${marks[state]}: ${what}`), ...(result.details?.warnings ?? []).map((warning) => `warning: ${warning}`), '', result.sentence]
    return { json: result, text: lines.join('\n'), exitCode: result.usable ? 0 : 3 }
  } finally {
    progress.close()
    release()
  }
}

/** The record helps the next verification only: where it cannot be written, this one still counts. */
async function remember(folder: string, path: string, result: Verification): Promise<void> {
  try {
    await recordVerification(folder, path, recordOf(result, new Date().toISOString()))
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    log(`warning: the hashes could not be recorded for the next verification. ${error.message}`)
  }
}

function millions(count: number): string {
  return count >= 1e9 ? `${(count / 1e9).toFixed(2)} B` : `${(count / 1e6).toFixed(2)} M`
}
