// Exports of a run: its newest checkpoint as files others load, compared with the run's own policy, and noted in the run's folder.
import { existsSync } from 'node:fs'
import { appendFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { UserError } from '../contract/errors.ts'
import type { RunConfig, WeightsConfig } from '../contract/run-config.ts'
import { asStorageError } from '../engine/models/atomic-file.ts'
import { exportPolicy } from '../engine/models/export.ts'
import type { ExportReport, ExportRequest } from '../engine/models/export.ts'
import type { FixedTexts } from '../engine/models/export-comparison.ts'
import { EXPORT_FOLDER } from '../engine/models/export-target.ts'
import { isLarge } from '../engine/models/export-writers.ts'
import { openModelFolder } from '../engine/models/model-folder.ts'
import { longestSequence, readPromptFile } from '../engine/training/prompts.ts'
import { readRollouts, readRunDescription } from '../engine/training/run-folder-reading.ts'
import type { RunDescription } from '../engine/training/run-folder-reading.ts'
import type { ModelSession } from '../engine/training/session.ts'
import { openModel } from './open-model.ts'

export interface ExportOptions extends Omit<ExportRequest, 'folder'> {
  /** `export/<format>` in the run folder where left out. */
  readonly folder?: string
  /** Folder of the base model, where it has moved. */
  readonly base?: string
}

/** Prompts the comparison runs, and tokens it continues them by: enough to see a wrong layer, few enough to take seconds. */
const comparedPrompts = 8
const comparedTokens = 16

/**
 * Exports a run.
 * @throws UserError when the run cannot be opened, the folder cannot be taken, or the written files are not the same policy
 */
export async function exportRun(directory: string, options: ExportOptions): Promise<ExportReport> {
  const description = await readRunDescription(directory)
  const { config } = description
  const weights = await leanWeights(config, options.base ?? config.model)
  const { session, step } = await openModel(directory, { device: 'cpu', weights, ...(options.base === undefined ? {} : { base: options.base }) })
  try {
    refuseOtherBase(session, description)
    const { format, folder = join(directory, EXPORT_FOLDER, format) } = options
    const source = {
      device: session.device,
      policy: session.policy,
      name: description.config.name,
      base: session.config.model,
      run: directory,
      texts: await fixedTexts(directory, description, session),
      origin: { run: resolve(directory), step: step ?? 0, baseHash: session.modelHash },
    }
    const report = await exportPolicy(source, { ...options, folder })
    await noteExport(directory, report, step ?? 0)
    return report
  } finally {
    await session.close()
  }
}

/**
 * A large base that was trained over in float32 is read a layer at a time: it gives the same numbers, and leaves memory for the check of
 * what was written. A base in blocks has numbers of its own.
 */
async function leanWeights({ adapter, weights }: RunConfig, base: string): Promise<WeightsConfig> {
  const exact = weights.precision === 'fp32' || weights.precision === 'stored'
  if (adapter.kind === 'full' || !exact || !existsSync(base)) return weights
  const folder = await openModelFolder(base)
  try {
    return isLarge(folder.config) ? { precision: 'stored', streamLayers: true } : weights
  } finally {
    await folder.close()
  }
}

/** Adapters and weights of a run mean nothing over another base. */
function refuseOtherBase({ config, modelHash }: ModelSession, { hashes }: RunDescription): void {
  if (modelHash === hashes.model) return
  throw new UserError({
    code: 'bad-input',
    what: 'the base model is not the one this run was trained from',
    place: { file: config.model },
    expected: `weights with hash ${hashes.model.slice(0, 12)}..., these have ${modelHash.slice(0, 12)}...`,
    remedy: 'Put the right files back, or name the folder that holds them with --base.',
  })
}

/** The first prompts with their references; where the prompt file has gone, the newest rollouts. */
async function fixedTexts(directory: string, { config, lengths }: RunDescription, { encodePrompt, tokenizer, contextTokens }: ModelSession): Promise<FixedTexts> {
  const rows = existsSync(config.data.prompts)
    ? (await readPromptFile(config.data.prompts)).map((row) => ({ prompt: encodePrompt(row), answer: tokenizer.encode(row.reference ?? '') }))
    : (await readRollouts(directory)).values.map(({ prompt, promptId, ids }) => ({ prompt: encodePrompt({ id: promptId, prompt }), answer: ids }))
  const longest = lengths?.longest ?? Math.min(contextTokens, longestSequence(rows.map(({ prompt }) => prompt), config.rollout.maxNewTokens))
  const newTokens = Math.min(comparedTokens, config.rollout.maxNewTokens)
  // The prompt file may have changed since.
  const compared = rows.filter(({ prompt }) => prompt.length + newTokens <= longest).slice(0, comparedPrompts)
  if (compared.length === 0) {
    throw new UserError({
      code: 'not-found',
      what: 'neither its prompt file nor rollouts of this run are there, so nothing can show that the files are its policy',
      place: { file: config.data.prompts, field: 'data.prompts' },
      remedy: 'Put the prompt file back.',
    })
  }
  return { sequences: compared.map(({ prompt, answer }) => [...prompt, ...answer].slice(0, longest)), prompts: compared.map(({ prompt }) => prompt), newTokens, longest }
}

/** A row in the run's exports.jsonl: what was written where, and how well it agrees. */
async function noteExport(directory: string, { format, folder, storedType, comparison }: ExportReport, step: number): Promise<void> {
  const file = join(directory, 'exports.jsonl')
  try {
    await appendFile(file, `${JSON.stringify({ time: new Date().toISOString(), step, format, folder, storedType, comparison })}\n`)
  } catch (error) {
    throw asStorageError(error, file)
  }
}
