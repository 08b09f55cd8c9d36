// A trained policy as files others can load, and the proof that they hold the same policy: the files are opened as a stranger would open
// them, asked the same fixed texts as the policy, and compared with what it answered.
import { join, resolve } from 'node:path'
import { UserError } from '../../contract/errors.ts'
import type { Device } from '../runtime/ort.ts'
import { writeFileAtomically, writeFully } from './atomic-file.ts'
import type { StoredType } from './config.ts'
import { askPolicy, compareAnswers } from './export-comparison.ts'
import type { ExportComparison, FixedTexts } from './export-comparison.ts'
import { checkTarget, fillFolder } from './export-target.ts'
import { expectedBytes, exportTypes, isLarge, writers } from './export-writers.ts'
import { openModelFolder } from './model-folder.ts'
import type { PolicyWeights } from './policy-weights.ts'
import { rotaryRegime } from './rotary.ts'

/**
 * adapter: PEFT's LoRA files. merged: the whole model in its base's layout. gguf: one file for llama.cpp. onnx: for onnxruntime-genai and
 * transformers.js.
 */
export type ExportFormat = 'adapter' | 'merged' | 'gguf' | 'onnx'

/** How weights are stored; not every format has every type. */
export type ExportType = StoredType | 'q8_0' | 'int8' | 'int4'

export interface ExportSource {
  readonly device: Device
  readonly policy: PolicyWeights
  /** What other programs shall call it: letters, digits, dots, dashes and underscores. */
  readonly name: string
  /** Folder or file of the base model, and the run's folder where it has one: nothing is written into them. */
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
  /** How weights are stored; near the base where left out. An adapter is float32. */
  readonly storedType?: ExportType
  /** Read weights a layer at a time when the written files are checked; where left out, for large models. */
  readonly lean?: boolean
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
  /** Mean absolute difference of log-probabilities, in nats, that the stored type explains. */
  readonly expectedMeanDifference: number
  /** Sentences for whoever uses the files. */
  readonly notes: readonly string[]
}

/**
 * Mean absolute difference of log-probabilities, in nats, that rounding explains in a trained model. float32 files hold the policy itself,
 * to the last bits of sums.
 */
export const expectedDifference: Readonly<Record<ExportType, number>> = { float32: 1e-4, float16: 5e-3, bfloat16: 4e-2, q8_0: 6e-2, int8: 6e-2, int4: 0.8 }

/** Runs over a base in fewer bits have learned to live with its rounding, which files made from the stored base do not have. */
const frozenDifference: Readonly<Record<string, number>> = { int8: expectedDifference.int8, int4: expectedDifference.int4 }

/**
 * Writes a policy and compares the written files with it. The folder is either absent or whole and compared.
 * @throws UserError `usage` for an adapter of a policy trained in full or a type the format does not have, `bad-input` for a folder that
 * cannot be taken or a model the format cannot hold, `storage`, `stopped`, or `engine` when the files are not the policy
 */
export async function exportPolicy(source: ExportSource, request: ExportRequest): Promise<ExportReport> {
  const { format, folder } = request
  checkRequest(source, request)
  const base = await openModelFolder(source.base)
  try {
    await checkTarget(folder, source, expectedBytes(source, base, request))
    return await fillFolder(folder, async (temporary) => {
      const own = await askPolicy(source.device, source.policy, source.texts, progressOf(request, 'ask'))
      checkSignal(request)
      const written = await writers[format](temporary, { source, base, storedType: request.storedType, lean: request.lean ?? isLarge(base.config), onTensor: progressOf(request, 'write'), onChecked: progressOf(request, 'check') })
      checkSignal(request)
      const comparison = compareAnswers(source.texts, own, await written.ask())
      checkSignal(request)
      const expectedMeanDifference = Math.max(expectedDifference[written.storedType], frozenDifference[source.policy.frozenLayers?.precision ?? ''] ?? 0)
      const more = comparison.meanDifference > expectedMeanDifference ? ['the files differ from the run by more than their rounding usually explains: look at their answers before you rely on them'] : []
      const report: ExportReport = {
        format,
        folder: resolve(folder),
        storedType: written.storedType,
        comparison,
        expectedMeanDifference,
        notes: [...written.notes, ...notesOf(source, format), ...more],
      }
      refuseStranger(report)
      await writeReport(temporary, report, source)
      return report
    })
  } finally {
    await base.close()
  }
}

function checkRequest({ policy }: ExportSource, { format, storedType }: ExportRequest): void {
  if (format === 'adapter' && policy.adapter.kind !== 'lora') {
    throw new UserError({ code: 'usage', what: 'this run trained all weights, so there is no adapter to export', remedy: 'Use --format merged.' })
  }
  const types: readonly ExportType[] = exportTypes[format]
  if (storedType === undefined || types.includes(storedType)) return
  throw new UserError({ code: 'usage', what: `the format ${format} cannot store ${storedType}`, place: { field: '--type' }, expected: `one of ${types.join(', ')}`, remedy: 'Choose one of them, or leave it out.' })
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

/** Files that are not the policy must not lie around looking like it. */
function refuseStranger({ folder, storedType, expectedMeanDifference, comparison: { largestDifference, meanDifference } }: ExportReport): void {
  // A model that amplifies every rounding is no reason to withhold its files; another model's weights differ by several nats.
  const limit = expectedMeanDifference <= expectedDifference.float32 ? 10 * expectedMeanDifference : Math.max(1, 10 * expectedMeanDifference)
  if (Number.isFinite(largestDifference) && meanDifference <= limit) return
  throw new UserError({
    code: 'engine',
    what: `the written model is not the policy: log-probabilities differ by ${meanDifference.toExponential(2)} on average and by up to ${largestDifference.toExponential(2)}`,
    place: { file: folder },
    expected: `about ${expectedMeanDifference} on average for ${storedType}, at most ${limit}`,
    remedy: 'The files were removed. Export again, to another disk if it happens twice.',
  })
}

/** What the comparison cannot show. */
function notesOf({ policy: { config, frozenLayers }, texts }: ExportSource, format: ExportFormat): string[] {
  const notes: string[] = []
  // Other programs choose LongRoPE's factors by the length of each text, a run by its longest one. ONNX files carry the run's.
  if (format !== 'onnx' && config.ropeScaling !== null && rotaryRegime(config, texts.longest) === 'long') {
    notes.push(`the run was trained with the long rotary factors throughout; programs that choose them by length use the short ones up to ${config.ropeScaling.originalPositions} tokens and answer differently there`)
  }
  if (frozenLayers?.precision === 'int4' || frozenLayers?.precision === 'int8') {
    notes.push(`the run kept its base in ${frozenLayers.precision}; the files are made from the base as it is stored, so that they differ from the run by its rounding`)
  }
  return notes
}

async function writeReport(folder: string, { format, storedType, comparison, expectedMeanDifference, notes }: ExportReport, { origin }: ExportSource): Promise<void> {
  const text = `${JSON.stringify({ format, storedType, origin, comparison, expectedMeanDifference, notes }, null, 2)}\n`
  await writeFileAtomically(join(folder, 'export.json'), async (handle) => writeFully(handle, Buffer.from(text, 'utf8')))
}
