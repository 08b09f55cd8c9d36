// How long the prompts of a run are, for plans that are made before the run: the same rows, put to the model the same way.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { RunConfig } from '../../contract/run-config.ts'
import type { ModelFolder } from '../models/model-folder.ts'
import { createPromptEncoder } from '../models/prompt-encoder.ts'
import { readPromptFile } from './prompts.ts'

/** Prompts a plan reckons with where none are known. */
export const assumedPromptTokens = 256

/** The largest rows hold the longest prompt; of a dataset with more rows than this, the smaller ones are not encoded. */
const mostEncoded = 5_000
/** Rows between two turns of other work. */
const rowsATurn = 100

/**
 * Tokens of the longest prompt of a run, chat template and system text included.
 * @param model an open model folder, for its tokenizer and template
 * @throws UserError when the prompts cannot be read, or not be put to this model as `chat` wants it
 */
export async function longestPromptTokens(model: ModelFolder, { chat, data }: Pick<RunConfig, 'chat' | 'data'>): Promise<number> {
  const rows = await readPromptFile(data.prompts)
  const encode = createPromptEncoder(await model.tokenizer(), model.chatTemplate, chat)
  const bySize = rows.map((row) => ({ row, bytes: Buffer.byteLength(row.prompt) + Buffer.byteLength(row.system ?? '') })).sort((a, b) => b.bytes - a.bytes)
  let most = 0
  for (const [at, { row }] of bySize.slice(0, mostEncoded).entries()) {
    if (at % rowsATurn === rowsATurn - 1) await nextTurn()
    most = Math.max(most, encode(row).length)
  }
  return most
}
