// export: a run's policy as files other programs load.
import type { Command } from 'commander'
import { Option } from 'commander'
import type { ExportFormat, ExportPhase, ExportReport, ExportType } from '../engine/models/export.ts'
import { exportTypes } from '../engine/models/export-writers.ts'
import { withBase } from './cli-options.ts'
import type { CommandResult } from './cli-output.ts'
import type { Answer } from './cli-train.ts'
import { abortOnInterrupt } from './command-queue.ts'
import { exportRun } from './export-run.ts'

/** What --format takes: our words, and those of the libraries that read the files. */
const formats: Readonly<Record<string, ExportFormat>> = { adapter: 'adapter', peft: 'adapter', merged: 'merged', safetensors: 'merged', gguf: 'gguf', onnx: 'onnx' }

/** What --type takes: the names of all formats, and the short ones of some programs. */
const types: Readonly<Record<string, ExportType>> = { ...Object.fromEntries(Object.values(exportTypes).flat().map((type) => [type, type])), f32: 'float32', f16: 'float16', bf16: 'bfloat16' }

interface CommandOptions {
  readonly format: string
  readonly to?: string
  readonly out?: string
  readonly type?: string
  readonly base?: string
}

/** Registers the command. */
export function addExportCommand(program: Command, answer: Answer): void {
  const exporting = withBase(program.command('export').description('write a run\'s policy as files other programs load, and compare them with the run'))
    .argument('<run>', 'run folder')
    .addOption(new Option('--format <format>', 'adapter (or peft): the LoRA files alone; merged (or safetensors): the whole model in its base\'s layout; gguf: for llama.cpp; onnx: for onnxruntime-genai and transformers.js').choices(Object.keys(formats)).makeOptionMandatory())
    .option('--to <dir>', 'new folder; export/<format> in the run folder where left out')
    .addOption(new Option('--out <dir>', 'the same as --to').hideHelp())
    .addOption(new Option('--type <type>', `how weights are stored, near the base where left out; ${Object.entries(exportTypes).map(([format, names]) => `${format}: ${names.join(', ')}`).join('; ')}`).choices(Object.keys(types)))
  answer(exporting, (run: string, options: CommandOptions) => runExport(run, options))
}

async function runExport(run: string, options: CommandOptions): Promise<CommandResult> {
  const folder = options.to ?? options.out
  const stopping = abortOnInterrupt()
  const progress = createExportProgress(process.stderr)
  try {
    const report = await exportRun(run, {
      format: formats[options.format] as ExportFormat,
      signal: stopping.signal,
      onProgress: progress.show,
      ...(folder === undefined ? {} : { folder }),
      ...(options.base === undefined ? {} : { base: options.base }),
      ...(options.type === undefined ? {} : { storedType: types[options.type] as ExportType }),
    })
    return { json: report, text: reportText(report) }
  } finally {
    progress.close()
    stopping.release()
  }
}

function reportText({ folder, storedType, comparison, expectedMeanDifference, notes }: ExportReport): string {
  const { tokens, sequences, largestDifference, meanDifference, greedy } = comparison
  return [
    folder,
    `stored as ${storedType}; opened again and compared with the run:`,
    `  ${tokens} tokens of ${sequences} texts: log-probabilities differ by ${meanDifference.toExponential(2)} on average (up to about ${expectedMeanDifference} expected), by ${largestDifference.toExponential(2)} at most`,
    `  ${greedy.equal} of ${greedy.prompts} greedy continuations of ${greedy.tokens} tokens are the same`,
    ...notes.map((note) => `note: ${note}`),
  ].join('\n')
}

const phaseWords: Readonly<Record<ExportPhase, string>> = { ask: 'asking the run', write: 'writing', check: 'checking what was written' }

/** One line that changes on a terminal; a line a phase elsewhere. */
function createExportProgress(screen: NodeJS.WriteStream): { show: (phase: ExportPhase, done: number, total: number) => void; close: () => void } {
  let shown: ExportPhase | undefined
  return {
    show(phase, done, total) {
      if (screen.isTTY) screen.write(`\r\u001b[K${phaseWords[phase]} ${done}/${total}`)
      else if (phase !== shown) screen.write(`${phaseWords[phase]}\n`)
      shown = phase
    },
    close() {
      if (screen.isTTY && shown !== undefined) screen.write('\r\u001b[K')
    },
  }
}
