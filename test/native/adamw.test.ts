import { describe, expect, it } from 'vitest'
import { adamW } from '../../src-main/engine/runtime/kernels.ts'
import type { AdamWOptions, Kernels } from '../../src-main/engine/runtime/kernels.ts'
import { createStream } from '../../src-main/engine/runtime/random.ts'
import { implementations, largestDifference, loaded, sameBits } from './support.ts'

const usual: AdamWOptions = { learningRate: 1e-3, beta1: 0.9, beta2: 0.99, epsilon: 1e-8, weightDecay: 0.1, gradientScale: 1, step: 1 }

/** Several updates with changing gradients of normal numbers. */
function train(kernels: Kernels, count: number, steps: number, options: Partial<AdamWOptions> = {}): { parameter: Float32Array; m: Float32Array; v: Float32Array } {
  const stream = createStream(1, 'adamw')
  const parameter = Float32Array.from({ length: count }, () => stream.normal())
  const m = new Float32Array(count)
  const v = new Float32Array(count)
  for (let step = 1; step <= steps; step++) {
    const gradient = Float32Array.from({ length: count }, () => 0.1 * stream.normal())
    kernels.adamW(parameter, gradient, m, v, { ...usual, ...options, step })
  }
  return { parameter, m, v }
}

describe.each(implementations)('AdamW, %s', (_, kernels) => {
  it('takes the two first steps as worked out by hand', () => {
    // p = 1, g = .5 then -.25; lr .1, betas .9 and .99, eps 0, decay .1. Step 1: p (1 - .01) - .1 * (.05/.1) / sqrt(.0025/.01) = .89.
    // Step 2: m = .9*.05 - .1*.25 = .02, /.19 = .105263; v = .99*.0025 + .01*.0625 = .0031, /.0199 = .155779, root .394688;
    // p = .89*.99 - .1*.105263/.394688 = .8811 - .0266700 = .8544300
    const options = { ...usual, learningRate: 0.1, epsilon: 0, weightDecay: 0.1 }
    const parameter = Float32Array.of(1)
    const m = Float32Array.of(0)
    const v = Float32Array.of(0)
    kernels.adamW(parameter, Float32Array.of(0.5), m, v, options)
    expect(parameter[0]).toBeCloseTo(0.89, 6)
    kernels.adamW(parameter, Float32Array.of(-0.25), m, v, { ...options, step: 2 })
    expect(parameter[0]).toBeCloseTo(0.85443, 6)
    expect(m[0]).toBeCloseTo(0.02, 8)
    expect(v[0]).toBeCloseTo(0.0031, 8)
  })

  it('decays the parameter apart from the gradient', () => {
    const parameter = Float32Array.of(2, -4)
    kernels.adamW(parameter, new Float32Array(2), new Float32Array(2), new Float32Array(2), { ...usual, learningRate: 0.5, weightDecay: 0.2 })
    expect(largestDifference(parameter, [1.8, -3.6])).toBeLessThan(1e-6)
  })

  it('scales the gradient before the moments', () => {
    const m = new Float32Array(1)
    const v = new Float32Array(1)
    kernels.adamW(Float32Array.of(1), Float32Array.of(4), m, v, { ...usual, gradientScale: 0.25 })
    expect(m[0]).toBeCloseTo(0.1, 7)
    expect(v[0]).toBeCloseTo(0.01, 7)
  })

  it('leaves the gradient alone and writes nothing beyond the tensor', () => {
    const memory = new Float32Array(300).fill(5)
    const gradient = Float32Array.from({ length: 100 }, (_, i) => i)
    const before = gradient.slice()
    kernels.adamW(memory.subarray(100, 200), gradient, new Float32Array(100), new Float32Array(100), usual)
    expect(gradient).toEqual(before)
    expect(new Set([...memory.subarray(0, 100), ...memory.subarray(200)])).toEqual(new Set([5]))
    expect(memory[150]).not.toBe(5)
  })

  it('sums squares in double precision', () => {
    expect(kernels.squaredNorm(Float32Array.of(3, 4))).toBe(25)
    expect(kernels.squaredNorm(new Float32Array(0))).toBe(0)
    // In single precision the sum would stop growing at 2^24.
    expect(kernels.squaredNorm(new Float32Array(20_000_003).fill(1))).toBe(20_000_003)
  })

  it('hands a NaN on', () => {
    expect(kernels.squaredNorm(Float32Array.of(1, Number.NaN, 1))).toBeNaN()
  })
})

describe('implementations of AdamW', () => {
  it('of TypeScript and C++ agree bit by bit, the naive reference to 1e-6', () => {
    const results = implementations.map(([, kernels]) => train(kernels, 70_001, 5))
    const typescript = results[0]!
    if (results[1] !== undefined) expect(sameBits(results[1], typescript)).toBe(true)
    for (const result of results) {
      for (const name of ['parameter', 'm', 'v'] as const) expect(largestDifference(result[name], typescript[name])).toBeLessThan(1e-6)
    }
  })

  it('agree to 1e-12 on the squared norm', () => {
    const stream = createStream(2, 'norm')
    const values = Float32Array.from({ length: 200_003 }, () => stream.normal())
    const norms = implementations.map(([, kernels]) => kernels.squaredNorm(values))
    for (const norm of norms) expect(Math.abs(norm / norms[0]! - 1)).toBeLessThan(1e-12)
  })

  it('do not depend on the number of threads', () => {
    const kernels = implementations[1]?.[1] ?? implementations[0]![1]
    const results = [1, 2, 5].map((threads) => {
      loaded.binary?.setThreadCount(threads)
      const result = train(kernels, 200_003, 2)
      return { ...result, norm: kernels.squaredNorm(result.parameter) }
    })
    loaded.binary?.setThreadCount(0)
    for (const result of results) expect(sameBits(result, results[0]!)).toBe(true)
  })
})

describe('adamW', () => {
  it('refuses arrays of different lengths and a step before the first', () => {
    const four = new Float32Array(4)
    expect(() => adamW(four, new Float32Array(3), four, four, usual)).toThrow(/gradient has 3 elements, expected 4/)
    expect(() => adamW(four, four, four, new Float32Array(5), usual)).toThrow(/v has 5/)
    expect(() => adamW(four, four, four, four, { ...usual, step: 0 })).toThrow(/step 0/)
  })
})
