// LoRA adapters as PEFT writes and reads them: adapter_config.json beside adapter_model.safetensors.
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { UserError } from '../../contract/errors.ts'
import { asStorageError, writeFileAtomically, writeFully } from './atomic-file.ts'
import type { DecoderConfig } from './config.ts'
import { checkFile, readJsonFile } from './json-file.ts'
import { openSafetensors } from './safetensors.ts'
import type { SafetensorsFile } from './safetensors.ts'
import { writeSafetensors } from './safetensors-write.ts'
import type { TensorSource, WeightType } from './safetensors-write.ts'
import { linearLayers } from './weights.ts'

/** What an adapter changes and how strongly. The update of a weight is `scale * B A` with `scale = alpha / rank`. */
export interface AdapterConfig {
  readonly rank: number
  readonly alpha: number
  /** Dropout on the adapter's input during training; plays no part afterwards. */
  readonly dropout: number
  /** Last name parts of the adapted layers, such as `q_proj`, sorted. */
  readonly targetModules: readonly string[]
  /** alpha / sqrt(rank) instead of alpha / rank (PEFT's `use_rslora`). */
  readonly rankStabilized: boolean
  /** Where the base model came from, for people. */
  readonly baseModel: string | null
}

/** The two factors of one linear layer, row-major. */
export interface AdapterLayer {
  /** [rank, input features] */
  readonly a: Float32Array
  /** [output features, rank] */
  readonly b: Float32Array
}

/** An adapter in memory. Keys are module names in the base: `model.layers.0.self_attn.q_proj`. */
export interface Adapter {
  readonly config: AdapterConfig
  readonly layers: ReadonlyMap<string, AdapterLayer>
}

const CONFIG_FILE = 'adapter_config.json'
const WEIGHTS_FILE = 'adapter_model.safetensors'
const PREFIX = 'base_model.model.'
const REMEDY = 'Choose an adapter that was trained from this base model.'
/** Metadata key under which the base's hash ({@link ModelFolder.hash}) is kept; PEFT ignores it. */
const BASE_HASH = 'base_sha256'

const empty = (value: unknown): boolean => value === null || value === undefined || value === false || (typeof value === 'object' && Object.keys(value).length === 0)
const absent = (what: string): z.ZodOptional<z.ZodUnknown> => z.unknown().optional().refine(empty, `${what} is not supported`)

const configSchema = z.looseObject(
  {
    peft_type: z.literal('LORA', 'must be "LORA": other kinds of adapters are not supported'),
    r: z.number('must be a whole number above 0').int('must be a whole number above 0').positive('must be a whole number above 0'),
    lora_alpha: z.number('must be a number above 0').positive('must be a number above 0'),
    lora_dropout: z.number('must lie in [0, 1)').min(0, 'must lie in [0, 1)').lt(1, 'must lie in [0, 1)').nullish(),
    target_modules: z.union([z.string(), z.array(z.string())], 'must be a list of module names').nullish(),
    base_model_name_or_path: z.string().nullish(),
    use_rslora: z.boolean().nullish(),
    bias: z.literal('none', 'must be "none": trained biases are not supported').nullish(),
    fan_in_fan_out: absent('a transposed weight'),
    use_dora: absent('DoRA'),
    rank_pattern: absent('a rank of its own for a layer'),
    alpha_pattern: absent('an alpha of its own for a layer'),
    modules_to_save: absent('a module saved in full'),
    layer_replication: absent('replicating layers'),
    target_parameters: absent('adapting single parameters'),
    trainable_token_indices: absent('trained token rows'),
  },
  'must hold one JSON object',
)

/** Factor of an adapter's update. */
export function adapterScale(config: Pick<AdapterConfig, 'alpha' | 'rank' | 'rankStabilized'>): number {
  return config.alpha / (config.rankStabilized ? Math.sqrt(config.rank) : config.rank)
}

