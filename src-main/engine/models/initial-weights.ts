// Fresh weights for a model that is trained from nothing (the built-in one).
import { createStream } from '../runtime/random.ts'
import type { DecoderConfig } from './config.ts'
import { expectedTensors } from './weights.ts'

/**
 * Normal weights of standard deviation 0.02, the projections that add to the residual stream scaled by 1/sqrt(2 layers) (GPT-2, 2.3);
 * norms one, biases zero. Each tensor has a stream of its own, so its values do not depend on the others.
 */
export function initialWeights(config: DecoderConfig, seed: number): Map<string, Float32Array> {
  return new Map(
    expectedTensors(config).map(({ name, shape }, index) => {
      const data = new Float32Array(shape.reduce((product, size) => product * size, 1))
      if (name.endsWith('norm.weight')) return [name, data.fill(1)]
      if (shape.length === 1) return [name, data]
      const stream = createStream(seed, 'initial-weights', index)
      const residual = name.endsWith('o_proj.weight') || name.endsWith('down_proj.weight')
      const deviation = residual ? 0.02 / Math.sqrt(2 * config.layers) : 0.02
      for (let i = 0; i < data.length; i++) data[i] = stream.normal() * deviation
      return [name, data]
    }),
  )
}
