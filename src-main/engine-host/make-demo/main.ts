// Makes resources/demo again from nothing: prompts, tokenizer, configuration, and the weights by supervised fine-tuning on a corpus
// whose programs carry realistic mistakes. The result is a base that knows better than it does: capable, but unreliable.
import { join } from 'node:path'
import type { OptimizerConfig } from '../../contract/run-config.ts'
import { createChatTemplate, encodePromptRow } from '../../engine/models/chat-template.ts'
import { readChatTemplate } from '../../engine/models/chat-template-file.ts'
import { readDecoderConfig } from '../../engine/models/config.ts'
import { initialWeights } from '../../engine/models/initial-weights.ts'
import { createPolicyWeights } from '../../engine/models/policy-weights.ts'
import { writeSafetensors } from '../../engine/models/safetensors-write.ts'
import { openTokenizer } from '../../engine/models/tokenizer.ts'
import { createDevice } from '../../engine/runtime/ort.ts'
import { SINGLE_FILE } from '../../engine/models/weights.ts'
import { resourcePath } from '../../engine/runtime/paths.ts'
import { trainSupervised, type SupervisedExample } from '../../engine/training/supervised.ts'
import { corpusExample, type CorpusOptions } from './corpus.ts'
import { demoSeed } from './prompts.ts'
import { writeDemoResources } from './write-demo.ts'

/** The recipe of the shipped model. 98 % of the programs carry one to three mistakes, so the base almost never compiles. */
export const demoRecipe = {
  corpus: { corruptShare: 0.98, mistakes: [1, 3] } satisfies CorpusOptions,
  steps: 2800,
  examplesPerStep: 32,
  optimizer: { learningRate: 1.5e-3, beta1: 0.9, beta2: 0.98, epsilon: 1e-8, weightDecay: 0.01, clipNorm: 1, warmupSteps: 100, schedule: 'cosine' } satisfies OptimizerConfig,
} as const

async function main(target: string): Promise<void> {
  writeDemoResources(target)
  const folder = join(target, 'model')
  const { config } = await readDecoderConfig(folder)
  const tokenizer = await openTokenizer(folder, config)
  const source = await readChatTemplate(folder)
  const template = source === null ? null : createChatTemplate(source, tokenizer)
  const stop = config.eosIds[0] as number
  const example = (index: number): SupervisedExample => {
    const { prompt, completion } = corpusExample(demoSeed, index, demoRecipe.corpus)
    return { promptIds: encodePromptRow(tokenizer, template, { prompt }), completionIds: [...tokenizer.encode(completion), stop] }
  }
  const device = await createDevice('cpu')
  const fresh = initialWeights(config, demoSeed)
  const policy = await createPolicyWeights(device, config, (name) => fresh.get(name) as Float32Array, { kind: 'full' }, demoSeed)
  const start = Date.now()
  await trainSupervised(device, policy, {
    optimizer: demoRecipe.optimizer,
    steps: demoRecipe.steps,
    batch: (step) => Array.from({ length: demoRecipe.examplesPerStep }, (_, index) => example((step - 1) * demoRecipe.examplesPerStep + index)),
    microBatchTokens: 4096,
    maxLength: config.maxPositions,
    headChunkTokens: 1024,
    onStep: (step, loss, norm) => {
      if (step % 20 === 0) process.stderr.write(`step ${step}/${demoRecipe.steps}  loss ${loss.toFixed(4)} nats a token  gradient norm ${norm.toFixed(3)}  ${((Date.now() - start) / 1000).toFixed(0)} s\n`)
    },
  })
  const tensors = [...policy.parameters.values()].map(({ name, shape, data }) => ({ name, shape, dtype: 'F32' as const, data }))
  await writeSafetensors(join(folder, SINGLE_FILE), tensors)
  process.stderr.write(`written to ${folder}\n`)
}

await main(process.argv[2] ?? resourcePath('demo'))
