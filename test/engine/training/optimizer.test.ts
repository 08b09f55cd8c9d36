import { describe, expect, it } from 'vitest'
import { optimizerConfigSchema } from '../../../src-main/contract/run-config.ts'
import type { Parameter } from '../../../src-main/engine/models/policy-weights.ts'
import { createOptimizer, learningRateAt } from '../../../src-main/engine/training/optimizer.ts'

const parameter = (name: string, values: number[], decayed = true): Parameter => ({ name, shape: [values.length], data: Float32Array.from(values), trainable: true, decayed })
const policyOf = (...trainable: Parameter[]) => ({ trainable }) as never

describe('learning rate', () => {
  it('warms up linearly and then follows its schedule to zero', () => {
    const config = (schedule: 'constant' | 'linear' | 'cosine') => optimizerConfigSchema.parse({ learningRate: 1, warmupSteps: 4, schedule })
    expect([1, 2, 4].map((update) => learningRateAt(config('linear'), update, 14))).toEqual([0.25, 0.5, 1])
    expect(learningRateAt(config('constant'), 14, 14)).toBe(1)
    expect(learningRateAt(config('linear'), 10, 14)).toBeCloseTo(0.5, 12)
    expect(learningRateAt(config('cosine'), 10, 14)).toBeCloseTo(0.5, 12)
    expect(learningRateAt(config('cosine'), 15, 14)).toBeCloseTo(0, 12)
  })
})

describe('an update', () => {
  it('clips the norm over all tensors and moves against the gradient', () => {
    const [a, b] = [parameter('a', [1]), parameter('b', [1])]
    const optimizer = createOptimizer(policyOf(a, b), optimizerConfigSchema.parse({ learningRate: 0.1, clipNorm: 1 }), 10)
    const gradients = new Map([['a', Float32Array.of(3)], ['b', Float32Array.of(-4)]])
    expect(optimizer.update(gradients)).toMatchObject({ gradientNorm: 5, learningRate: 0.1, applied: true })
    // The first Adam step has unit size whatever the gradient's scale.
    expect(a.data[0]).toBeCloseTo(0.9, 6)
    expect(b.data[0]).toBeCloseTo(1.1, 6)
    expect(optimizer.state.m.get('a')![0]).toBeCloseTo(0.1 * 0.6, 7) // (1 - beta1) * gradient / 5
    expect(gradients.get('a')![0]).toBe(0)
  })

  it('decays matrices only', () => {
    const [matrix, vector] = [parameter('matrix', [1]), parameter('vector', [1], false)]
    const optimizer = createOptimizer(policyOf(matrix, vector), optimizerConfigSchema.parse({ learningRate: 0.1, weightDecay: 0.5 }), 10)
    optimizer.update(new Map([['matrix', Float32Array.of(0)], ['vector', Float32Array.of(0)]]))
    expect(matrix.data[0]).toBeCloseTo(0.95, 6)
    expect(vector.data[0]).toBe(1)
  })

  it('changes nothing when the gradient is not finite, and forgets it', () => {
    const a = parameter('a', [1, 2])
    const optimizer = createOptimizer(policyOf(a), optimizerConfigSchema.parse({}), 10)
    const gradients = new Map([['a', Float32Array.of(1, Number.NaN)]])
    expect(optimizer.update(gradients).applied).toBe(false)
    expect([...a.data]).toEqual([1, 2])
    expect(optimizer.state.updates).toBe(0)
    expect([...gradients.get('a')!]).toEqual([0, 0])
  })
})
