// models, data, report.
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { createChatTemplate, encodePromptRow } from '../engine/models/chat-template.ts'
import { openModelFolder } from '../engine/models/model-folder.ts'
import { inspectPromptFile } from '../engine/training/prompts.ts'
import type { NumberedPromptRow } from '../engine/training/prompts.ts'
import { writeReport } from '../engine/training/report.ts'
import { addDownloadCommand } from './cli-download.ts'
import { addLibraryCommands } from './cli-library.ts'
import type { CommandResult } from './cli-output.ts'
import { addPlanCommand } from './cli-plan.ts'
import type { Answer } from './cli-train.ts'

/** Registers the commands. */
export function addModelCommands(program: Command, answer: Answer): void {
  const models = program.command('models').description('the models on this machine')
  addLibraryCommands(models, answer)
  addDownloadCommand(models, answer)
  addPlanCommand(models, answer)

  const data = program.command('data').description('prompt files')
  const inspect = data.command('inspect').description('read a prompt file and say what is in it and what is wrong with it').argument('<file>', 'JSONL file').option('--model <dir>', 'also count the tokens of each prompt')
  answer(inspect, (file: string, options: { model?: string }) => inspectData(file, options))

  const report = program.command('report').description('write one page about one or several runs').argument('<run...>', 'run folders').requiredOption('--out <file>', 'HTML file')
  answer(report, async (runs: string[], options: { out: string }) => {
    await writeReport(runs, options.out)
    return { json: { report: resolve(options.out), runs: runs.map((run) => resolve(run)) }, text: resolve(options.out) }
  })
}

async function inspectData(file: string, options: { model?: string }): Promise<CommandResult> {
  const { rows, problems } = await inspectPromptFile(file)
  const count = (test: (row: NumberedPromptRow) => boolean): number => rows.filter(test).length
  const lengths = (values: readonly number[]) => {
    const sorted = values.toSorted((a, b) => a - b)
    return { least: sorted[0] ?? 0, median: sorted[Math.floor(sorted.length / 2)] ?? 0, most: sorted.at(-1) ?? 0 }
  }
  const json = {
    file: resolve(file),
    rows: rows.length,
    badRows: problems.length,
    problems,
    split: { train: count(({ split }) => split === 'train'), heldout: count(({ split }) => split === 'heldout'), free: count(({ split }) => split === undefined) },
    withRequirements: count(({ requirements }) => requirements !== undefined && requirements.length > 0),
    withReference: count(({ reference }) => reference !== undefined),
    promptCharacters: lengths(rows.map(({ prompt }) => prompt.length)),
    ...(options.model === undefined ? {} : { promptTokens: lengths(await promptTokens(options.model, rows)) }),
  }
  const span = ({ least, median, most }: { least: number; median: number; most: number }): string => `${least} to ${most}, median ${median}`
  const lines = [
    `${json.rows} prompts: ${json.split.train} to train on, ${json.split.heldout} held out, ${json.split.free} left to the run's own split`,
    `${json.withRequirements} with requirements, ${json.withReference} with a reference`,
    `characters a prompt: ${span(json.promptCharacters)}`,
    ...(json.promptTokens === undefined ? [] : [`tokens a prompt, template included: ${span(json.promptTokens)}`]),
    ...(problems.length === 0 ? [] : [`${problems.length} bad rows:`, ...problems.map(({ row, field, what }) => `  row ${row}${field === undefined ? '' : `, ${field}`}: ${what}`)]),
  ]
  return { json, text: lines.join('\n'), exitCode: problems.length === 0 ? 0 : 3 }
}

async function promptTokens(model: string, rows: readonly NumberedPromptRow[]): Promise<number[]> {
  const folder = await openModelFolder(model)
  try {
    const tokenizer = await folder.tokenizer()
    const template = folder.chatTemplate === null ? null : createChatTemplate(folder.chatTemplate, tokenizer)
    return rows.map((row) => encodePromptRow(tokenizer, template, row).length)
  } finally {
    await folder.close()
  }
}