/**
 * Reads an adapter and checks that it fits a base model.
 * @param baseHash the base's hash; compared when the adapter records one
 * @throws UserError naming file, field or tensor: an adapter of another kind, for another base, or with a factor missing.
 */
export async function readAdapter(folder: string, base: DecoderConfig, baseHash?: string): Promise<Adapter> {
  const configFile = join(folder, CONFIG_FILE)
  const raw = await readJsonFile(configFile, `Choose a folder that holds a PEFT adapter (${CONFIG_FILE} beside ${WEIGHTS_FILE}).`)
  const fields = checkFile(configSchema, raw, configFile, 'Choose a plain LoRA adapter.')
  const file = await openSafetensors(join(folder, WEIGHTS_FILE))
  try {
    const recorded = file.metadata[BASE_HASH]
    if (recorded !== undefined && baseHash !== undefined && recorded !== baseHash) {
      throw new UserError({
        code: 'bad-input',
        what: 'the adapter was trained from another base model',
        place: { file: file.path, field: BASE_HASH },
        expected: `a base with hash ${recorded.slice(0, 12)}..., this one has ${baseHash.slice(0, 12)}...`,
        remedy: REMEDY,
      })
    }
    const layers = await readLayers(file, base, fields.r)
    const config: AdapterConfig = {
      rank: fields.r,
      alpha: fields.lora_alpha,
      dropout: fields.lora_dropout ?? 0,
      targetModules: [...new Set([...layers.keys()].map(lastPart))].toSorted(),
      rankStabilized: fields.use_rslora ?? false,
      baseModel: fields.base_model_name_or_path ?? null,
    }
    return { config, layers }
  } finally {
    await file.close()
  }
}

/**
 * Writes an adapter that PEFT loads: `adapter_config.json` and `adapter_model.safetensors`, each atomically.
 * @throws UserError `storage` when the disk is full or not writable
 */
export async function writeAdapter(folder: string, adapter: Adapter, base: DecoderConfig, options: { baseHash?: string; storedType?: WeightType } = {}): Promise<void> {
  const dtype = options.storedType ?? 'F32'
  const { rank } = adapter.config
  const tensors = [...adapter.layers].flatMap(([module, { a, b }]): TensorSource[] => {
    const shape = moduleShape(base, module)
    if (shape === undefined) throw new Error(`${module} is no linear layer of the base model`)
    return [
      { name: `${PREFIX}${module}.lora_A.weight`, dtype, shape: [rank, shape[1]], data: a },
      { name: `${PREFIX}${module}.lora_B.weight`, dtype, shape: [shape[0], rank], data: b },
    ]
  })
  try {
    await mkdir(folder, { recursive: true })
  } catch (error) {
    throw asStorageError(error, folder)
  }
  await writeSafetensors(join(folder, WEIGHTS_FILE), tensors, { format: 'pt', ...(options.baseHash === undefined ? {} : { [BASE_HASH]: options.baseHash }) })
  const text = `${JSON.stringify(peftConfig(adapter.config), null, 2)}\n`
  await writeFileAtomically(join(folder, CONFIG_FILE), async (handle) => writeFully(handle, Buffer.from(text, 'utf8')))
}

/**
 * The base's weights with the adapter folded in: `W + scale * B A` for adapted layers (summed in double, rounded once to float32),
 * every other tensor unchanged.
 * @param readTensor the base's tensors by name
 * @returns a reader with the base's names and layout, ready for `writeModelFolder`
 */
export function mergeAdapter(readTensor: (name: string) => Promise<Float32Array>, adapter: Adapter): (name: string) => Promise<Float32Array> {
  const scale = adapterScale(adapter.config)
  return async (name) => {
    const weight = await readTensor(name)
    const layer = name.endsWith('.weight') ? adapter.layers.get(name.slice(0, -'.weight'.length)) : undefined
    return layer === undefined ? weight : addProduct(weight, layer, adapter.config.rank, scale)
  }
}

