// A trained policy as files others can load, and the proof that they hold the same policy: the files are opened as a stranger would open
// them, asked the same fixed texts as the policy, and compared with what it answered.
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { UserError } from '../../contract/errors.ts'
import type { Device } from '../runtime/ort.ts'
import { adapterOf } from '../training/checkpoint.ts'
import { adapterScale, mergeAdapter, readAdapter, writeAdapter } from './adapter.ts'
import { writeFileAtomically, writeFully } from './atomic-file.ts'
import type { DecoderConfig, StoredType } from './config.ts'
import { askPolicy, compareAnswers } from './export-comparison.ts'
import type { Answers, ExportComparison, FixedTexts } from './export-comparison.ts'
import { copySideFiles, writeMergedModel } from './export-merged.ts'
import { checkTarget, fillFolder } from './export-target.ts'
import { openModelFolder } from './model-folder.ts'
import type { ModelFolder } from './model-folder.ts'
import type { MatrixType } from './onnx-export/decoder-graph.ts'
import { askOnnxModel } from './onnx-export/model-file.ts'
import { MODEL_FILE, writeOnnxFolder } from './onnx-export/onnx-folder.ts'
import { createPolicyWeights, HEAD } from './policy-weights.ts'
import type { PolicyWeights } from './policy-weights.ts'
import { rotaryRegime, withRotaryRegime } from './rotary.ts'

/** adapter: PEFT's LoRA files. merged: the whole model in its base's layout. onnx: for onnxruntime-genai and transformers.js. */
export type ExportFormat = 'adapter' | 'merged' | 'onnx'

/** How weights are stored; not every format has every type. */
export type ExportType = StoredType | 'int8' | 'int4'

export interface ExportSource {
  readonly device: Device
  readonly policy: PolicyWeights
  /** Folder of the base model, and the run's folder where it has one: nothing is written into them. */
  readonly base: string
  readonly run?: string
  readonly texts: FixedTexts
  /** Kept in export.json: which run, which step. */
  readonly origin: Readonly<Record<string, string | number>>
}

export interface ExportRequest {
  readonly format: ExportFormat
  /** A new or empty folder. */
  readonly folder: string
  /** How weights are stored; as in the base where left out. An adapter is float32. */
  readonly storedType?: ExportType
  /** Ends the export between two tensors; what was written is removed. */
  readonly signal?: AbortSignal
  readonly onProgress?: (phase: ExportPhase, done: number, total: number) => void
}

/** ask: the policy answers the fixed texts. write: tensors. check: the written files answer them. */
export type ExportPhase = 'ask' | 'write' | 'check'

export interface ExportReport {
  readonly format: ExportFormat
  readonly folder: string
  readonly storedType: ExportType
  readonly comparison: ExportComparison
  /** Sentences for whoever uses the files. */
  readonly notes: readonly string[]
}

/**
 * Mean absolute difference of log-probabilities, in nats, that rounding explains. float32 files hold the policy itself, to the last bits
 * of sums; ten times as much means that the files are not the policy.
 */
export const expectedDifference: Readonly<Record<ExportType, number>> = { float32: 1e-4, float16: 5e-3, bfloat16: 4e-2, int8: 4e-2, int4: 0.4 }

/** Types each format can store. */
export const exportTypes: Readonly<Record<ExportFormat, readonly ExportType[]>> = {
  adapter: ['float32'],
  merged: ['float32', 'float16', 'bfloat16'],
  onnx: ['float32', 'float16', 'int8', 'int4'],
}

/** A written model, opened: how it answers. */
interface Written {
  readonly storedType: ExportType
  readonly notes: readonly string[]
  readonly ask: (folder: string) => Promise<Answers>
}

/**
 * Writes a policy and compares the written files with it. The folder is either absent or whole and compared.
 * @throws UserError `usage` for an adapter of a policy trained in full, `bad-input` for a folder that cannot be taken, `storage`, `stopped`,
 * or `engine` when the files are not the policy
 */
