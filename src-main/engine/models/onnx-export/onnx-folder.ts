// A policy as a folder that onnxruntime-genai and transformers.js load as it is.
//
//   onnx/model.onnx, onnx/model.onnx_data[_N]    the graph and its weights
//   genai_config.json                            for onnxruntime-genai
//   config.json                                  the base's, with what transformers.js wants to know
//   tokenizer.json and everything else beside the base
//   README.md                                    how to load it
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { UserError } from '../../../contract/errors.ts'
import { writeOnnxFile } from '../../graph/index.ts'
import { quantizationBlock } from '../../runtime/quantization.ts'
import { writeFileAtomically, writeFully, writeJsonAtomically } from '../atomic-file.ts'
import type { DecoderConfig } from '../config.ts'
import { rotaryRegime, rotaryTables, withRotaryRegime } from '../rotary.ts'
import { linearLayers } from '../weights.ts'
import { bitsOf, decoderGraph, ROTARY_TABLES } from './decoder-graph.ts'
import type { MatrixType } from './decoder-graph.ts'
import { genaiConfig } from './genai-config.ts'
import { placeWeights, writeWeightFiles } from './weight-files.ts'

export interface OnnxModel {
  readonly config: DecoderConfig
  /** The base's config.json. */
  readonly rawConfig: Readonly<Record<string, unknown>>
  readonly readTensor: (name: string) => Promise<Float32Array>
  readonly type: MatrixType
  /** Longest prompt plus completion of the run, which decides the rotary factors for good. */
  readonly longest: number
}

/** The ONNX file from the folder, with forward slashes on every system. */
export const MODEL_FILE = 'onnx/model.onnx'

/**
 * Writes graph, weights, configurations and README into `folder`, where side files may lie already.
 * @throws UserError `bad-input` for a type that the model's sizes do not allow
 */
export async function writeOnnxFolder(folder: string, model: OnnxModel): Promise<void> {
  const { config, type } = model
  refuseOddSizes(config, type)
  const positions = longestText(config, model.longest)
  const graph = decoderGraph(config, positions, type)
  const weights = graph.inputs.filter(({ name }) => !/^(input_ids|attention_mask|position_ids|past_key_values\..+)$/.test(name))
  const placement = placeWeights(weights, type, 'model.onnx')
  const tables = tablesOf(config, positions, model.longest)
  await mkdir(join(folder, 'onnx'), { recursive: true })
  await writeWeightFiles(join(folder, 'onnx'), weights, placement, type, async (name) => tables.get(name) ?? (await model.readTensor(name)))
  await write(join(folder, 'onnx', 'model.onnx'), writeOnnxFile(graph, 'cpu', placement.tensors))
  await writeJsonAtomically(join(folder, 'genai_config.json'), genaiConfig(config, MODEL_FILE, positions))
  const scripts = { dtype: 'fp32', kv_cache_dtype: 'fp32', use_external_data_format: { 'model.onnx': placement.files.length } }
  await writeJsonAtomically(join(folder, 'config.json'), { ...model.rawConfig, tie_word_embeddings: config.tieWordEmbeddings, 'transformers.js_config': scripts })
  await write(join(folder, 'README.md'), Buffer.from(readme(model, positions), 'utf8'))
}

/**
 * Tokens the exported model takes. The rotary factors are those of the run: under LongRoPE's short ones it ends where they end, since
 * caches made with them would not fit the long ones.
 */
function longestText(config: DecoderConfig, longest: number): number {
  return config.ropeScaling !== null && rotaryRegime(config, longest) === 'short' ? Math.min(config.maxPositions, config.ropeScaling.originalPositions) : config.maxPositions
}

/** Rotary tables over all positions, in the run's regime at every length. */
function tablesOf(config: DecoderConfig, positions: number, longest: number): ReadonlyMap<string, Float32Array> {
  const { cos, sin } = rotaryTables(withRotaryRegime(config, rotaryRegime(config, longest)), positions)
  return new Map([[ROTARY_TABLES.cos, cos], [ROTARY_TABLES.sin, sin]])
}

function refuseOddSizes(config: DecoderConfig, type: MatrixType): void {
  if (bitsOf[type] === undefined) return
  const odd = linearLayers(config).find(({ shape: [, inSize] }) => inSize % quantizationBlock !== 0)
  if (odd === undefined) return
  throw new UserError({ code: 'bad-input', what: `a matrix with ${odd.shape[1]} inputs cannot be stored as ${type}`, place: { field: odd.name }, expected: `a multiple of ${quantizationBlock} inputs`, remedy: 'Choose --type float16 or float32.' })
}

function readme({ config, type, longest }: OnnxModel, positions: number): string {
  const regime = config.ropeScaling === null ? '' : `
Rotary factors: the ${rotaryRegime(config, longest)} ones of LongRoPE at every length, as in training, whose texts reached ${longest} tokens.
`
  const held: Readonly<Record<MatrixType, string>> = {
    float32: 'Weights are float32.',
    float16: 'Weights are stored as float16 and computed with in float32.',
    int8: 'Matrices of the layers are held in blocks of 8 bits, embedding and output projection as float16; everything is computed in float32.',
    int4: 'Matrices of the layers are held in blocks of 4 bits, embedding and output projection as float16; everything is computed in float32.',
  }
  return `# A policy trained with Satchel, as ONNX

A ${config.family} decoder of ${config.layers} layers, for texts of up to ${positions} tokens. ${held[type]} Key/value caches are float32.
${regime}
What was compared with the run, and how well it agrees, is in \`export.json\`.

## onnxruntime-genai

    import onnxruntime_genai as og
    model = og.Model(".")
    tokenizer = og.Tokenizer(model)
    parameters = og.GeneratorParams(model)
    parameters.set_search_options(max_length=${Math.min(positions, 512)})
    generator = og.Generator(model, parameters)
    generator.append_tokens(tokenizer.encode("..."))
    while not generator.is_done():
        generator.generate_next_token()
    print(tokenizer.decode(generator.get_sequence(0)))

## transformers.js

    import { env, pipeline } from '@huggingface/transformers'
    env.allowRemoteModels = false
    env.localModelPath = '/the/folder/above'
    const generate = await pipeline('text-generation', 'this-folder', { dtype: 'fp32' })
    console.log(await generate('...', { max_new_tokens: 100 }))

Batches of texts of unequal length must be padded on the right.
`
}

async function write(path: string, bytes: Uint8Array): Promise<void> {
  await writeFileAtomically(path, async (handle) => writeFully(handle, bytes))
}
