// A process that writes checkpoints for ever, to be killed at any moment. Content depends on the step alone, so a reader can check it.
import { parseArgs } from 'node:util'
import type { DecoderConfig } from '../../src-main/engine/models/config.ts'
import { writeCheckpoint } from '../../src-main/engine/training/checkpoint.ts'
import type { CheckpointContent } from '../../src-main/engine/training/checkpoint.ts'

/** One layer of hidden size 4; only what an adapter needs of it matters. */
export const tinyDecoder: DecoderConfig = {
  family: 'llama', vocabularySize: 8, hiddenSize: 4, intermediateSize: 8, layers: 1, heads: 1, kvHeads: 1, headSize: 4, rmsEpsilon: 1e-5, ropeTheta: 1e4, rotaryDimensions: 4, ropeScaling: null,
  noRopeLayers: [], slidingWindow: null, maxPositions: 16, tieWordEmbeddings: true, packedProjections: false, qkvBias: false, outputBias: false, mlpBias: false, torchDtype: 'float32', bosId: null, eosIds: [1], padId: null,
}

/** Values of a checkpoint of `step`: every number says which step it belongs to. `width` makes the files larger. */
export function contentOf(step: number, kind: 'lora' | 'full', rank = 2): CheckpointContent {
  const names: readonly [string, readonly number[]][] =
    kind === 'full'
      ? [['model.embed_tokens.weight', [8, 4]], ['model.norm.weight', [4]]]
      : [['model.layers.0.self_attn.q_proj.lora_A.weight', [rank, 4]], ['model.layers.0.self_attn.q_proj.lora_B.weight', [4, rank]]]
  const filled = (shape: readonly number[], offset: number): Float32Array => new Float32Array(shape.reduce((product, size) => product * size, 1)).fill(step + offset)
  return {
    policy: {
      config: tinyDecoder,
      adapter: kind === 'full' ? { kind } : { kind, rank, alpha: 4, dropout: 0, targets: ['q_proj'] },
      trainable: names.map(([name, shape]) => ({ name, shape, data: filled(shape, 0), trainable: true, decayed: true })),
    },
    optimizer: { updates: step, m: new Map(names.map(([name, shape]) => [name, filled(shape, 0.25)])), v: new Map(names.map(([name, shape]) => [name, filled(shape, 0.5)])) },
    state: { position: step, stream: { key: [step, 1], stream: [2, 3], block: 4, used: 1 } },
  }
}

if (process.argv[1]?.endsWith('checkpoint-writer.mjs') === true) {
  const { positionals } = parseArgs({ allowPositionals: true })
  const directory = positionals[0] as string
  for (let step = Number(positionals[1]) + 1; ; step += 1) {
    // Every third step is written twice, as a stop right after a checkpoint does.
    for (let time = 0; time < (step % 3 === 0 ? 2 : 1); time += 1) await writeCheckpoint({ directory }, step, contentOf(step, 'lora', 4096), { keep: 2 })
    process.stdout.write(`${step}\n`)
  }
}
