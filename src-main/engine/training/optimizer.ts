// AdamW over the policy's trainable parameters, with gradient clipping and a learning-rate schedule.
import type { OptimizerConfig } from '../../contract/run-config.ts'
import type { PolicyWeights } from '../models/policy-weights.ts'
import { adamW, squaredNorm } from '../runtime/kernels.ts'

/** What a checkpoint keeps of the optimizer. */
export interface OptimizerState {
  /** Updates done. */
  readonly updates: number
  readonly m: ReadonlyMap<string, Float32Array>
  readonly v: ReadonlyMap<string, Float32Array>
}

export interface UpdateResult {
  /** Norm of the gradient before clipping. */
  readonly gradientNorm: number
  readonly learningRate: number
  /** False when the gradient was not finite: then nothing was changed. */
  readonly applied: boolean
}

export interface Optimizer {
  /** One AdamW update from summed gradients, which are zeroed afterwards. */
  update(gradients: ReadonlyMap<string, Float32Array>): UpdateResult
  readonly state: OptimizerState
  /** Takes rates, decay and clipping of the next updates from another configuration; moments and the number of updates stay. */
  configure(config: OptimizerConfig): void
  restore(state: OptimizerState): void
}

/**
 * Learning rate of update `update` (from 1): linear warm-up over `warmupSteps`, then constant, linear or cosine to zero at `totalUpdates`.
 */
export function learningRateAt(config: OptimizerConfig, update: number, totalUpdates: number): number {
  if (update <= config.warmupSteps) return (config.learningRate * update) / config.warmupSteps
  const span = Math.max(1, totalUpdates - config.warmupSteps)
  const progress = Math.min(1, (update - 1 - config.warmupSteps) / span)
  switch (config.schedule) {
    case 'constant':
      return config.learningRate
    case 'linear':
      return config.learningRate * (1 - progress)
    case 'cosine':
      return config.learningRate * 0.5 * (1 + Math.cos(Math.PI * progress))
  }
}

export function createOptimizer(policy: PolicyWeights, initial: OptimizerConfig, totalUpdates: number): Optimizer {
  let config = initial
  const zeros = (): Map<string, Float32Array> => new Map(policy.trainable.map(({ name, data }) => [name, new Float32Array(data.length)]))
  let state: { updates: number; m: Map<string, Float32Array>; v: Map<string, Float32Array> } = { updates: 0, m: zeros(), v: zeros() }
  return {
    get state() {
      return state
    },
    configure(next) {
      config = next
    },
    restore(saved) {
      const copy = (kind: 'm' | 'v'): Map<string, Float32Array> =>
        new Map(policy.trainable.map(({ name, data }) => {
          const values = saved[kind].get(name)
          if (values === undefined || values.length !== data.length) throw new Error(`the optimizer's ${kind} of ${name} has ${values?.length ?? 'no'} elements, expected ${data.length}`)
          return [name, values.slice()]
        }))
      state = { updates: saved.updates, m: copy('m'), v: copy('v') }
    },
    update(gradients) {
      let squares = 0
      for (const { name } of policy.trainable) squares += squaredNorm(gradients.get(name) as Float32Array)
      const gradientNorm = Math.sqrt(squares)
      const update = state.updates + 1
      const learningRate = learningRateAt(config, update, totalUpdates)
      const applied = Number.isFinite(gradientNorm)
      if (applied) {
        const gradientScale = gradientNorm > config.clipNorm ? config.clipNorm / gradientNorm : 1
        for (const { name, data, decayed } of policy.trainable) {
          adamW(data, gradients.get(name) as Float32Array, state.m.get(name) as Float32Array, state.v.get(name) as Float32Array, {
            step: update, learningRate, beta1: config.beta1, beta2: config.beta2, epsilon: config.epsilon, weightDecay: decayed ? config.weightDecay : 0, gradientScale,
          })
        }
        state.updates = update
      }
      for (const gradient of gradients.values()) gradient.fill(0)
      return { gradientNorm, learningRate, applied }
    },
  }
}
