// The formats of an export: what each writes into a folder, and how a stranger would open it again.
import { mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { AdapterConfig } from '../../contract/run-config.ts'
import { adapterOf } from '../training/checkpoint.ts'
import { adapterScale, mergeAdapter, readAdapter, writeAdapter } from './adapter.ts'
import { writeJsonAtomically } from './atomic-file.ts'
import type { DecoderConfig, StoredType } from './config.ts'
import { generationConfigToJson } from './config.ts'
import { askPolicy } from './export-comparison.ts'
import type { Answers } from './export-comparison.ts'
import { copySideFiles, writeMergedModel } from './export-merged.ts'
import type { ExportFormat, ExportRequest, ExportSource, ExportType } from './export.ts'
import { openFrozenLayers } from './frozen-layers.ts'
import { exportGguf } from './gguf/export-gguf.ts'
import type { GgufType } from './gguf/export-gguf.ts'
import { isGgufPath } from './gguf/model.ts'
import { copyTokenizerFiles, openModelFolder, writeModelFolder } from './model-folder.ts'
import type { ModelFolder } from './model-folder.ts'
import type { MatrixType } from './onnx-export/decoder-graph.ts'
import { askOnnxModel } from './onnx-export/model-file.ts'
import { MODEL_FILE, writeOnnxFolder } from './onnx-export/onnx-folder.ts'
import { createPolicyWeights, HEAD } from './policy-weights.ts'
import type { PolicyWeights } from './policy-weights.ts'
import { rotaryRegime, withRotaryRegime } from './rotary.ts'
import { parameterCount } from './weights.ts'

/** What a writer has to work with. */
export interface WriterInput {
  readonly source: ExportSource
  readonly base: ModelFolder
  /** The type asked for; one of `exportTypes`. */
  readonly storedType: ExportType | undefined
  /** Beside the run's weights there may be no room for those of the written files. */
  readonly lean: boolean
  readonly onTensor: (done: number, total: number) => void
  readonly onChecked: (done: number, total: number) => void
}

/** Files in a folder, and how they answer when they are opened. */
export interface Written {
  readonly storedType: ExportType
  readonly notes: readonly string[]
  readonly ask: () => Promise<Answers>
}

/** Types each format can store. */
export const exportTypes = {
  adapter: ['float32'],
  merged: ['float32', 'float16', 'bfloat16'],
  gguf: ['float32', 'float16', 'bfloat16', 'q8_0'],
  onnx: ['float32', 'float16', 'int8', 'int4'],
} as const satisfies Readonly<Record<ExportFormat, readonly ExportType[]>>

const ggufTypes: Readonly<Record<(typeof exportTypes.gguf)[number], GgufType>> = { float32: 'f32', float16: 'f16', bfloat16: 'bf16', q8_0: 'q8_0' }

/** Parameters from which a model is large: held twice in float32 it would take more than 2.4 GB. */
const LARGE = 300e6

/** Fills an empty or absent folder with an export. */
export const writers: Readonly<Record<ExportFormat, (folder: string, input: WriterInput) => Promise<Written>>> = { adapter: writePeft, merged: writeMerged, gguf: writeGguf, onnx: writeOnnx }

async function writePeft(folder: string, input: WriterInput): Promise<Written> {
  const { source, base, onChecked } = input
  const { policy, device } = source
  const baseHash = await base.hash()
  await writeAdapter(folder, adapterOf(policy, resolve(source.base)), base.config, { baseHash })
  const ask = async (): Promise<Answers> => {
    const adapter = await readAdapter(folder, base.config, baseHash)
    const copy = await weightsOf(base, input, policy.adapter)
    for (const { name, data } of copy.trainable) {
      const layer = adapter.layers.get(name.replace(/\.lora_[AB]\.weight$/, ''))
      if (layer !== undefined) data.set(name.endsWith('.lora_A.weight') ? layer.a : layer.b)
    }
    await copy.refresh()
    return askPolicy(device, copy, source.texts, onChecked)
  }
  return { storedType: 'float32', notes: [], ask }
}

async function writeMerged(folder: string, input: WriterInput): Promise<Written> {
  const { source, base } = input
  const storedType = input.storedType as StoredType | undefined
  const { config, readTensor } = mergedTensors(input)
  if (isGgufPath(base.folder)) {
    // It has no layout of a folder to keep.
    const type = storedType ?? halfOrWhole(base)
    await writeModelFolder(folder, { config, tensors: readTensor, storedType: type, rawConfig: base.rawConfig, rawGeneration: base.rawGeneration, tokenizerFrom: base.folder })
    return { storedType: type, notes: [], ask: () => askFolder(folder, input) }
  }
  const notes = await writeMergedModel(folder, { base, config, readTensor, ...(storedType === undefined ? {} : { storedType }) })
  return { storedType: storedType ?? source.policy.config.torchDtype, notes, ask: () => askFolder(folder, input) }
}

async function writeGguf(folder: string, input: WriterInput): Promise<Written> {
  const { source, base } = input
  const storedType = (input.storedType ?? halfOrWhole(base)) as (typeof exportTypes.gguf)[number]
  const type = ggufTypes[storedType]
  const { config, readTensor } = mergedTensors(input)
  await mkdir(folder, { recursive: true })
  const file = join(folder, `${source.name}-${type}.gguf`)
  const { notes } = await exportGguf(file, { config, tensors: readTensor, type, tokenizerFrom: base.folder, name: source.name })
  return { storedType, notes, ask: () => askFolder(file, input) }
}

async function writeOnnx(folder: string, input: WriterInput): Promise<Written> {
  const { source, base } = input
  const type = (input.storedType ?? halfOrWhole(base)) as MatrixType
  await mkdir(folder, { recursive: true })
  if (isGgufPath(base.folder)) {
    await copyTokenizerFiles(base.folder, folder)
    await writeJsonAtomically(join(folder, 'generation_config.json'), generationConfigToJson(base.config))
  } else await copySideFiles(base.folder, folder)
  const { config, readTensor } = mergedTensors(input)
  await writeOnnxFolder(folder, { config: sameRegime(config, source), rawConfig: base.rawConfig, readTensor, type, longest: source.texts.longest })
  return { storedType: type, notes: [], ask: () => askOnnxModel(source.device, join(folder, MODEL_FILE), source.texts, { lean: input.lean, onProgress: input.onChecked }) }
}

/** float16 holds bfloat16's numbers as they are, but for some that hardly occur, and keeps three more bits of what training changed. */
function halfOrWhole({ config }: ModelFolder): 'float32' | 'float16' {
  return config.torchDtype === 'float32' ? 'float32' : 'float16'
}

/** Bytes a number takes, scales included. */
const BYTES: Readonly<Record<ExportType, number>> = { float32: 4, float16: 2, bfloat16: 2, q8_0: 1.0625, int8: 1.125, int4: 0.625 }

/** About what an export takes on the disk: its weights. What is left in float16 beside blocks is counted as if it were in them. */
export function expectedBytes({ policy }: ExportSource, base: ModelFolder, { format, storedType }: Pick<ExportRequest, 'format' | 'storedType'>): number {
  if (format === 'adapter') return policy.trainable.reduce((sum, { data }) => sum + data.byteLength, 0)
  return parameterCount(base.config) * BYTES[storedType ?? (format === 'merged' && !isGgufPath(base.folder) ? base.config.torchDtype : halfOrWhole(base))]
}

/** Opens a folder or GGUF file as any model is opened. */
async function askFolder(path: string, input: WriterInput): Promise<Answers> {
  const { source, onChecked } = input
  const written = await openModelFolder(path)
  try {
    return await askPolicy(source.device, await weightsOf(written, input, { kind: 'lora', rank: 1, alpha: 1, dropout: 0, targets: [] }), source.texts, onChecked)
  } finally {
    await written.close()
  }
}

/** A model's weights in the run's rotary regime. */
async function weightsOf(model: ModelFolder, { source, lean }: WriterInput, adapter: AdapterConfig): Promise<PolicyWeights> {
  const config = sameRegime(model.config, source)
  const layers = lean ? await openFrozenLayers(config, model, { precision: 'stored', streamLayers: true }) : undefined
  return createPolicyWeights(source.device, config, (name) => model.readTensor(name), adapter, 0, layers)
}

/** Whether a model is too large to be held twice without a thought. */
export function isLarge(config: DecoderConfig): boolean {
  return parameterCount(config) > LARGE
}

/** The written model in the run's rotary regime: whether the weights are the same is what is asked, not how others choose the factors. */
function sameRegime(config: DecoderConfig, { policy, texts }: ExportSource): DecoderConfig {
  return withRotaryRegime(config, rotaryRegime(policy.config, texts.longest))
}

/** The policy's tensors by the base's names, adapters folded in, and the configuration they need. */
function mergedTensors({ source: { policy }, base, onTensor }: WriterInput): { readonly config: DecoderConfig; readonly readTensor: (name: string) => Promise<Float32Array> } {
  const { adapter } = policy
  // An adapted head is no longer the embedding: the merged model keeps both.
  const config = adapter.kind === 'lora' && adapter.targets.includes(HEAD) ? { ...base.config, tieWordEmbeddings: false } : base.config
  const read = adapter.kind === 'lora' ? adaptedTensors(policy, base) : (name: string) => Promise.resolve(parameterOf(policy, name))
  let done = 0
  return {
    config,
    readTensor: async (name) => {
      onTensor(done, base.names.length)
      const tensor = await read(name)
      done += 1
      onTensor(done, Math.max(done, base.names.length))
      return tensor
    },
  }
}

function adaptedTensors(policy: PolicyWeights, base: ModelFolder): (name: string) => Promise<Float32Array> {
  const adapter = adapterOf(policy, null)
  if (policy.adapter.kind !== 'lora' || adapterScale(adapter.config) !== policy.adapter.alpha / policy.adapter.rank) throw new Error('the adapter is scaled in another way than the policy')
  // A tied head is stored as the embedding.
  return mergeAdapter((name) => base.readTensor(name === `${HEAD}.weight` && !base.has(name) ? 'model.embed_tokens.weight' : name), adapter)
}

function parameterOf(policy: PolicyWeights, name: string): Float32Array {
  const parameter = policy.parameters.get(name)
  if (parameter === undefined) throw new Error(`the policy has no tensor ${name}`)
  return parameter.data
}