export async function exportPolicy(source: ExportSource, request: ExportRequest): Promise<ExportReport> {
  const { format, folder } = request
  if (format === 'adapter' && source.policy.adapter.kind !== 'lora') {
    throw new UserError({ code: 'usage', what: 'this run trained all weights, so there is no adapter to export', remedy: 'Use --format merged.' })
  }
  checkType(request)
  await checkTarget(folder, source)
  const base = await openModelFolder(source.base)
  try {
    return await fillFolder(folder, async (temporary) => {
      const own = await askPolicy(source.device, source.policy, source.texts, progressOf(request, 'ask'))
      checkSignal(request)
      const written = await writers[format](temporary, source, base, request)
      checkSignal(request)
      const comparison = compareAnswers(source.texts, own, await written.ask(temporary))
      checkSignal(request)
      const report: ExportReport = { format, folder: resolve(folder), storedType: written.storedType, comparison, notes: [...written.notes, ...(format === 'onnx' ? [] : regimeNotes(source))] }
      refuseStranger(report)
      await writeReport(temporary, report, source)
      return report
    })
  } finally {
    await base.close()
  }
}

const writers: Readonly<Record<ExportFormat, (folder: string, source: ExportSource, base: ModelFolder, request: ExportRequest) => Promise<Written>>> = { adapter: writePeft, merged: writeMerged, onnx: writeOnnx }

function checkType({ format, storedType }: ExportRequest): void {
  if (storedType === undefined || exportTypes[format].includes(storedType)) return
  throw new UserError({ code: 'usage', what: `the format ${format} cannot store ${storedType}`, place: { field: '--type' }, expected: `one of ${exportTypes[format].join(', ')}`, remedy: 'Choose one of them, or leave it out.' })
}

/** Calls `onProgress` for a phase, and ends the export where that was asked for. */
function progressOf(request: ExportRequest, phase: ExportPhase): (done: number, total: number) => void {
  return (done, total) => {
    checkSignal(request)
    request.onProgress?.(phase, done, total)
  }
}

function checkSignal({ signal, folder }: ExportRequest): void {
  if (signal?.aborted === true) throw new UserError({ code: 'stopped', what: 'the export was stopped; what had been written is removed', place: { file: folder } })
}

async function writePeft(folder: string, source: ExportSource, base: ModelFolder): Promise<Written> {
  const { policy } = source
  const baseHash = await base.hash()
  await writeAdapter(folder, adapterOf(policy, resolve(source.base)), base.config, { baseHash })
  const ask = async (): Promise<Answers> => {
    const adapter = await readAdapter(folder, base.config, baseHash)
    const copy = await createPolicyWeights(source.device, sameRegime(base.config, source), (name) => base.readTensor(name), policy.adapter, 0)
    for (const { name, data } of copy.trainable) {
      const layer = adapter.layers.get(name.replace(/\.lora_[AB]\.weight$/, ''))
      if (layer !== undefined) data.set(name.endsWith('.lora_A.weight') ? layer.a : layer.b)
    }
    await copy.refresh()
    return askPolicy(source.device, copy, source.texts)
  }
  return { storedType: 'float32', notes: [], ask }
}

async function writeMerged(folder: string, source: ExportSource, base: ModelFolder, request: ExportRequest): Promise<Written> {
  const storedType = request.storedType as StoredType | undefined
  const notes = await writeMergedModel(folder, { base, ...mergedTensors(source.policy, base, progressOf(request, 'write')), ...(storedType === undefined ? {} : { storedType }) })
  const ask = async (): Promise<Answers> => {
    const written = await openModelFolder(folder)
    try {
      const policy = await createPolicyWeights(source.device, sameRegime(written.config, source), (name) => written.readTensor(name), { kind: 'full' }, 0)
      return await askPolicy(source.device, policy, source.texts, progressOf(request, 'check'))
    } finally {
      await written.close()
    }
  }
  return { storedType: storedType ?? base.config.torchDtype, notes, ask }
}

