// The longest prompt of a run, counted before the run.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { chatConfigSchema } from '../../../src-main/contract/chat-config.ts'
import { runConfigSchema } from '../../../src-main/contract/run-config.ts'
import { openModelFolder, type ModelFolder } from '../../../src-main/engine/models/model-folder.ts'
import { createPromptEncoder } from '../../../src-main/engine/models/prompt-encoder.ts'
import { resourcePath } from '../../../src-main/engine/runtime/paths.ts'
import { longestPromptTokens } from '../../../src-main/engine/training/prompt-lengths.ts'

let folder: string
let model: ModelFolder
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'satchel-lengths-'))
  model = await openModelFolder(resourcePath('demo', 'model'))
})
afterAll(async () => {
  await model.close()
  rmSync(folder, { recursive: true, force: true })
})

const longest = (rows: readonly object[], chat: object = {}): Promise<number> => {
  const prompts = join(folder, 'prompts.jsonl')
  writeFileSync(prompts, rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
  return longestPromptTokens(model, runConfigSchema.parse({ model: 'm', data: { prompts }, chat }))
}

it('is the one with the most tokens, which need not be the one with the most letters', async () => {
  const rows = [{ prompt: 'button button button button' }, { prompt: 'q#x~z^w|k' }, { prompt: 'a' }]
  const encode = createPromptEncoder(await model.tokenizer(), model.chatTemplate, chatConfigSchema.parse({}))
  const counts = rows.map((row) => encode(row).length)
  expect(counts[1]).toBeGreaterThan(counts[0]!)
  expect(await longest(rows)).toBe(counts[1])
})

it('is found among more rows than one turn looks at', async () => {
  const rows = Array.from({ length: 350 }, (_, at) => ({ prompt: 'a button '.repeat(1 + (at % 7)) }))
  expect(await longest(rows)).toBe(await longest([{ prompt: 'a button '.repeat(7) }]))
})

it('counts the system text of the configuration', async () => {
  expect(await longest([{ prompt: 'a' }], { system: 'You write small pages.' })).toBeGreaterThan(await longest([{ prompt: 'a' }]))
})

it('refuses prompts that cannot be read, naming the row', async () => {
  await expect(longest([{ prompt: 'a' }, { prompt: '' }])).rejects.toThrow(/prompts\.jsonl, row 2/)
})
