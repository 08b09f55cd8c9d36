// A GGUF file as a model folder: configuration, weights under Hugging Face's names, tokenizer and chat template from the one file.
import { extname } from 'node:path'
import { UserError } from '../../../contract/errors.ts'
import { parseDecoderConfig } from '../config.ts'
import { hashFiles } from '../file-hash.ts'
import type { ModelFolder } from '../model-folder.ts'
import type { StoredTensor } from '../safetensors.ts'
import { createTokenizer } from '../tokenizer.ts'
import type { Tokenizer } from '../tokenizer.ts'
import { configOfGguf, storageOf } from './architectures.ts'
import { openGguf, unreadable } from './file.ts'
import type { GgufFile } from './file.ts'
import { isReadable } from './format.ts'
import { ggufTensors, separateHeads } from './tensors.ts'
import type { NamedTensor } from './tensors.ts'
import { specialIdsOfGguf, tokenizerOfGguf } from './tokenizer.ts'
import type { TokenizerSource } from './tokenizer.ts'

/** Whether a path names a GGUF file, by its ending. */
export function isGgufPath(path: string): boolean {
  return extname(path).toLowerCase() === '.gguf'
}

/**
 * Opens a GGUF file as a model. Weights are widened to float32 as they are asked for; `config.torchDtype` is how a Hugging Face folder
 * would store them. `rawConfig` is the `config.json` such a folder would have.
 * @throws UserError naming the file and the key or tensor that is missing, does not fit, or is not supported
 */
export async function openGgufModel(path: string): Promise<ModelFolder> {
  const file = await openGguf(path)
  try {
    const fields = await configOfGguf(file)
    const rawConfig = { ...fields, ...specialIdsOfGguf(file, fields['vocab_size'] as number) }
    const config = parseDecoderConfig(rawConfig, null, path)
    const tensors = new Map(ggufTensors(config).map((tensor) => [tensor.name, tensor]))
    const warnings = checkedTensors(file, [...tensors.values()])
    // The tokenizer is checked when it is asked for: numbers can be looked at without one.
    let source: TokenizerSource | undefined
    const tokenizerSource = (): TokenizerSource => (source ??= tokenizerOfGguf(file, config.vocabularySize))
    let tokenizer: Tokenizer | undefined
    return {
      config,
      rawConfig,
      rawGeneration: null,
      folder: path,
      quantisation: storageOf(file),
      names: [...tensors.keys()],
      warnings,
      chatTemplate: chatTemplateOf(file),
      has: (name) => tensors.has(name),
      shape: (name) => tensors.get(name)?.shape,
      readTensor: async (name) => readTensor(file, tensorOf(tensors, name, path)),
      readStored: async (name) => readStored(file, tensorOf(tensors, name, path)),
      tokenizer: async () => (tokenizer ??= openTokenizer(tokenizerSource(), config.vocabularySize, path)),
      // A renamed file is the same model.
      hash: async () => hashFiles([path], () => 'model.gguf'),
      close: file.close,
    }
  } catch (error) {
    await file.close()
    throw error
  }
}

function chatTemplateOf(file: GgufFile): string | null {
  const template = file.metadata.get('tokenizer.chat_template')
  return typeof template === 'string' ? template : null
}

function openTokenizer({ json, config }: TokenizerSource, rows: number, path: string): Tokenizer {
  const tokenizer = createTokenizer(json, config, path)
  if (tokenizer.size > rows) throw new UserError({ code: 'bad-input', what: `the tokenizer does not fit the embedding: its ids go up to ${tokenizer.size - 1}, the embedding has ${rows} rows`, place: { file: path, field: 'tokenizer.huggingface.json' }, remedy: 'Get another file of this model.' })
  return tokenizer
}

function tensorOf(tensors: ReadonlyMap<string, NamedTensor>, name: string, path: string): NamedTensor {
  const tensor = tensors.get(name)
  if (tensor !== undefined) return tensor
  throw new UserError({ code: 'bad-input', what: 'the model has no tensor of this name', place: { file: path, field: name }, remedy: 'Check that the weights belong to this model.' })
}

async function readTensor(file: GgufFile, { stored, shape, interleavedHeads }: NamedTensor): Promise<Float32Array> {
  const values = await file.readFloat32(stored)
  return interleavedHeads === 0 ? values : separateHeads(values, shape[0] as number, interleavedHeads)
}

async function readStored(file: GgufFile, { stored, shape, interleavedHeads }: NamedTensor): Promise<StoredTensor> {
  const tensor = await file.readStored(stored)
  if (interleavedHeads === 0) return tensor
  const rows = shape[0] as number
  return tensor.format === 'float32' ? { ...tensor, values: separateHeads(tensor.values, rows, interleavedHeads) } : { ...tensor, bits: separateHeads(tensor.bits, rows, interleavedHeads) }
}

/** Tensors that hold no weights of layers and are read with the configuration. */
const OUTSIDE_LAYERS = new Set(['rope_factors_long.weight', 'rope_factors_short.weight'])

/** @returns a warning for each tensor the model does not use */
function checkedTensors(file: GgufFile, needed: readonly NamedTensor[]): string[] {
  for (const { stored, shape } of needed) {
    const place = { file: file.path, field: stored }
    const found = file.tensors.get(stored)
    if (found === undefined) throw new UserError({ code: 'bad-input', what: 'the weights lack this tensor', place, expected: `shape [${shape.join(', ')}]`, remedy: 'The file is not complete, or its metadata belongs to another model.' })
    // A vector may be written as a matrix of one row.
    const trimmed = found.shape.slice(found.shape.findIndex((size, axis) => size !== 1 || axis >= found.shape.length - shape.length))
    if (trimmed.join() !== shape.join()) throw new UserError({ code: 'bad-input', what: `the tensor has shape [${found.shape.join(', ')}]`, place, expected: `[${shape.join(', ')}], as the metadata says`, remedy: 'The weights do not belong to this metadata.' })
    if (!isReadable(found.type)) throw unreadable(file.path, found)
  }
  const used = new Set(needed.map(({ stored }) => stored))
  return [...file.tensors.keys()].filter((name) => !used.has(name) && !OUTSIDE_LAYERS.has(name)).map((name) => `the tensor ${name} is not part of the model; it is not used`)
}

/** The files a Hugging Face folder would have for the tokenizer of a GGUF file, by name. @throws UserError as {@link openGgufModel} */
export async function tokenizerFilesOfGguf(path: string): Promise<ReadonlyMap<string, string>> {
  const { json, config, chatTemplate } = await readGgufTokenizer(path)
  const text = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`
  return new Map([['tokenizer.json', text(json)], ['tokenizer_config.json', text({ ...config, ...(chatTemplate === null ? {} : { chat_template: chatTemplate }) })]])
}

/** The tokenizer of a GGUF file alone. */
export async function readGgufTokenizer(path: string): Promise<TokenizerSource> {
  const file = await openGguf(path)
  try {
    return tokenizerOfGguf(file, file.tensors.get('token_embd.weight')?.shape[0] ?? 0)
  } finally {
    await file.close()
  }
}
