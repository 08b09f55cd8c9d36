// A whole model as one GGUF file that llama.cpp and what builds on it load.
import { stat } from 'node:fs/promises'
import type { DecoderConfig } from '../config.ts'
import { metadataOfConfig, ropeTensors } from './architectures.ts'
import { READABLE_TYPES } from './format.ts'
import type { WritableType } from './quantise.ts'
import { ggufTensors, interleaveHeads } from './tensors.ts'
import type { NamedTensor } from './tensors.ts'
import { metadataOfTokenizer, readTokenizerSource } from './tokenizer-metadata.ts'
import { writeGguf } from './write.ts'
import type { GgufTensorSource, MetadataEntry } from './write.ts'

/** How matrices are stored, by llama.cpp's names. Vectors are float32 always. */
export const GGUF_TYPES = ['f32', 'f16', 'bf16', 'q8_0'] as const
export type GgufType = (typeof GGUF_TYPES)[number]

/** What {@link exportGguf} writes. */
export interface GgufContent {
  readonly config: DecoderConfig
  /** Values by Hugging Face name, loaded when their turn comes. All of `expectedTensors(config)` must be there. */
  readonly tensors: (name: string) => Float32Array | Promise<Float32Array>
  readonly type: GgufType
  /** Model folder or GGUF file whose tokenizer and chat template go into the file. */
  readonly tokenizerFrom: string
  /** Shown by the programs that load the file. */
  readonly name: string
}

export interface GgufReport {
  readonly file: string
  readonly type: GgufType
  readonly bytes: number
  /** Sentences for whoever uses the file: what other programs may do otherwise, which tensors have another type. */
  readonly notes: readonly string[]
}

const STORED: Readonly<Record<GgufType, WritableType>> = { f32: 'F32', f16: 'F16', bf16: 'BF16', q8_0: 'Q8_0' }
/** llama.cpp's numbers for what most of a file's weights are (LLAMA_FTYPE_*). */
const FILE_TYPES: Readonly<Record<GgufType, number>> = { f32: 0, f16: 1, bf16: 32, q8_0: 7 }

/**
 * Writes a model, one tensor in memory at a time. The file is made under another name, synced and renamed; an old one is replaced.
 * @throws UserError `bad-input` for a model or tokenizer that GGUF cannot express, `storage` when the disk is full or not writable: nothing
 * is left then, an old file is untouched; and whatever `content.tensors` throws
 */
export async function exportGguf(file: string, content: GgufContent): Promise<GgufReport> {
  const { config, type, name } = content
  const tokenizer = metadataOfTokenizer(await readTokenizerSource(content.tokenizerFrom), config)
  const metadata: MetadataEntry[] = [
    { key: 'general.architecture', type: 'string', value: config.family },
    { key: 'general.type', type: 'string', value: 'model' },
    { key: 'general.name', type: 'string', value: harmlessName(name) },
    { key: 'general.file_type', type: 'u32', value: FILE_TYPES[type] },
    { key: 'general.quantization_version', type: 'u32', value: 2 },
    ...metadataOfConfig(config),
    ...tokenizer.entries,
  ]
  const tensors = sources(content)
  await writeGguf(file, metadata, tensors)
  return { file, type, bytes: (await stat(file)).size, notes: [...tokenizer.notes, ...typeNotes(tensors, STORED[type])] }
}

/** llama.cpp looks for SentencePiece tokens in files of this name, and loads none that lack them. */
function harmlessName(name: string): string {
  return name.replace(/phi-?3/gi, 'phi 3')
}

function sources({ config, tensors, type }: GgufContent): GgufTensorSource[] {
  const layers = ggufTensors(config).map((tensor) => ({ name: tensor.stored, type: storedType(tensor, STORED[type]), shape: tensor.shape, data: async () => inFileOrder(await tensors(tensor.name), tensor) }))
  const factors = ropeTensors(config).map(({ name, values }) => ({ name, type: 'F32' as const, shape: [values.length], data: () => values }))
  return [...factors, ...layers]
}

/** Vectors stay exact; rows that are no whole blocks are stored in half precision, as llama.cpp does it. */
function storedType({ shape }: NamedTensor, wanted: WritableType): WritableType {
  if (shape.length === 1) return 'F32'
  return (shape.at(-1) as number) % READABLE_TYPES[wanted].block === 0 ? wanted : 'F16'
}

function inFileOrder(values: Float32Array, { shape, interleavedHeads }: NamedTensor): Float32Array {
  return interleavedHeads === 0 ? values : interleaveHeads(values, shape[0] as number, interleavedHeads)
}

function typeNotes(tensors: readonly GgufTensorSource[], wanted: WritableType): string[] {
  const others = tensors.filter(({ type, shape }) => shape.length > 1 && type !== wanted)
  return others.length === 0 ? [] : [`${others.length} matrices whose rows are no whole blocks of ${READABLE_TYPES[wanted].block} are stored as F16`]
}