/** W [out, in] + scale * B [out, rank] A [rank, in], as a new array. */
function addProduct(weight: Float32Array, { a, b }: AdapterLayer, rank: number, scale: number): Float32Array {
  const columns = a.length / rank
  const rows = b.length / rank
  if (weight.length !== rows * columns) throw new Error(`a weight of ${weight.length} values against an adapter of [${rows}, ${columns}]`)
  const merged = new Float32Array(weight.length)
  const sums = new Float64Array(columns)
  for (let row = 0; row < rows; row += 1) {
    sums.fill(0)
    for (let k = 0; k < rank; k += 1) {
      const factor = b[row * rank + k] as number
      for (let column = 0; column < columns; column += 1) sums[column] = (sums[column] as number) + factor * (a[k * columns + column] as number)
    }
    const offset = row * columns
    for (let column = 0; column < columns; column += 1) merged[offset + column] = (weight[offset + column] as number) + scale * (sums[column] as number)
  }
  return merged
}

async function readLayers(file: SafetensorsFile, base: DecoderConfig, rank: number): Promise<Map<string, AdapterLayer>> {
  const modules = new Set<string>()
  for (const name of file.names) {
    const module = /^base_model\.model\.(.+)\.lora_[AB]\.weight$/.exec(name)?.[1]
    if (module === undefined || moduleShape(base, module) === undefined) throw misfit(file.path, name, 'the base model has no linear layer for this tensor')
    modules.add(module)
  }
  if (modules.size === 0) throw misfit(file.path, undefined, 'the adapter holds no tensors')
  const layers = new Map<string, AdapterLayer>()
  for (const module of modules) {
    const [rows, columns] = moduleShape(base, module) as readonly [number, number]
    const a = await readFactor(file, `${PREFIX}${module}.lora_A.weight`, [rank, columns])
    const b = await readFactor(file, `${PREFIX}${module}.lora_B.weight`, [rows, rank])
    layers.set(module, { a, b })
  }
  return layers
}

async function readFactor(file: SafetensorsFile, name: string, shape: readonly [number, number]): Promise<Float32Array> {
  const found = file.tensor(name)
  if (found === undefined) throw misfit(file.path, name, 'the other factor of this layer is missing')
  if (found.shape.length !== 2 || found.shape[0] !== shape[0] || found.shape[1] !== shape[1]) {
    throw misfit(file.path, name, `the tensor has shape [${found.shape.join(', ')}]`, `[${shape.join(', ')}], as the base model and the rank say`)
  }
  return file.readFloat32(name)
}

/** [output, input] features of a module of the base, or undefined when it has no such linear layer. */
function moduleShape(base: DecoderConfig, module: string): readonly [number, number] | undefined {
  if (module === 'lm_head') return [base.vocabularySize, base.hiddenSize]
  const match = /^model\.layers\.(\d+)\.(.+)$/.exec(module)
  if (match === null || Number(match[1]) >= base.layers) return undefined
  return linearLayers(base).find(({ path }) => path === match[2])?.shape
}

function misfit(file: string, field: string | undefined, what: string, expected = ''): UserError {
  return new UserError({ code: 'bad-input', what, place: field === undefined ? { file } : { file, field }, expected, remedy: REMEDY })
}

function lastPart(module: string): string {
  return module.slice(module.lastIndexOf('.') + 1)
}

function peftConfig(config: AdapterConfig): Record<string, unknown> {
  return {
    peft_type: 'LORA',
    task_type: 'CAUSAL_LM',
    base_model_name_or_path: config.baseModel,
    r: config.rank,
    lora_alpha: config.alpha,
    lora_dropout: config.dropout,
    target_modules: config.targetModules,
    use_rslora: config.rankStabilized,
    bias: 'none',
    fan_in_fan_out: false,
    inference_mode: true,
    init_lora_weights: true,
    modules_to_save: null,
  }
}
