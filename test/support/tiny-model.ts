// A model folder with random weights and the built-in tokenizer: knows nothing, runs in milliseconds.
import { writeModelFolder } from '../../src-main/engine/models/model-folder.ts'
import type { DecoderConfig, StoredType } from '../../src-main/engine/models/config.ts'
import { expectedTensors } from '../../src-main/engine/models/weights.ts'
import { resourcePath } from '../../src-main/engine/runtime/paths.ts'
import { createStream } from '../../src-main/engine/runtime/random.ts'
import { openTokenizer } from '../../src-main/engine/models/tokenizer.ts'

/** Writes the folder. Context 128 tokens, 2 layers of width 32; a Qwen2 decoder unless `change` says otherwise. */
export async function writeTinyModel(folder: string, storedType: StoredType = 'float32', change: Partial<DecoderConfig> = {}): Promise<DecoderConfig> {
  const tokenizerFrom = resourcePath('demo', 'model')
  const tokenizer = await openTokenizer(tokenizerFrom, { vocabularySize: 1 << 20 })
  const config: DecoderConfig = {
    family: 'qwen2', vocabularySize: Math.ceil(tokenizer.size / 64) * 64, hiddenSize: 32, intermediateSize: 64, layers: 2, heads: 2, kvHeads: 1, headSize: 16, rmsEpsilon: 1e-6, ropeTheta: 1e4, rotaryDimensions: 16,
    ropeScaling: null, noRopeLayers: [], slidingWindow: null, maxPositions: 128, tieWordEmbeddings: true, packedProjections: false, qkvBias: true, outputBias: false, mlpBias: false, torchDtype: storedType, bosId: null,
    eosIds: [tokenizer.idOf('<|im_end|>') as number], padId: null, ...change,
  }
  const names = expectedTensors(config).map(({ name }) => name)
  const shapes = new Map(expectedTensors(config).map(({ name, shape }) => [name, shape]))
  await writeModelFolder(folder, {
    config,
    storedType,
    tokenizerFrom,
    tensors: (name) => {
      const stream = createStream(1, 'tiny model', names.indexOf(name))
      const shape = shapes.get(name) ?? []
      const size = shape.reduce((product, dimension) => product * dimension, 1)
      return Float32Array.from({ length: size }, () => (name.includes('norm') ? 1 : 0.1 * stream.normal()))
    },
  })
  return config
}
