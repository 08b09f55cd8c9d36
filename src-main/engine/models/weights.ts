// Which tensors a decoder has, under Hugging Face's names, and the weight files that hold them: one file, or
// shards listed in an index.
import { stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { z } from 'zod'
import { UserError } from '../../contract/errors.ts'
import type { DecoderConfig } from './config.ts'
import { checkFile, readJsonFile } from './json-file.ts'
import { openSafetensors } from './safetensors.ts'
import type { SafetensorsFile, StoredTensor } from './safetensors.ts'
import type { TensorInfo } from './safetensors-header.ts'

export const SINGLE_FILE = 'model.safetensors'
export const INDEX_FILE = 'model.safetensors.index.json'

/** A tensor a model needs: matrices are [output features, input features], as linear layers store them. */
export interface ExpectedTensor {
  readonly name: string
  readonly shape: readonly number[]
}

/** The weight files of a folder, opened, as one set of names. */
export interface WeightFiles {
  /** Absolute or relative paths as opened, in the order of their names. */
  readonly paths: readonly string[]
  readonly names: readonly string[]
  /** Things that are odd but harm nothing. */
  readonly warnings: readonly string[]
  tensor(name: string): TensorInfo | undefined
  /** The file a tensor lies in, for error messages. */
  fileOf(name: string): string | undefined
  readFloat32(name: string): Promise<Float32Array>
  /** See {@link SafetensorsFile.readStored}. */
  readStored(name: string, reuse?: StoredTensor): Promise<StoredTensor>
  close(): Promise<void>
}

/** Every tensor of a decoder in computation order. A tied head has no `lm_head.weight`: the embedding serves. */
export function expectedTensors(config: DecoderConfig): ExpectedTensor[] {
  const tensors: ExpectedTensor[] = [{ name: 'model.embed_tokens.weight', shape: [config.vocabularySize, config.hiddenSize] }]
  for (let layer = 0; layer < config.layers; layer += 1) tensors.push(...layerTensors(config, `model.layers.${layer}`))
  tensors.push({ name: 'model.norm.weight', shape: [config.hiddenSize] })
  if (!config.tieWordEmbeddings) tensors.push({ name: 'lm_head.weight', shape: [config.vocabularySize, config.hiddenSize] })
  return tensors
}

/** A linear layer of every decoder layer, as LoRA's target modules name it. */
export interface LinearLayer {
  /** Last name part: `q_proj`. */
  readonly name: LinearName
  /** Name inside a decoder layer: `self_attn.q_proj`. */
  readonly path: string
  /** [output, input] features. */
  readonly shape: readonly [number, number]
  readonly bias: boolean
}

export type LinearName = 'q_proj' | 'k_proj' | 'v_proj' | 'qkv_proj' | 'o_proj' | 'gate_proj' | 'up_proj' | 'gate_up_proj' | 'down_proj'

/** The linear layers of one decoder layer in computation order: those of attention, then those of the feed-forward part. */
export function linearLayers(config: DecoderConfig): readonly LinearLayer[] {
  const { hiddenSize, intermediateSize, qkvBias, outputBias, mlpBias } = config
  const queries = config.heads * config.headSize
  const keys = config.kvHeads * config.headSize
  const layer = (module: 'self_attn' | 'mlp', name: LinearName, outSize: number, inSize: number, bias: boolean): LinearLayer => ({ name, path: `${module}.${name}`, shape: [outSize, inSize], bias })
  const inputs = config.packedProjections
    ? [layer('self_attn', 'qkv_proj', queries + 2 * keys, hiddenSize, qkvBias)]
    : [layer('self_attn', 'q_proj', queries, hiddenSize, qkvBias), layer('self_attn', 'k_proj', keys, hiddenSize, qkvBias), layer('self_attn', 'v_proj', keys, hiddenSize, qkvBias)]
  const gates = config.packedProjections
    ? [layer('mlp', 'gate_up_proj', 2 * intermediateSize, hiddenSize, mlpBias)]
    : [layer('mlp', 'gate_proj', intermediateSize, hiddenSize, mlpBias), layer('mlp', 'up_proj', intermediateSize, hiddenSize, mlpBias)]
  return [...inputs, layer('self_attn', 'o_proj', hiddenSize, queries, outputBias), ...gates, layer('mlp', 'down_proj', hiddenSize, intermediateSize, mlpBias)]
}

/** Number of parameters, a tied head counted once. */
export function parameterCount(config: DecoderConfig): number {
  return expectedTensors(config).reduce((sum, tensor) => sum + tensor.shape.reduce((product, dimension) => product * dimension, 1), 0)
}

function layerTensors(config: DecoderConfig, prefix: string): ExpectedTensor[] {
  const norm = (name: string): ExpectedTensor => ({ name: `${prefix}.${name}.weight`, shape: [config.hiddenSize] })
  const linear = ({ path, shape, bias }: LinearLayer): ExpectedTensor[] => [
    { name: `${prefix}.${path}.weight`, shape },
    ...(bias ? [{ name: `${prefix}.${path}.bias`, shape: [shape[0]] }] : []),
  ]
  const layers = linearLayers(config)
  const attention = layers.filter(({ path }) => path.startsWith('self_attn.'))
  const feedForward = layers.filter(({ path }) => path.startsWith('mlp.'))
  return [norm('input_layernorm'), ...attention.flatMap(linear), norm('post_attention_layernorm'), ...feedForward.flatMap(linear)]
}

/**
 * Compares what is there with what the configuration needs.
 * @returns a warning for each tensor the model does not use
 * @throws UserError naming the tensor and both shapes for one that is missing, has another shape, or cannot be a weight.
 */
export function checkTensors(config: DecoderConfig, weights: Pick<WeightFiles, 'names' | 'tensor' | 'fileOf'>, folder: string): string[] {
  const expected = expectedTensors(config)
  for (const { name, shape } of expected) {
    const found = weights.tensor(name)
    if (found === undefined) {
      throw new UserError({
        code: 'bad-input',
        what: 'the weights lack this tensor',
        place: { file: folder, field: name },
        expected: `shape [${shape.join(', ')}]`,
        remedy: 'The weights do not belong to this config.json, or a file of them is missing.',
      })
    }
    const file = weights.fileOf(name) ?? folder
    if (found.shape.length !== shape.length || found.shape.some((dimension, axis) => dimension !== shape[axis])) {
      throw new UserError({
        code: 'bad-input',
        what: `the tensor has shape [${found.shape.join(', ')}]`,
        place: { file, field: name },
        expected: `[${shape.join(', ')}], as config.json says`,
        remedy: 'The weights do not belong to this config.json.',
      })
    }
    if (found.dtype !== 'F32' && found.dtype !== 'F16' && found.dtype !== 'BF16') {
      throw new UserError({
        code: 'bad-input',
        what: `the tensor is stored as ${found.dtype}`,
        place: { file, field: name },
        expected: 'F32, F16 or BF16',
        remedy: 'Choose the original, not quantised checkpoint of this model.',
      })
    }
  }
  const used = new Set(expected.map((tensor) => tensor.name))
  return weights.names
    .filter((name) => !used.has(name))
    .map((name) => {
      const reason = name === 'lm_head.weight' ? 'is stored although the head is tied to the embedding' : 'is not part of the model'
      return `the tensor ${name} ${reason}; it is not used`
    })
}

/**
 * Opens a folder's weights: `model.safetensors`, otherwise the shards of `model.safetensors.index.json`.
 * @throws UserError naming the file (a missing or damaged shard) or the tensor (not in the shard the index names).
 */
export async function openWeightFiles(folder: string): Promise<WeightFiles> {
  const single = join(folder, SINGLE_FILE)
  if (await exists(single)) {
    const file = await openSafetensors(single)
    return combine(new Map(file.names.map((name) => [name, file])), [file], [])
  }
  const index = join(folder, INDEX_FILE)
  if (await exists(index)) return openShards(folder, index)
  throw new UserError({
    code: 'not-found',
    what: 'the folder holds no weights',
    place: { file: folder },
    expected: `${SINGLE_FILE}, or ${INDEX_FILE} with its shards`,
    remedy: 'Get the safetensors files of this model (pytorch_model.bin cannot be read), or name a .gguf file itself.',
  })
}

const indexSchema = z.looseObject(
  { weight_map: z.record(z.string(), z.string('must name a shard file'), 'must map tensor names to shard files') },
  'must hold one JSON object',
)

async function openShards(folder: string, indexPath: string): Promise<WeightFiles> {
  const remedy = 'Copy the whole model folder again.'
  const index = checkFile(indexSchema, await readJsonFile(indexPath), indexPath, remedy)
  const shardNames = [...new Set(Object.values(index.weight_map))].toSorted()
  const shards = new Map<string, SafetensorsFile>()
  try {
    for (const shard of shardNames) {
      if (shard !== basename(shard) || shard.includes('\\') || shard.startsWith('.')) {
        throw new UserError({
          code: 'bad-input',
          what: `"${shard}" is not the name of a file in the model's folder`,
          place: { file: indexPath, field: 'weight_map' },
          remedy,
        })
      }
      shards.set(shard, await openSafetensors(join(folder, shard)))
    }
    const owner = new Map<string, SafetensorsFile>()
    for (const [name, shard] of Object.entries(index.weight_map)) owner.set(name, findOwner(name, shard, shards, indexPath))
    const unlisted = [...shards].flatMap(([shard, file]) => file.names.filter((name) => index.weight_map[name] !== shard).map((name) => ({ name, shard })))
    const warnings = unlisted.map(({ name, shard }) => `the tensor ${name} in ${shard} is not listed there by ${INDEX_FILE}; it is not used`)
    return combine(owner, [...shards.values()], warnings)
  } catch (error) {
    await Promise.all([...shards.values()].map(async (file) => file.close()))
    throw error
  }
}

function findOwner(name: string, shard: string, shards: ReadonlyMap<string, SafetensorsFile>, indexPath: string): SafetensorsFile {
  const file = shards.get(shard)
  if (file?.tensor(name) !== undefined) return file
  const elsewhere = [...shards].find(([, other]) => other.tensor(name) !== undefined)?.[0]
  throw new UserError({
    code: 'bad-input',
    what: `the index places this tensor in ${shard}, ${elsewhere === undefined ? 'which does not hold it' : `but it lies in ${elsewhere}`}`,
    place: { file: indexPath, field: name },
    remedy: 'Index and shards do not belong together: copy the whole model folder again.',
  })
}

function combine(owner: ReadonlyMap<string, SafetensorsFile>, files: readonly SafetensorsFile[], warnings: readonly string[]): WeightFiles {
  const fileWith = (name: string): SafetensorsFile => {
    const file = owner.get(name)
    if (file !== undefined) return file
    throw new UserError({
      code: 'bad-input',
      what: 'the weights hold no tensor of this name',
      place: { file: files[0]?.path ?? '', field: name },
      remedy: 'Check that the weights belong to this model.',
    })
  }
  return {
    paths: files.map((file) => file.path),
    names: [...owner.keys()],
    warnings,
    tensor: (name) => owner.get(name)?.tensor(name),
    fileOf: (name) => owner.get(name)?.path,
    readFloat32: async (name) => fileWith(name).readFloat32(name),
    readStored: async (name, reuse) => fileWith(name).readStored(name, reuse),
    close: async () => {
      await Promise.all(files.map(async (file) => file.close()))
    },
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch {
    return false
  }
}
