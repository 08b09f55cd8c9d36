// models, data, export, report.
import { existsSync } from 'node:fs'
import { cp, mkdir, readdir, rename, stat } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import type { Command } from 'commander'
import { Option } from 'commander'
import { UserError } from '../contract/errors.ts'
import { asStorageError, removeQuietly, temporaryNeighbour } from '../engine/models/atomic-file.ts'
import { createChatTemplate, encodePromptRow } from '../engine/models/chat-template.ts'
import type { ExportFormat } from '../engine/models/export.ts'
import type { StoredType } from '../engine/models/config.ts'
import { openModelFolder } from '../engine/models/model-folder.ts'
import { parameterCount } from '../engine/models/weights.ts'
import { resourcePath } from '../engine/runtime/paths.ts'
import { inspectPromptFile } from '../engine/training/prompts.ts'
import type { NumberedPromptRow } from '../engine/training/prompts.ts'
import { writeReport } from '../engine/training/report.ts'
import { bytes, table } from './cli-output.ts'
import type { CommandResult } from './cli-output.ts'
import type { Answer } from './cli-train.ts'
import { exportRun } from './export-run.ts'

/** Where imported models lie: SATCHEL_MODELS, otherwise `models` in the current folder. */
function modelsFolder(option: string | undefined): string {
  return option ?? process.env['SATCHEL_MODELS'] ?? 'models'
}

/** Registers the commands. */
export function addModelCommands(program: Command, answer: Answer): void {
  const models = program.command('models').description('the models on this machine')
  const importing = models
    .command('import')
    .description('check a Hugging Face folder and copy it to the models of this machine')
    .argument('<folder>', 'folder with config.json, safetensors and tokenizer.json')
    .option('--name <name>', 'name it gets; the folder\'s own where left out')
    .option('--models <dir>', 'folder that holds models (SATCHEL_MODELS, otherwise ./models)')
  answer(importing, (folder: string, options: { name?: string; models?: string }) => importModel(folder, options))
  const listing = models.command('list').description('the models of this machine and the built-in one').option('--models <dir>', 'folder that holds models (SATCHEL_MODELS, otherwise ./models)')
  answer(listing, (options: { models?: string }) => listModels(options))

  const data = program.command('data').description('prompt files')
  const inspect = data.command('inspect').description('read a prompt file and say what is in it and what is wrong with it').argument('<file>', 'JSONL file').option('--model <dir>', 'also count the tokens of each prompt')
  answer(inspect, (file: string, options: { model?: string }) => inspectData(file, options))

  const exporting = program
    .command('export')
    .description('write a run\'s policy as files others load, and compare them with the run')
    .argument('<run>', 'run folder')
    .addOption(new Option('--format <format>', 'peft: the adapter alone; safetensors: the whole model').choices(['peft', 'safetensors']).makeOptionMandatory())
    .requiredOption('--out <dir>', 'new folder')
    .addOption(new Option('--type <type>', 'how the whole model is stored; as its base where left out').choices(['float32', 'float16', 'bfloat16']))
    .option('--base <dir>', 'base model, where it has moved')
  answer(exporting, async (run: string, options: { format: ExportFormat; out: string; type?: StoredType; base?: string }) => {
    const report = await exportRun(run, options.format, options.out, { ...(options.base === undefined ? {} : { base: options.base }), ...(options.type === undefined ? {} : { storedType: options.type }) })
    const { comparison } = report
    return { json: report, text: `${report.folder}\n${comparison.tokens} tokens of ${comparison.sequences} prompts compared with the run: log-probabilities differ by at most ${comparison.largestDifference.toExponential(2)}, ${comparison.meanDifference.toExponential(2)} on average (stored as ${report.storedType})` }
  })

  const report = program.command('report').description('write one page about one or several runs').argument('<run...>', 'run folders').requiredOption('--out <file>', 'HTML file')
  answer(report, async (runs: string[], options: { out: string }) => {
    await writeReport(runs, options.out)
    return { json: { report: resolve(options.out), runs: runs.map((run) => resolve(run)) }, text: resolve(options.out) }
  })
}

interface ModelSummary {
  readonly name: string
  readonly folder: string
  readonly family: string
  readonly parameters: number
  readonly storedType: string
  readonly contextTokens: number
  readonly bytes: number
  readonly warnings: readonly string[]
}

/** Opens a folder, which checks configuration, weights and tokenizer, and sums it up. */
async function summarise(folder: string, name: string): Promise<ModelSummary> {
  const model = await openModelFolder(folder)
  try {
    await model.tokenizer()
    const { config } = model
    return { name, folder: resolve(folder), family: config.family, parameters: parameterCount(config), storedType: config.torchDtype, contextTokens: config.maxPositions, bytes: await folderBytes(folder), warnings: model.warnings }
  } finally {
    await model.close()
  }
}

async function folderBytes(folder: string): Promise<number> {
  let sum = 0
  for (const entry of await readdir(folder, { withFileTypes: true })) if (entry.isFile()) sum += (await stat(join(folder, entry.name))).size
  return sum
}

async function importModel(folder: string, options: { name?: string; models?: string }): Promise<CommandResult> {
  const name = options.name ?? basename(resolve(folder))
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name)) throw new UserError({ code: 'usage', what: `"${name}" cannot be the name of a model`, expected: 'letters, digits, dots, dashes and underscores', remedy: 'Choose one with --name.' })
  await summarise(folder, name)
  const target = join(modelsFolder(options.models), name)
  if (existsSync(target)) throw new UserError({ code: 'bad-input', what: 'there is a model of this name already', place: { file: target }, remedy: 'Choose another one with --name, or remove that folder.' })
  const temporary = temporaryNeighbour(target)
  try {
    await mkdir(modelsFolder(options.models), { recursive: true })
    await cp(folder, temporary, { recursive: true, dereference: true, filter: (path) => !/(^|[/\\])(\.git|\.cache|__pycache__)$/.test(path) })
    await rename(temporary, target)
  } catch (error) {
    await removeQuietly(temporary)
    throw asStorageError(error, target)
  }
  const summary = await summarise(target, name)
  return { json: summary, text: `${summary.folder}\n${summary.family}, ${millions(summary.parameters)} parameters, ${summary.storedType}, context of ${summary.contextTokens} tokens, ${bytes(summary.bytes)}${summary.warnings.map((warning) => `\nwarning: ${warning}`).join('')}` }
}

async function listModels(options: { models?: string }): Promise<CommandResult> {
  const folder = modelsFolder(options.models)
  const names = existsSync(folder) ? (await readdir(folder, { withFileTypes: true })).filter((entry) => entry.isDirectory() && !entry.name.startsWith('.')).map(({ name }) => name).toSorted() : []
  const models: ModelSummary[] = []
  const problems: { name: string; problem: string }[] = []
  for (const [name, path] of [['built-in', resourcePath('demo', 'model')] as const, ...names.map((own) => [own, join(folder, own)] as const)]) {
    try {
      models.push(await summarise(path, name))
    } catch (error) {
      if (!(error instanceof UserError)) throw error
      problems.push({ name, problem: error.message })
    }
  }
  const rows = models.map((model) => [model.name, model.family, millions(model.parameters), model.storedType, String(model.contextTokens), bytes(model.bytes)])
  const text = [table([['name', 'family', 'parameters', 'stored as', 'context', 'size'], ...rows]), ...problems.map(({ name, problem }) => `${name}: ${problem}`)].join('\n')
  return { json: { models, problems }, text }
}

function millions(count: number): string {
  return count >= 1e9 ? `${(count / 1e9).toFixed(2)} B` : `${(count / 1e6).toFixed(2)} M`
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
