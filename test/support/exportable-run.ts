// A run folder that can be exported, written in milliseconds and without training.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { runConfigSchema } from '../../src-main/contract/run-config.ts'
import type { DecoderConfig } from '../../src-main/engine/models/config.ts'
import { openModelFolder } from '../../src-main/engine/models/model-folder.ts'
import { createPolicyWeights } from '../../src-main/engine/models/policy-weights.ts'
import { writeCheckpoint } from '../../src-main/engine/training/checkpoint.ts'
import { createRunFolder, describeRun } from '../../src-main/engine/training/run-folder.ts'
import { cpu } from './evaluate.ts'
import { writeTinyModel } from './tiny-model.ts'

export interface ExportableRunOptions {
  /** False for a run that has none yet. */
  readonly checkpoint?: boolean
  /** What differs from the tiny model. */
  readonly model?: Partial<DecoderConfig>
}

/** Writes prompts, a base and a run over it whose adapter differs from zero, with a checkpoint of step 5. */
export async function writeExportableRun(folder: string, options: ExportableRunOptions = {}): Promise<{ folder: string; run: string; base: string }> {
  const [run, base, prompts] = [join(folder, 'run'), join(folder, 'base'), join(folder, 'prompts.jsonl')]
  await writeTinyModel(base, 'float32', options.model)
  await writeFile(prompts, ['Make a counter.', 'Make a list.'].map((prompt) => JSON.stringify({ prompt, reference: 'const x = 1' })).join('\n'))
  const config = runConfigSchema.parse({ name: 'small', model: base, data: { prompts }, adapter: { kind: 'lora', rank: 2, targets: ['q_proj', 'v_proj'] }, rollout: { maxNewTokens: 4 } })
  const model = await openModelFolder(base)
  const hash = await model.hash()
  const policy = await createPolicyWeights(await cpu(), model.config, (name) => model.readTensor(name), config.adapter, 1)
  await model.close()
  const held = await createRunFolder(run, describeRun(config, { model: hash, data: 'd'.repeat(64) }, '1'))
  policy.trainable.forEach(({ data }, index) => data.forEach((value, at) => (data[at] = value + 0.02 * Math.sin(at + index))))
  if (options.checkpoint !== false) {
    const zeros = new Map(policy.trainable.map(({ name, data }) => [name, new Float32Array(data.length)]))
    await writeCheckpoint(held, 5, { policy, optimizer: { updates: 5, m: zeros, v: zeros }, state: {} }, { keep: 1, baseModel: base, baseHash: hash })
  }
  await held.close()
  return { folder, run, base }
}
