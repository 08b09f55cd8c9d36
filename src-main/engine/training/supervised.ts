// Supervised fine-tuning with the machinery of the reinforcement loop: the same passes, the same optimizer, cross-entropy instead of reward.
import type { OptimizerConfig } from '../../contract/run-config.ts'
import type { PolicyWeights } from '../models/policy-weights.ts'
import type { Device } from '../runtime/ort.ts'
import { createOptimizer } from './optimizer.ts'
import { createPass, gradientArrays, packMicroBatches } from './passes.ts'

export interface SupervisedExample {
  readonly promptIds: readonly number[]
  /** Ids to learn, the stop id included. */
  readonly completionIds: readonly number[]
}

export interface SupervisedOptions {
  readonly optimizer: OptimizerConfig
  readonly steps: number
  /** Examples of step `step` (from 1). */
  readonly batch: (step: number) => readonly SupervisedExample[]
  readonly microBatchTokens: number
  readonly maxLength: number
  readonly headChunkTokens: number
  /** Called after every step with the mean loss a token (nats). */
  readonly onStep?: (step: number, loss: number, gradientNorm: number) => void
}

/** Trains all trainable parameters on the mean cross-entropy of completion tokens. Returns the last step's loss. */
export async function trainSupervised(device: Device, policy: PolicyWeights, options: SupervisedOptions): Promise<number> {
  const pass = createPass(device, policy, { layout: 'whole', temperature: 1, loss: { kind: 'supervised' }, maxLength: options.maxLength, headChunkTokens: options.headChunkTokens })
  const optimizer = createOptimizer(policy, options.optimizer, options.steps)
  const gradients = gradientArrays(policy)
  let loss = 0
  for (let step = 1; step <= options.steps; step++) {
    const examples = options.batch(step)
    const tokens = examples.reduce((sum, { completionIds }) => sum + completionIds.length, 0)
    const sequences = examples.map(({ promptIds, completionIds }) => ({
      ids: [...promptIds, ...completionIds],
      from: promptIds.length,
      columns: { weight: new Float32Array(completionIds.length).fill(1 / tokens) },
    }))
    loss = 0
    for (const { batch } of packMicroBatches(sequences, options.microBatchTokens)) loss += (await pass.backward(batch, gradients)).loss
    const { gradientNorm, applied } = optimizer.update(gradients)
    if (!applied) throw new Error(`supervised step ${step}: the gradient is not finite`)
    await policy.refresh()
    options.onStep?.(step, loss, gradientNorm)
  }
  await pass.release()
  return loss
}
