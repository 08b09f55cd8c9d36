// A Hugging Face model folder in and out: configuration, weights, tokenizer and chat template as one thing.
import { copyFile, mkdir, open, rename } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { asStorageError, refuseOccupied, removeEmptyFolder, removeQuietly, syncFolder, temporaryNeighbour, writeFileAtomically, writeFully, writeJsonAtomically } from './atomic-file.ts'
import { readChatTemplate } from './chat-template-file.ts'
import { decoderConfigToJson, generationConfigToJson, readDecoderConfig } from './config.ts'
import type { ConfigFiles, DecoderConfig, StoredType } from './config.ts'
import { hashFiles } from './file-hash.ts'
import { isGgufPath, openGgufModel, tokenizerFilesOfGguf } from './gguf/model.ts'
import { fileErrorCode } from './json-file.ts'
import type { StoredTensor } from './safetensors.ts'
import { tensorBytes, writeSafetensors } from './safetensors-write.ts'
import type { TensorSource, WeightType } from './safetensors-write.ts'
import { openTokenizer } from './tokenizer.ts'
import type { Tokenizer } from './tokenizer.ts'
import { checkTensors, expectedTensors, INDEX_FILE, openWeightFiles, SINGLE_FILE } from './weights.ts'

/** An opened model folder. Weights are read one tensor at a time; `close` it when done. */
export interface ModelFolder extends ConfigFiles {
  /** Path of the folder, or of the GGUF file that stands for one. */
  readonly folder: string
  /** The type most of a GGUF file's weights are packed in (`Q4_K`); undefined for a folder of safetensors. */
  readonly quantisation?: string
  /** Names of all stored tensors, used or not. */
  readonly names: readonly string[]
  /** Odd but harmless findings (tensors the model does not use). */
  readonly warnings: readonly string[]
  /** The chat template's source, or null for a model without one. */
  readonly chatTemplate: string | null
  has(name: string): boolean
  /** A tensor's shape as stored, or undefined when there is none of that name. */
  shape(name: string): readonly number[] | undefined
  /** A tensor in row-major order, widened exactly to float32. */
  readTensor(name: string): Promise<Float32Array>
  /** A tensor as it lies in the file, for sources whose types programs or kernels can take as they are. */
  readStored?(name: string, reuse?: StoredTensor): Promise<StoredTensor>
  /** The folder's tokenizer, read once. @throws UserError when it is missing or does not fit the embedding. */
  tokenizer(): Promise<Tokenizer>
  /** sha256 (hex) over config.json and the weight files: name, size and every byte, streamed. The same folder copied gives the same hash. */
  hash(): Promise<string>
  close(): Promise<void>
}

/** What {@link writeModelFolder} writes. */
export interface ModelFolderContent {
  readonly config: DecoderConfig
  /** Values by tensor name: in memory, or loaded when their turn comes. All of `expectedTensors(config)` must be there. */
  readonly tensors: (name: string) => Float32Array | Promise<Float32Array>
  /** How the weights are stored; `config.torchDtype` when left out. */
  readonly storedType?: StoredType
  /** Fields of the original config.json to keep; what `config` says wins. */
  readonly rawConfig?: Readonly<Record<string, unknown>>
  readonly rawGeneration?: Readonly<Record<string, unknown>> | null
  /** A folder whose tokenizer and template files are copied unchanged, or a GGUF file whose tokenizer is written as such files. */
  readonly tokenizerFrom?: string
  /** Largest weight file in bytes before shards are made; 5 GB when left out. A single tensor may exceed it. */
  readonly maxShardBytes?: number
}

/** Files that make up a tokenizer and its template; those that exist are copied. */
export const TOKENIZER_FILES = [
  'tokenizer.json',
  'tokenizer_config.json',
  'special_tokens_map.json',
  'added_tokens.json',
  'chat_template.jinja',
  'vocab.json',
  'merges.txt',
  'tokenizer.model',
] as const

const WEIGHT_TYPES: Readonly<Record<StoredType, WeightType>> = { float32: 'F32', float16: 'F16', bfloat16: 'BF16' }

/**
 * Opens a folder, or a GGUF file in place of one: reads the configuration, opens the weight files, and checks that every tensor is there in its shape.
 * @throws UserError naming file, field or tensor.
 */
export async function openModelFolder(folder: string): Promise<ModelFolder> {
  if (isGgufPath(folder)) return openGgufModel(folder)
  const files = await readDecoderConfig(folder)
  const chatTemplate = await readChatTemplate(folder)
  const weights = await openWeightFiles(folder)
  try {
    const warnings = [...weights.warnings, ...checkTensors(files.config, weights, folder)]
    let tokenizer: Promise<Tokenizer> | undefined
    return {
      ...files,
      folder,
      names: weights.names,
      warnings,
      chatTemplate,
      has: (name) => weights.tensor(name) !== undefined,
      shape: (name) => weights.tensor(name)?.shape,
      readTensor: weights.readFloat32,
      readStored: weights.readStored,
      tokenizer: async () => (tokenizer ??= openTokenizer(folder, files.config)),
      hash: async () => hashFiles([join(folder, 'config.json'), ...weights.paths]),
      close: weights.close,
    }
  } catch (error) {
    await weights.close()
    throw error
  }
}

