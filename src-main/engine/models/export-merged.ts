// A policy as a model folder in its base's own layout: the same files, the same tensors in each, the same types, and everything that lay
// beside them. Whatever loads the base loads this.
import { cp, mkdir, readdir, readFile, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { z } from 'zod'
import { writeFileAtomically, writeFully, writeJsonAtomically } from './atomic-file.ts'
import type { DecoderConfig, StoredType } from './config.ts'
import { readJsonFile } from './json-file.ts'
import type { ModelFolder } from './model-folder.ts'
import { tensorBytes, writeSafetensors } from './safetensors-write.ts'
import type { TensorSource, WeightType } from './safetensors-write.ts'
import { expectedTensors, INDEX_FILE, openWeightFiles, SINGLE_FILE } from './weights.ts'
import type { WeightFiles } from './weights.ts'

export interface MergedModel {
  /** The base; its files say how the model is laid out. */
  readonly base: ModelFolder
  /** The base's configuration, apart from a head that is no longer tied. */
  readonly config: DecoderConfig
  /** The policy's tensors by the base's names. */
  readonly readTensor: (name: string) => Promise<Float32Array>
  /** One type for all tensors; each as in the base where left out. */
  readonly storedType?: StoredType
}

const EMBEDDING = 'model.embed_tokens.weight'
const HEAD = 'lm_head.weight'
const WEIGHT_TYPES: Readonly<Record<StoredType, WeightType>> = { float32: 'F32', float16: 'F16', bfloat16: 'BF16' }
/** Other copies of the base's weights, which the policy's must not lie beside. */
const weightFile = /\.(safetensors|bin|pt|pth|ckpt|h5|msgpack|gguf|onnx|onnx_data.*)$|\.index\.json$/i
/** Folders that belong to a tokenizer or template. */
const keptFolders = new Set(['additional_chat_templates'])

/**
 * Writes the model into `folder`, which is made.
 * @returns a sentence for each tensor of the base that was left out, because the model does not use it
 */
export async function writeMergedModel(folder: string, model: MergedModel): Promise<string[]> {
  await mkdir(folder, { recursive: true })
  const weights = await openWeightFiles(model.base.folder)
  try {
    await copySideFiles(model.base.folder, folder)
    await writeConfig(folder, model)
    const files = layout(weights, model)
    for (const [file, tensors] of files) await writeSafetensors(join(folder, file), tensors)
    if (!files.has(SINGLE_FILE)) await writeIndex(folder, model.base.folder, files)
    const written = new Set([...files.values()].flat().map(({ name }) => name))
    return weights.names.filter((name) => !written.has(name)).map((name) => `the base's tensor ${name} is not part of the model and was left out`)
  } finally {
    await weights.close()
  }
}

/** The tensors of each file, as in the base. A head that is no longer tied joins the file of the last tensor. */
function layout(weights: WeightFiles, { config, readTensor, storedType }: MergedModel): Map<string, TensorSource[]> {
  const expected = expectedTensors(config)
  const files = new Map<string, TensorSource[]>()
  const place = (name: string, shape: readonly number[], from: { readonly read?: string; readonly beside?: string; readonly typed?: string } = {}): void => {
    const { read = name, beside = name, typed = name } = from
    const file = basename(weights.fileOf(beside) as string)
    const dtype = storedType === undefined ? (weights.tensor(typed)?.dtype as WeightType) : WEIGHT_TYPES[storedType]
    files.set(file, [...(files.get(file) ?? []), { name, shape, dtype, data: () => readTensor(read) }])
  }
  for (const { name, shape } of expected) {
    const stored = weights.tensor(name) !== undefined
    if (stored) place(name, shape)
    else if (name === HEAD) place(name, shape, { beside: 'model.norm.weight', typed: EMBEDDING })
    else throw new Error(`the base has no tensor ${name}`)
  }
  // Some files repeat a tied head: it stays what it is, the embedding.
  if (config.tieWordEmbeddings && weights.tensor(HEAD) !== undefined) place(HEAD, [config.vocabularySize, config.hiddenSize], { read: EMBEDDING })
  return files
}

async function writeIndex(folder: string, baseFolder: string, files: ReadonlyMap<string, readonly TensorSource[]>): Promise<void> {
  const raw = z.looseObject({ metadata: z.looseObject({}).optional() }).parse(await readJsonFile(join(baseFolder, INDEX_FILE)))
  const entries = [...files].flatMap(([file, tensors]) => tensors.map(({ name }) => [name, file] as const)).toSorted(([a], [b]) => (a < b ? -1 : 1))
  const total = [...files.values()].flat().reduce((sum, tensor) => sum + tensorBytes(tensor), 0)
  await writeJsonAtomically(join(folder, INDEX_FILE), { ...raw, metadata: { ...raw.metadata, total_size: total }, weight_map: Object.fromEntries(entries) })
}

/** config.json is the base's, to the byte where nothing in it has become wrong. */
async function writeConfig(folder: string, { base, config, storedType }: MergedModel): Promise<void> {
  const changes: Record<string, unknown> = {
    ...(config.tieWordEmbeddings === base.config.tieWordEmbeddings ? {} : { tie_word_embeddings: config.tieWordEmbeddings }),
    ...(storedType === undefined || storedType === base.config.torchDtype ? {} : { ['dtype' in base.rawConfig ? 'dtype' : 'torch_dtype']: storedType }),
  }
  if (Object.keys(changes).length > 0) await writeJsonAtomically(join(folder, 'config.json'), { ...base.rawConfig, ...changes })
}

/** Copies everything at the top of a base that holds no weights. A Hugging Face cache holds links: what they lead to is copied. */
export async function copySideFiles(from: string, to: string): Promise<void> {
  for (const name of await readdir(from)) {
    const path = join(from, name)
    if ((await stat(path)).isDirectory()) {
      if (keptFolders.has(name)) await cp(path, join(to, name), { recursive: true, dereference: true })
    } else if (!weightFile.test(name) && !name.startsWith('.') && name !== 'export.json') {
      await writeFileAtomically(join(to, name), async (handle) => writeFully(handle, await readFile(path)))
    }
  }
}
