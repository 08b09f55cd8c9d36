// Checkpoints: all a run needs to go on as if it had never stopped.
//
//   checkpoints/000120/
//     adapter_config.json, adapter_model.safetensors    a LoRA policy, as PEFT reads it
//     model.safetensors                                 a policy trained in full, float32, Hugging Face names
//     optimizer.safetensors                             AdamW moments: m.<parameter>, v.<parameter>
//     state.json                                        data position, random streams, counters
//     complete.json                                     size and sha256 of every other file
//
// It is written under a temporary name, synced and renamed; it counts only when complete.json is there and every hash agrees.
// The newest is found by looking, never by a pointer that could lie.
import { mkdir, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { z } from 'zod'
import { UserError } from '../../contract/errors.ts'
import { writeAdapter } from '../models/adapter.ts'
import type { Adapter, AdapterLayer } from '../models/adapter.ts'
import { asStorageError, removeQuietly, renamePatiently, syncFolder, temporaryNeighbour, writeJsonAtomically } from '../models/atomic-file.ts'
import { checkFile, fileErrorCode, readJsonFile } from '../models/json-file.ts'
import type { Parameter, PolicyWeights } from '../models/policy-weights.ts'
import { openSafetensors } from '../models/safetensors.ts'
import { writeSafetensors } from '../models/safetensors-write.ts'
import type { TensorSource } from '../models/safetensors-write.ts'
import { namesIn, runFiles } from './run-folder-reading.ts'
import { hashFile } from './run-folder.ts'
import type { RunFolder } from './run-folder.ts'

const checkpointFormat = 1
const adapterWeights = 'adapter_model.safetensors'
const fullWeights = 'model.safetensors'
const peftPrefix = 'base_model.model.'
/** A checkpoint of the same step that a new one is about to replace keeps this name until the new one is in place. */
const replacedMark = '.replaced'

/** First and second moments by parameter name, and how many updates made them. */
export interface OptimizerMoments {
  readonly updates: number
  readonly m: ReadonlyMap<string, Float32Array>
  readonly v: ReadonlyMap<string, Float32Array>
}

export interface CheckpointContent {
  /** Its trainable parameters are stored. */
  readonly policy: Pick<PolicyWeights, 'config' | 'adapter' | 'trainable'>
  readonly optimizer: OptimizerMoments
  /** Plain JSON: data position, stream states, counters. */
  readonly state: unknown
}

export interface CheckpointOptions {
  /** How many checkpoints stay; at least one. */
  readonly keep: number
  /** Folder and hash of the base model, recorded in an adapter. */
  readonly baseModel?: string
  readonly baseHash?: string
}

/** A checkpoint read back. */
export interface Checkpoint {
  readonly step: number
  readonly path: string
  /** Trainable parameters by the policy's own names. */
  readonly tensors: ReadonlyMap<string, Float32Array>
  readonly optimizer: OptimizerMoments
  readonly state: unknown
}

export interface FoundCheckpoint {
  readonly step: number
  readonly path: string
  /** A sentence for each newer checkpoint that was passed over, and why. */
  readonly warnings: readonly string[]
}

const completeSchema = z.object({
  version: z.number(),
  step: z.number().int(),
  files: z.record(z.string(), z.object({ bytes: z.number().int(), sha256: z.string() })),
})

/**
 * Writes the checkpoint of `step` and removes the ones beyond `keep`, oldest first. Nothing is removed before the new one is in place.
 * @returns the checkpoint's folder
 * @throws UserError `storage` when the disk is full or not writable; older checkpoints are untouched then
 */
export async function writeCheckpoint(runFolder: Pick<RunFolder, 'directory'>, step: number, content: CheckpointContent, options: CheckpointOptions): Promise<string> {
  const files = runFiles(runFolder.directory)
  const target = files.checkpointOf(step)
  const temporary = temporaryNeighbour(target)
  try {
    await mkdir(temporary, { recursive: true })
    await writeContent(temporary, content, options)
    await writeJsonAtomically(join(temporary, 'complete.json'), { version: checkpointFormat, step, files: await hashFolder(temporary) })
    await syncFolder(temporary)
    await moveIntoPlace(temporary, target)
    await syncFolder(files.checkpoints)
  } catch (error) {
    await removeQuietly(temporary)
    throw asStorageError(error, target)
  }
  await prune(files.checkpoints, basename(target), Math.max(1, options.keep))
  return target
}

/**
 * The newest checkpoint that is whole. A damaged or half-written one is passed over with a warning, and an older one is used.
 * @returns undefined when the run has no readable checkpoint
 */
export async function newestCheckpoint(directory: string): Promise<FoundCheckpoint | undefined> {
  const folder = runFiles(directory).checkpoints
  const warnings: string[] = []
  for (const { name, step } of await listCheckpoints(folder)) {
    const path = join(folder, name)
    const problem = await findDamage(path, step)
    if (problem === undefined) return { step, path, warnings }
    warnings.push(`The checkpoint of step ${step} is damaged and was passed over (${problem}).`)
  }
  if (warnings.length === 0) return undefined
  throw new UserError({ code: 'bad-input', what: `no checkpoint of this run is whole. ${warnings.join(' ')}`, place: { file: folder }, remedy: 'Copy the checkpoints from a backup, or start the run anew.' })
}

/**
 * Reads a checkpoint.
 * @throws UserError `not-found`, `newer-version` or `bad-input` naming the file
 */
export async function readCheckpoint(path: string): Promise<Checkpoint> {
  const remedy = 'Resume from an older checkpoint: move this folder away.'
  const file = join(path, 'complete.json')
  const complete = checkFile(completeSchema, await readJsonFile(file, remedy), file, remedy)
  if (complete.version > checkpointFormat) {
    throw new UserError({ code: 'newer-version', what: `this checkpoint was written by a newer Satchel (format ${complete.version})`, place: { file, field: 'version' }, expected: `format ${checkpointFormat}`, remedy: 'Open it with that version.' })
  }
  const lora = complete.files[adapterWeights] !== undefined
  const weights = await readTensors(join(path, lora ? adapterWeights : fullWeights))
  const optimizer = await readTensors(join(path, 'optimizer.safetensors'))
  const moments = (kind: 'm' | 'v'): Map<string, Float32Array> => new Map([...optimizer.tensors].filter(([name]) => name.startsWith(`${kind}.`)).map(([name, values]) => [name.slice(2), values]))
  return {
    step: complete.step,
    path,
    tensors: new Map([...weights.tensors].map(([name, values]) => [lora ? name.slice(peftPrefix.length) : name, values])),
    optimizer: { updates: Number(optimizer.metadata['updates'] ?? 0), m: moments('m'), v: moments('v') },
    state: await readJsonFile(join(path, 'state.json'), remedy),
  }
}

/**
 * Puts a checkpoint's values into the arrays of a policy (`refresh` it afterwards).
 * @throws UserError when names or sizes differ: the run's configuration was changed
 */
export function restoreParameters(policy: Pick<PolicyWeights, 'trainable'>, checkpoint: Pick<Checkpoint, 'tensors' | 'path'>): void {
  const misfit = (name: string, what: string): UserError =>
    new UserError({ code: 'bad-input', what, place: { file: checkpoint.path, field: name }, remedy: 'The checkpoint was made with another model or adapter: restore the run.json it was made with.' })
  for (const { name, data } of policy.trainable) {
    const stored = checkpoint.tensors.get(name)
    if (stored === undefined) throw misfit(name, 'the checkpoint lacks this parameter')
    if (stored.length !== data.length) throw misfit(name, `the checkpoint holds ${stored.length} values, the policy has ${data.length}`)
  }
  const known = new Set(policy.trainable.map(({ name }) => name))
  for (const name of checkpoint.tensors.keys()) if (!known.has(name)) throw misfit(name, 'the policy has no such trainable parameter')
  for (const { name, data } of policy.trainable) data.set(checkpoint.tensors.get(name) as Float32Array)
}

/**
 * The adapter a LoRA policy carries, in PEFT's terms.
 * @throws Error for a policy without one
 */
export function adapterOf(policy: Pick<PolicyWeights, 'adapter' | 'trainable'>, baseModel: string | null): Adapter {
  if (policy.adapter.kind !== 'lora') throw new Error('a policy trained in full has no adapter')
  const { rank, alpha, dropout, targets } = policy.adapter
  const byName = new Map(policy.trainable.map((parameter) => [parameter.name, parameter]))
  const layers = new Map<string, AdapterLayer>()
  for (const { name, data } of policy.trainable) {
    const module = /^(.+)\.lora_A\.weight$/.exec(name)?.[1]
    if (module === undefined) continue
    layers.set(module, { a: data, b: (byName.get(`${module}.lora_B.weight`) as Parameter).data })
  }
  return { config: { rank, alpha, dropout, targetModules: targets.toSorted(), rankStabilized: false, baseModel }, layers }
}

async function writeContent(folder: string, { policy, optimizer, state }: CheckpointContent, options: CheckpointOptions): Promise<void> {
  if (policy.adapter.kind === 'lora') {
    await writeAdapter(folder, adapterOf(policy, options.baseModel ?? null), policy.config, options.baseHash === undefined ? {} : { baseHash: options.baseHash })
  } else {
    await writeSafetensors(join(folder, fullWeights), policy.trainable.map(({ name, shape, data }): TensorSource => ({ name, shape, data, dtype: 'F32' })))
  }
  const moments = (kind: 'm' | 'v'): TensorSource[] => [...optimizer[kind]].map(([name, data]) => ({ name: `${kind}.${name}`, dtype: 'F32', shape: [data.length], data }))
  await writeSafetensors(join(folder, 'optimizer.safetensors'), [...moments('m'), ...moments('v')], { format: 'pt', updates: String(optimizer.updates) })
  await writeJsonAtomically(join(folder, 'state.json'), state)
}

/** A step may be written twice (a stop right after a checkpoint): the old one stays findable until the new one is there. */
async function moveIntoPlace(temporary: string, target: string): Promise<void> {
  const aside = `${target}${replacedMark}`
  try {
    await stat(target)
  } catch (error) {
    if (fileErrorCode(error) !== 'ENOENT') throw error
    await renamePatiently(temporary, target)
    return
  }
  await removeQuietly(aside)
  await renamePatiently(target, aside)
  await renamePatiently(temporary, target)
  await removeQuietly(aside)
}

/** Checkpoints newest first; of one step the one in place before the one it replaces. */
async function listCheckpoints(folder: string): Promise<{ name: string; step: number }[]> {
  const found = (await namesIn(folder)).flatMap((name) => {
    const match = /^(\d{6,})(\.replaced)?$/.exec(name)
    return match === null ? [] : [{ name, step: Number(match[1]) }]
  })
  return found.toSorted((a, b) => b.step - a.step || a.name.length - b.name.length)
}

/** Removes old checkpoints and what killed processes left. The one just written is whole, so the last good one is never touched. */
async function prune(folder: string, newest: string, keep: number): Promise<void> {
  const listed = await listCheckpoints(folder)
  const others = listed.filter(({ name }) => name !== newest)
  for (const { name } of others.slice(keep - 1)) await removeQuietly(join(folder, name))
  for (const name of await namesIn(folder)) if (/^\..*\.tmp$/.test(name)) await removeQuietly(join(folder, name))
}

/** What is wrong with a checkpoint, in half a sentence; undefined when it is whole. */
async function findDamage(path: string, step: number): Promise<string | undefined> {
  let complete: z.infer<typeof completeSchema>
  try {
    complete = completeSchema.parse(await readJsonFile(join(path, 'complete.json')))
  } catch {
    return 'complete.json is missing or cannot be read'
  }
  if (complete.step !== step) return `complete.json says step ${complete.step}`
  for (const [name, { bytes, sha256 }] of Object.entries(complete.files)) {
    const file = join(path, name)
    try {
      const { size } = await stat(file)
      if (size !== bytes) return `${name} has ${size} bytes instead of ${bytes}`
      if ((await hashFile(file)) !== sha256) return `the content of ${name} has changed`
    } catch (error) {
      return `${name} cannot be read (${fileErrorCode(error) ?? String(error)})`
    }
  }
  return undefined
}

async function hashFolder(folder: string): Promise<z.infer<typeof completeSchema>['files']> {
  const files: z.infer<typeof completeSchema>['files'] = {}
  for (const name of await namesIn(folder)) {
    const file = join(folder, name)
    files[name] = { bytes: (await stat(file)).size, sha256: await hashFile(file) }
  }
  return files
}

async function readTensors(path: string): Promise<{ tensors: Map<string, Float32Array>; metadata: Readonly<Record<string, string>> }> {
  const file = await openSafetensors(path)
  try {
    const tensors = new Map<string, Float32Array>()
    for (const name of file.names) tensors.set(name, await file.readFloat32(name))
    return { tensors, metadata: file.metadata }
  } finally {
    await file.close()
  }
}