/**
 * Writes a complete folder in Hugging Face's layout. It is made under a temporary name beside `folder`, synced and renamed, so
 * that `folder` is either absent or whole.
 * @throws UserError `storage` when the disk is full or not writable, `bad-input` when `folder` already holds something.
 */
export async function writeModelFolder(folder: string, content: ModelFolderContent): Promise<void> {
  const target = resolve(folder)
  await refuseOccupied(target, 'Choose another folder.')
  // An empty folder would make the rename fail on some systems.
  await removeEmptyFolder(target)
  const temporary = temporaryNeighbour(target)
  try {
    await mkdir(temporary, { recursive: true })
    const storedType = content.storedType ?? content.config.torchDtype
    await writeJsonAtomically(join(temporary, 'config.json'), mergedConfig(content, storedType))
    await writeJsonAtomically(join(temporary, 'generation_config.json'), { ...content.rawGeneration, ...generationConfigToJson(content.config) })
    if (content.tokenizerFrom !== undefined) await copyTokenizerFiles(content.tokenizerFrom, temporary)
    await writeWeights(temporary, content, WEIGHT_TYPES[storedType])
    await syncFolder(temporary)
    await rename(temporary, target)
    await syncFolder(join(target, '..'))
  } catch (error) {
    await removeQuietly(temporary)
    throw asStorageError(error, folder)
  }
}

/** Copies the tokenizer and template files that exist, unchanged; returns their names. Those of a GGUF file are made from its metadata. */
export async function copyTokenizerFiles(from: string, to: string): Promise<string[]> {
  if (isGgufPath(from)) return writeTokenizerFiles(await tokenizerFilesOfGguf(from), to)
  const copied: string[] = []
  for (const name of TOKENIZER_FILES) {
    try {
      await copyFile(join(from, name), join(to, name))
    } catch (error) {
      if (fileErrorCode(error) === 'ENOENT') continue
      throw error
    }
    const handle = await open(join(to, name), 'r+')
    try {
      await handle.sync()
    } finally {
      await handle.close()
    }
    copied.push(name)
  }
  return copied
}

async function writeTokenizerFiles(files: ReadonlyMap<string, string>, to: string): Promise<string[]> {
  for (const [name, text] of files) await writeFileAtomically(join(to, name), async (handle) => writeFully(handle, Buffer.from(text, 'utf8')))
  return [...files.keys()]
}

/** Keeps unknown fields of the original, lets the configuration win, and leaves one spelling of type and rotary, not two. */
function mergedConfig(content: ModelFolderContent, storedType: StoredType): Record<string, unknown> {
  const { dtype: _dtype, rope_parameters: _parameters, ...kept } = content.rawConfig ?? {}
  return { ...kept, ...decoderConfigToJson({ ...content.config, torchDtype: storedType }) }
}

async function writeWeights(folder: string, content: ModelFolderContent, dtype: WeightType): Promise<void> {
  const sources = expectedTensors(content.config).map(({ name, shape }): TensorSource => ({ name, shape, dtype, data: async () => content.tensors(name) }))
  const shards = splitIntoShards(sources, content.maxShardBytes ?? 5_000_000_000)
  const single = shards[0]
  if (shards.length === 1 && single !== undefined) {
    await writeSafetensors(join(folder, SINGLE_FILE), single)
    return
  }
  const weightMap: Record<string, string> = {}
  for (const [index, shard] of shards.entries()) {
    const name = `model-${String(index + 1).padStart(5, '0')}-of-${String(shards.length).padStart(5, '0')}.safetensors`
    for (const tensor of shard) weightMap[tensor.name] = name
    await writeSafetensors(join(folder, name), shard)
  }
  await writeJsonAtomically(join(folder, INDEX_FILE), { metadata: { total_size: sources.reduce((sum, tensor) => sum + tensorBytes(tensor), 0) }, weight_map: weightMap })
}

function splitIntoShards(tensors: readonly TensorSource[], maxBytes: number): TensorSource[][] {
  const shards: TensorSource[][] = []
  let current: TensorSource[] = []
  let bytes = 0
  for (const tensor of tensors) {
    if (current.length > 0 && bytes + tensorBytes(tensor) > maxBytes) {
      shards.push(current)
      current = []
      bytes = 0
    }
    current.push(tensor)
    bytes += tensorBytes(tensor)
  }
  shards.push(current)
  return shards
}
