// A model in one line, from its configuration and the headers of its weights: what it is, whether it is whole, and which base it is.
import { readdir, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { UserError } from '../../contract/errors.ts'
import type { DecoderConfig } from './config.ts'
import type { FoundModel } from './discover.ts'
import { openModelFolder } from './model-folder.ts'
import type { ModelFolder } from './model-folder.ts'
import { parameterCount } from './weights.ts'

/** `incomplete`: a file is missing; `unsupported`: a family or format that is not computed; `damaged`: anything else that is wrong. */
export type ModelState = 'ready' | 'incomplete' | 'unsupported' | 'damaged'

export interface ModelSummary extends FoundModel {
  readonly state: ModelState
  /** Why it is not ready, as a sentence. */
  readonly problem: string | null
  /** Bytes of all files. */
  readonly bytes: number
  /** Null unless the model is ready. */
  readonly details: ModelDetails | null
}

export interface ModelDetails {
  readonly family: string
  readonly parameters: number
  /** Type of the weights in the files: `bfloat16`, or what a GGUF file packs them in, `Q4_K`. */
  readonly storedType: string
  readonly contextTokens: number
  /** Which base model has exactly this geometry, or null. */
  readonly base: string | null
  readonly warnings: readonly string[]
}

/** A base model Satchel is made for: the numbers tell it apart whatever its folder is called. */
export interface BaseModel {
  readonly name: string
  readonly repository: string
  readonly geometry: Partial<DecoderConfig>
}

/** Layers, widths and vocabularies as their publishers' config.json has them. */
export const baseModels: readonly BaseModel[] = [
  { name: 'Qwen2.5-3B', repository: 'Qwen/Qwen2.5-3B', geometry: { family: 'qwen2', layers: 36, hiddenSize: 2048, intermediateSize: 11_008, heads: 16, kvHeads: 2, vocabularySize: 151_936 } },
  { name: 'SmolLM3-3B', repository: 'HuggingFaceTB/SmolLM3-3B', geometry: { family: 'smollm3', layers: 36, hiddenSize: 2048, intermediateSize: 11_008, heads: 16, kvHeads: 4, vocabularySize: 128_256 } },
  { name: 'Phi-4-mini-reasoning', repository: 'microsoft/Phi-4-mini-reasoning', geometry: { family: 'phi3', layers: 32, hiddenSize: 3072, intermediateSize: 8192, heads: 24, kvHeads: 8, vocabularySize: 200_064 } },
]

/** Looks at a found model: configuration and headers, not the weights themselves. Never throws for what is wrong with the model. */
export async function summariseModel(found: FoundModel): Promise<ModelSummary> {
  const bytes = await modelBytes(found.path)
  try {
    const model = await openModelFolder(found.path)
    try {
      return { ...found, state: 'ready', problem: null, bytes, details: detailsOf(model) }
    } finally {
      await model.close()
    }
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    return { ...found, state: stateOf(error), problem: error.message, bytes, details: null }
  }
}

/** What an opened model is. */
export function detailsOf({ config, warnings, quantisation }: Pick<ModelFolder, 'config' | 'warnings' | 'quantisation'>): ModelDetails {
  const base = baseModels.find(({ geometry }) => Object.entries(geometry).every(([field, value]) => config[field as keyof DecoderConfig] === value))
  return { family: config.family, parameters: parameterCount(config), storedType: quantisation ?? config.torchDtype, contextTokens: config.maxPositions, base: base?.name ?? null, warnings }
}

/** The model that serves as a base, of several of its geometry the one of its name. */
export function findBase(base: BaseModel, models: readonly ModelSummary[]): ModelSummary | undefined {
  const fitting = models.filter(({ details }) => details?.base === base.name)
  const named = fitting.find(({ name }) => name === base.repository || basename(name).toLowerCase() === base.name.toLowerCase())
  return named ?? fitting[0]
}

function stateOf(error: UserError): ModelState {
  const { code, place, what } = error.envelope
  if (code === 'not-found') return 'incomplete'
  const named = ['architectures', 'model_type', 'quantization_config', 'general.architecture'].includes(place.field ?? '')
  return named || /not supported|^tensors of type/.test(what) ? 'unsupported' : 'damaged'
}

/** Bytes of a file, or of the files that lie directly in a folder; links count as what they point to. Never throws. */
export async function modelBytes(path: string): Promise<number> {
  let sum = 0
  try {
    if (!(await stat(path)).isDirectory()) return (await stat(path)).size
    for (const name of await readdir(path)) sum += await stat(join(path, name)).then((file) => (file.isFile() ? file.size : 0), () => 0)
  } catch {
    // A place that is gone or closed is told by whoever opens it.
  }
  return sum
}
