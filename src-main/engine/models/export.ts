// A trained policy as files others can load, and the proof that they hold the same policy: fixed sequences are run through the model
// that was written and compared with the policy it was written from.
import { existsSync } from 'node:fs'
import { readdir, rmdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { UserError } from '../../contract/errors.ts'
import type { Device } from '../runtime/ort.ts'
import { adapterOf } from '../training/checkpoint.ts'
import { sequenceLogprobs } from '../training/sequence-logprobs.ts'
import { adapterScale, mergeAdapter, readAdapter, writeAdapter } from './adapter.ts'
import { asStorageError, removeQuietly, renamePatiently, syncFolder, temporaryNeighbour, writeFileAtomically, writeFully } from './atomic-file.ts'
import type { DecoderConfig, StoredType } from './config.ts'
import { openModelFolder, writeModelFolder } from './model-folder.ts'
import type { ModelFolder } from './model-folder.ts'
import { createPolicyWeights, HEAD } from './policy-weights.ts'
import type { PolicyWeights } from './policy-weights.ts'

export type ExportFormat = 'peft' | 'safetensors'

export interface ExportSource {
  readonly device: Device
  readonly policy: PolicyWeights
  /** Folder of the base model. */
  readonly base: string
  /** Token ids that are run through both; a few hundred tokens are enough. */
  readonly sequences: readonly (readonly number[])[]
  /** Kept in export.json: which run, which step. */
  readonly origin: Readonly<Record<string, string | number>>
}

/** How the written model compares with the policy it came from, over all predicted tokens. */
export interface ExportComparison {
  readonly sequences: number
  readonly tokens: number
  /** Largest and mean absolute difference of log-probabilities, in nats. */
  readonly largestDifference: number
  readonly meanDifference: number
}

export interface ExportReport {
  readonly format: ExportFormat
  readonly folder: string
  readonly storedType: StoredType
  readonly comparison: ExportComparison
}

/** float32 files must give the policy itself; half precision rounds every weight, which is measured and told. */
const exactTolerance = 1e-3

/**
 * Writes the policy as a PEFT adapter (LoRA runs only).
 * @throws UserError `usage` for a policy trained in full, `bad-input` when `folder` holds files, `storage`, or `engine` when the comparison fails
 */
export async function exportPeft(source: ExportSource, folder: string): Promise<ExportReport> {
  const { policy } = source
  if (policy.adapter.kind !== 'lora') {
    throw new UserError({ code: 'usage', what: 'this run trained all weights, so there is no adapter to export', remedy: 'Use --format safetensors.' })
  }
  const target = resolve(folder)
  await refuseOccupied(target)
  const base = await openModelFolder(source.base)
  const temporary = temporaryNeighbour(target)
  try {
    const baseHash = await base.hash()
    await writeAdapter(temporary, adapterOf(policy, resolve(source.base)), base.config, { baseHash })
    const written = await readAdapter(temporary, base.config, baseHash)
    const copy = await createPolicyWeights(source.device, base.config, (name) => base.readTensor(name), policy.adapter, 0)
    for (const { name, data } of copy.trainable) {
      const layer = written.layers.get(name.replace(/\.lora_[AB]\.weight$/, ''))
      if (layer !== undefined) data.set(name.endsWith('.lora_A.weight') ? layer.a : layer.b)
    }
    await copy.refresh()
    const comparison = await compare(source, copy)
    const report: ExportReport = { format: 'peft', folder: target, storedType: 'float32', comparison }
    await writeReport(temporary, report, source)
    await syncFolder(temporary)
    await renamePatiently(temporary, target)
    return report
  } catch (error) {
    await removeQuietly(temporary)
    throw asStorageError(error, folder)
  } finally {
    await base.close()
  }
}

/**
 * Writes the whole model, adapters folded in, in the base's layout and type, with its tokenizer.
 * @param storedType the base's type where left out
 * @throws UserError `bad-input` when `folder` holds files, `storage`, or `engine` when the comparison fails
 */
export async function exportSafetensors(source: ExportSource, folder: string, storedType?: StoredType): Promise<ExportReport> {
  const target = resolve(folder)
  const base = await openModelFolder(source.base)
  try {
    const type = storedType ?? base.config.torchDtype
    await writeModelFolder(target, { config: mergedConfig(source.policy, base.config), tensors: mergedTensors(source.policy, base), storedType: type, rawConfig: base.rawConfig, rawGeneration: base.rawGeneration, tokenizerFrom: source.base })
    try {
      const comparison = await compareWithFolder(source, target)
      const report: ExportReport = { format: 'safetensors', folder: target, storedType: type, comparison }
      await writeReport(target, report, source)
      return report
    } catch (error) {
      // A model that is not the policy must not lie around looking like one.
      await removeQuietly(target)
      throw error
    }
  } finally {
    await base.close()
  }
}

/** An adapted head is no longer the embedding: the merged model keeps both. */
function mergedConfig(policy: PolicyWeights, config: DecoderConfig): DecoderConfig {
  const adaptedHead = policy.adapter.kind === 'lora' && policy.adapter.targets.includes(HEAD)
  return adaptedHead ? { ...config, tieWordEmbeddings: false } : config
}

function mergedTensors(policy: PolicyWeights, base: ModelFolder): (name: string) => Promise<Float32Array> {
  if (policy.adapter.kind === 'lora') {
    const adapter = adapterOf(policy, null)
    if (adapterScale(adapter.config) !== policy.adapter.alpha / policy.adapter.rank) throw new Error('the adapter is scaled in another way than the policy')
    // A tied head is stored as the embedding.
    return mergeAdapter((name) => base.readTensor(name === `${HEAD}.weight` && !base.has(name) ? 'model.embed_tokens.weight' : name), adapter)
  }
  return async (name) => {
    const parameter = policy.parameters.get(name)
    if (parameter === undefined) throw new Error(`the policy has no tensor ${name}`)
    return parameter.data
  }
}

async function compareWithFolder(source: ExportSource, folder: string): Promise<ExportComparison> {
  const written = await openModelFolder(folder)
  try {
    return await compare(source, await createPolicyWeights(source.device, written.config, (name) => written.readTensor(name), { kind: 'full' }, 0))
  } finally {
    await written.close()
  }
}

async function compare({ device, policy, sequences }: ExportSource, written: PolicyWeights): Promise<ExportComparison> {
  const own = (await sequenceLogprobs(device, policy, sequences)).flat()
  const theirs = (await sequenceLogprobs(device, written, sequences)).flat()
  const differences = own.flatMap((value, index) => (value === null ? [] : [Math.abs(value - (theirs[index] as number))]))
  return {
    sequences: sequences.length,
    tokens: differences.length,
    largestDifference: differences.reduce((most, value) => Math.max(most, value), 0),
    meanDifference: differences.reduce((sum, value) => sum + value, 0) / Math.max(1, differences.length),
  }
}

function wrong(folder: string, { largestDifference }: ExportComparison): UserError {
  return new UserError({
    code: 'engine',
    what: `the written model is not the policy: log-probabilities differ by up to ${largestDifference.toExponential(2)}`,
    place: { file: folder },
    expected: `at most ${exactTolerance}`,
    remedy: 'The files were removed. Export again, to another disk if it happens twice.',
  })
}

async function writeReport(folder: string, { format, storedType, comparison }: ExportReport, { origin }: ExportSource): Promise<void> {
  if (!Number.isFinite(comparison.largestDifference) || (storedType === 'float32' && comparison.largestDifference > exactTolerance)) throw wrong(folder, comparison)
  const text = `${JSON.stringify({ format, storedType, origin, comparison }, null, 2)}\n`
  await writeFileAtomically(join(folder, 'export.json'), async (handle) => writeFully(handle, Buffer.from(text, 'utf8')))
}

async function refuseOccupied(folder: string): Promise<void> {
  if (!existsSync(folder)) return
  if ((await readdir(folder)).length > 0) throw new UserError({ code: 'bad-input', what: 'the folder already holds files', place: { file: folder }, expected: 'a new or empty folder', remedy: 'Choose another folder.' })
  // A rename onto an empty folder fails on some systems.
  await rmdir(folder)
}
