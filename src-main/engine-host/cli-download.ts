// models download: the one command that opens a socket.
import { basename, join } from 'node:path'
import type { Command } from 'commander'
import { createByteProgress } from './cli-byte-progress.ts'
import { describeUsable } from './cli-library.ts'
import { log } from './cli-output.ts'
import type { CommandResult } from './cli-output.ts'
import type { Answer } from './cli-train.ts'
import { abortOnInterrupt } from './command-queue.ts'
import { modelsFolder } from './model-names.ts'

interface DownloadCommandOptions {
  readonly revision?: string
  readonly mirror: string
  readonly file?: string
  readonly to?: string
  readonly models?: string
}

/** Registers the command. */
export function addDownloadCommand(models: Command, answer: Answer): void {
  const download = models
    .command('download')
    .description('download a model from the Hugging Face hub or a mirror: resumable, each file checked by its hash. The only command that uses the network')
    .argument('<repository>', 'such as Qwen/Qwen2.5-3B')
    .option('--revision <name>', 'branch, tag or commit')
    .option('--mirror <address>', 'address of the hub or a mirror (HF_ENDPOINT, otherwise https://huggingface.co)', process.env['HF_ENDPOINT'] ?? 'https://huggingface.co')
    .option('--file <name>', 'a .gguf file of the repository, instead of configuration, tokenizer and safetensors')
    .option('--to <dir>', 'new folder the model gets; one of the repository\'s name in the models folder where left out')
    .option('--models <dir>', 'folder that holds models (SATCHEL_MODELS, otherwise ./models)')
  answer(download, (repository: string, options: DownloadCommandOptions) => downloadNamed(repository, options))
}

async function downloadNamed(repository: string, options: DownloadCommandOptions): Promise<CommandResult> {
  // Loaded here and nowhere else: no other command has code in memory that could open a socket.
  const { downloadModel } = await import('../engine/models/hub-download.ts')
  const progress = createByteProgress(process.stderr)
  const { signal, release } = abortOnInterrupt()
  try {
    const { path, commit, files } = await downloadModel({
      repository,
      revision: options.revision,
      mirror: options.mirror,
      file: options.file,
      folder: options.to ?? join(modelsFolder(options.models), basename(repository)),
      signal,
      onProgress: progress.update,
      onRetry: (message) => {
        progress.close()
        log(message)
      },
    })
    progress.close()
    const { json, text } = await describeUsable(path, basename(repository))
    return { json: { ...(json as object), repository, commit, files: files.map(({ name, bytes, expected }) => ({ name, bytes, hash: expected.hash })) }, text }
  } finally {
    progress.close()
    release()
  }
}