async function writeOnnx(folder: string, source: ExportSource, base: ModelFolder, request: ExportRequest): Promise<Written> {
  // bfloat16 weights fit float16 as they are, but for numbers that hardly occur.
  const type = (request.storedType ?? (base.config.torchDtype === 'float32' ? 'float32' : 'float16')) as MatrixType
  await mkdir(folder, { recursive: true })
  await copySideFiles(base.folder, folder)
  const { config, readTensor } = mergedTensors(source.policy, base, progressOf(request, 'write'))
  await writeOnnxFolder(folder, { config: sameRegime(config, source), rawConfig: base.rawConfig, readTensor, type, longest: source.texts.longest })
  return { storedType: type, notes: [], ask: () => askOnnxModel(source.device, join(folder, MODEL_FILE), source.texts, progressOf(request, 'check')) }
}

/** The written model in the run's rotary regime: whether the weights are the same is what is asked, not how others choose the factors. */
function sameRegime(config: DecoderConfig, { policy, texts }: ExportSource): DecoderConfig {
  return withRotaryRegime(config, rotaryRegime(policy.config, texts.longest))
}

/** The policy's tensors by the base's names, adapters folded in, and the configuration they need. */
export function mergedTensors(policy: PolicyWeights, base: ModelFolder, onTensor: (done: number, total: number) => void): { readonly config: DecoderConfig; readonly readTensor: (name: string) => Promise<Float32Array> } {
  const { adapter } = policy
  // An adapted head is no longer the embedding: the merged model keeps both.
  const config = adapter.kind === 'lora' && adapter.targets.includes(HEAD) ? { ...base.config, tieWordEmbeddings: false } : base.config
  const read = adapter.kind === 'lora' ? adaptedTensors(policy, base) : (name: string) => Promise.resolve(parameterOf(policy, name))
  let done = 0
  return {
    config,
    readTensor: async (name) => {
      onTensor(done, base.names.length)
      const tensor = await read(name)
      done += 1
      onTensor(done, Math.max(done, base.names.length))
      return tensor
    },
  }
}

function adaptedTensors(policy: PolicyWeights, base: ModelFolder): (name: string) => Promise<Float32Array> {
  const adapter = adapterOf(policy, null)
  if (policy.adapter.kind !== 'lora' || adapterScale(adapter.config) !== policy.adapter.alpha / policy.adapter.rank) throw new Error('the adapter is scaled in another way than the policy')
  // A tied head is stored as the embedding.
  return mergeAdapter((name) => base.readTensor(name === `${HEAD}.weight` && !base.has(name) ? 'model.embed_tokens.weight' : name), adapter)
}

function parameterOf(policy: PolicyWeights, name: string): Float32Array {
  const parameter = policy.parameters.get(name)
  if (parameter === undefined) throw new Error(`the policy has no tensor ${name}`)
  return parameter.data
}

/** Files that are not the policy must not lie around looking like it. */
function refuseStranger({ folder, storedType, comparison: { largestDifference, meanDifference } }: ExportReport): void {
  const limit = 10 * expectedDifference[storedType]
  if (Number.isFinite(largestDifference) && meanDifference <= limit) return
  throw new UserError({
    code: 'engine',
    what: `the written model is not the policy: log-probabilities differ by ${meanDifference.toExponential(2)} on average and by up to ${largestDifference.toExponential(2)}`,
    place: { file: folder },
    expected: `about ${expectedDifference[storedType]} on average for ${storedType}, at most ${limit}`,
    remedy: 'The files were removed. Export again, to another disk if it happens twice.',
  })
}

/** Other programs choose LongRoPE's factors by the length of each text, a run by its longest one. */
function regimeNotes({ policy: { config }, texts }: ExportSource): string[] {
  if (config.ropeScaling === null || rotaryRegime(config, texts.longest) === 'short') return []
  const { originalPositions } = config.ropeScaling
  return [`the run's texts reach ${texts.longest} tokens, so it was trained with the long rotary factors throughout; programs that choose them by length use the short ones up to ${originalPositions} tokens and answer differently there`]
}

async function writeReport(folder: string, { format, storedType, comparison, notes }: ExportReport, { origin }: ExportSource): Promise<void> {
  const file = join(folder, 'export.json')
  if (existsSync(file)) throw new Error(`${file} is there already`)
  const text = `${JSON.stringify({ format, storedType, origin, comparison, expectedMeanDifference: expectedDifference[storedType], notes }, null, 2)}\n`
  await writeFileAtomically(file, async (handle) => writeFully(handle, Buffer.from(text, 'utf8')))
}
