// Exports of a run: its newest checkpoint as files others load, compared with the run's own policy.
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { exportPeft, exportSafetensors } from '../engine/models/export.ts'
import type { ExportFormat, ExportReport, ExportSource } from '../engine/models/export.ts'
import type { StoredType } from '../engine/models/config.ts'
import { readPromptFile } from '../engine/training/prompts.ts'
import { readRollouts, readRunDescription } from '../engine/training/run-folder-reading.ts'
import type { ModelSession } from '../engine/training/session.ts'
import { openModel } from './open-model.ts'

export interface ExportOptions {
  readonly base?: string
  readonly storedType?: StoredType
}

/** Prompts the comparison runs: enough tokens to see a wrong layer, few enough to take seconds. */
const comparedPrompts = 8

/**
 * Exports a run.
 * @throws UserError when the run cannot be opened, the folder is taken, or the written files are not the same policy
 */
export async function exportRun(directory: string, format: ExportFormat, folder: string, options: ExportOptions): Promise<ExportReport> {
  const { session, step } = await openModel(directory, { device: 'cpu', ...(options.base === undefined ? {} : { base: options.base }) })
  try {
    const source: ExportSource = {
      device: session.device,
      policy: session.policy,
      base: session.config.model,
      sequences: await comparedSequences(directory, session),
      origin: { run: resolve(directory), step: step ?? 0, baseHash: session.modelHash },
    }
    return format === 'peft' ? await exportPeft(source, folder) : await exportSafetensors(source, folder, options.storedType)
  } finally {
    await session.close()
  }
}

/** The first prompts with their references; where the prompt file has gone, the newest rollouts. */
async function comparedSequences(directory: string, { encodePrompt, tokenizer, contextTokens }: ModelSession): Promise<number[][]> {
  const { config } = await readRunDescription(directory)
  if (existsSync(config.data.prompts)) {
    const rows = (await readPromptFile(config.data.prompts)).slice(0, comparedPrompts)
    return rows.map((row) => [...encodePrompt(row), ...tokenizer.encode(row.reference ?? '')].slice(0, contextTokens))
  }
  const { values } = await readRollouts(directory)
  return values.slice(0, comparedPrompts).map(({ prompt, promptId, ids }) => [...encodePrompt({ id: promptId, prompt }), ...ids].slice(0, contextTokens))
}
