import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { sampleTokens } from '../../src-main/engine/runtime/kernels.ts'
import type { Kernels } from '../../src-main/engine/runtime/kernels.ts'
import { createStream } from '../../src-main/engine/runtime/random.ts'
import type { SamplingBatch, SamplingResult } from '../../src-main/engine/runtime/sampling.ts'
import { implementations, largestDifference, loaded, sameBits } from './support.ts'

interface Row {
  logits: number[]
  temperature?: number
  topK?: number
  topP?: number
  minP?: number
  uniform?: number
}

function batchOf(rows: Row[], sampleLimit = rows[0]!.logits.length): SamplingBatch {
  return {
    logits: Float32Array.from(rows.flatMap((row) => row.logits)),
    rows: rows.length,
    vocabulary: rows[0]!.logits.length,
    sampleLimit,
    temperature: Float64Array.from(rows, (row) => row.temperature ?? 1),
    topK: Int32Array.from(rows, (row) => row.topK ?? 0),
    topP: Float64Array.from(rows, (row) => row.topP ?? 1),
    minP: Float64Array.from(rows, (row) => row.minP ?? 0),
    uniform: Float64Array.from(rows, (row) => row.uniform ?? 0.5),
  }
}

function run(kernels: Kernels, batch: SamplingBatch): SamplingResult {
  const { rows } = batch
  const result = { ids: new Int32Array(rows).fill(-7), logProbability: new Float32Array(rows), fullLogProbability: new Float32Array(rows), entropy: new Float32Array(rows) }
  kernels.sample(batch, result)
  return result
}

describe.each(implementations)('sampling, %s', (_, kernels) => {
  const logits = [0.1, 0.2, 0.3, 0.4].map(Math.log) // the softmax is .1 .2 .3 .4
  const at = (row: Omit<Row, 'logits'>, limit?: number): SamplingResult => run(kernels, batchOf([{ logits, ...row }], limit))
  const idsAt = (row: Omit<Row, 'logits'>, limit?: number): number[] => [0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95].map((uniform) => at({ ...row, uniform }, limit).ids[0]!)

  it('takes the id at which the cumulative probability exceeds the uniform number', () => {
    expect(idsAt({})).toEqual([0, 1, 1, 2, 2, 2, 3, 3, 3, 3])
    const { logProbability, fullLogProbability, entropy } = at({ uniform: 0.15 })
    expect(logProbability[0]).toBeCloseTo(Math.log(0.2), 6)
    expect(fullLogProbability[0]).toBeCloseTo(Math.log(0.2), 6)
    expect(entropy[0]).toBeCloseTo(1.2798542258, 6) // -(.1 ln .1 + .2 ln .2 + .3 ln .3 + .4 ln .4)
  })

  it('divides the logits by the temperature', () => {
    // T = .5 squares the probabilities: [.01 .04 .09 .16] / .3
    const { ids, logProbability, entropy } = at({ temperature: 0.5, uniform: 0.1 })
    expect(ids[0]).toBe(1)
    expect(logProbability[0]).toBeCloseTo(Math.log(0.04 / 0.3), 6)
    expect(entropy[0]).toBeCloseTo(-[1 / 30, 4 / 30, 9 / 30, 16 / 30].reduce((sum, p) => sum + p * Math.log(p), 0), 6)
  })

  it('takes the largest logit at temperature 0, the smallest id of equals, and reports the softmax at temperature 1', () => {
    const { ids, logProbability, fullLogProbability } = run(kernels, batchOf([{ logits: [1, 3, 3, 2], temperature: 0, uniform: 0.99 }]))
    expect(ids[0]).toBe(1)
    expect(logProbability[0]).toBe(0)
    expect(fullLogProbability[0]).toBeCloseTo(3 - Math.log(Math.exp(1) + 2 * Math.exp(3) + Math.exp(2)), 6)
  })

  it('keeps the top k and makes them sum to 1', () => {
    expect(idsAt({ topK: 2 })).toEqual([2, 2, 2, 2, 3, 3, 3, 3, 3, 3]) // 3/7 = .43
    expect(at({ topK: 2, uniform: 0.1 }).logProbability[0]).toBeCloseTo(Math.log(3 / 7), 6)
    expect(at({ topK: 2, uniform: 0.1 }).fullLogProbability[0]).toBeCloseTo(Math.log(0.3), 6)
    expect(at({ topK: 2 }).entropy[0]).toBeCloseTo(1.2798542258, 6) // of the softmax, not of the truncated law
  })

  it('keeps the shortest head that reaches top-p', () => {
    expect(new Set(idsAt({ topP: 0.39 }))).toEqual(new Set([3]))
    expect(new Set(idsAt({ topP: 0.41 }))).toEqual(new Set([2, 3]))
    expect(new Set(idsAt({ topP: 0.71 }))).toEqual(new Set([1, 2, 3]))
    expect(at({ topP: 0.71, uniform: 0.05 }).logProbability[0]).toBeCloseTo(Math.log(0.2 / 0.9), 6)
  })

  it('counts a head as reaching top-p when only rounding keeps it from it', () => {
    // (k / n) * n is larger than k for these in double precision, so that k of n equal ids fall short of k / n by one rounding.
    for (const [k, n] of [[7, 25], [15, 29], [28, 41]] as const) {
      expect((k / n) * n).toBeGreaterThan(k)
      expect(run(kernels, batchOf([{ logits: new Array<number>(n).fill(0.3), topP: k / n, uniform: 0.9999 }])).ids[0]).toBe(k - 1)
    }
  })

  it('measures top-p inside what top-k left', () => {
    // Top 2 are .4 and .3, that is 4/7 = .571 and 3/7.
    expect(new Set(idsAt({ topK: 2, topP: 0.56 }))).toEqual(new Set([3]))
    expect(new Set(idsAt({ topK: 2, topP: 0.58 }))).toEqual(new Set([2, 3]))
  })

  it('drops ids below min-p of the likeliest', () => {
    expect(new Set(idsAt({ minP: 0.51 }))).toEqual(new Set([2, 3]))
    expect(new Set(idsAt({ minP: 0.49 }))).toEqual(new Set([1, 2, 3]))
    expect(new Set(idsAt({ minP: 0.76, topK: 3 }))).toEqual(new Set([3]))
    expect(at({ minP: 0.51, uniform: 0.1 }).logProbability[0]).toBeCloseTo(Math.log(3 / 7), 6)
  })

  it('breaks ties at the k-th place by the smaller id', () => {
    const ids = [0.1, 0.5, 0.9].map((uniform) => run(kernels, batchOf([{ logits: [1, 2, 1, 1], topK: 2, uniform }])).ids[0])
    expect(ids).toEqual([0, 1, 1])
  })

  it('never samples an id from the limit on, and leaves it in the softmax', () => {
    expect(new Set(idsAt({}, 3))).toEqual(new Set([0, 1, 2]))
    const { ids, logProbability, fullLogProbability, entropy } = at({ uniform: 0.9 }, 3)
    expect(ids[0]).toBe(2)
    expect(logProbability[0]).toBeCloseTo(Math.log(0.5), 6)
    expect(fullLogProbability[0]).toBeCloseTo(Math.log(0.3), 6)
    expect(entropy[0]).toBeCloseTo(1.2798542258, 6)
    expect(at({ temperature: 0 }, 3).ids[0]).toBe(2)
    expect(new Set(idsAt({ topK: 2 }, 3))).toEqual(new Set([1, 2]))
    // min-p is measured against the likeliest id that may be sampled
    expect(new Set(idsAt({ minP: 0.9 }, 3))).toEqual(new Set([2]))
  })

  it('samples below the limit also when an id above it has all the probability', () => {
    const { ids, logProbability, fullLogProbability, entropy } = run(kernels, batchOf([{ logits: [0, 0, 500], uniform: 0.7 }], 2))
    expect(ids[0]).toBe(1)
    expect(logProbability[0]).toBeCloseTo(Math.log(0.5), 6)
    expect(fullLogProbability[0]).toBeCloseTo(-500, 3)
    expect(entropy[0]).toBeCloseTo(0, 6)
  })

  it('gives an id with logit -infinity no chance, whatever the uniform number', () => {
    const holes = [-Infinity, 0, -Infinity, 0, -Infinity]
    for (const extra of [{}, { topK: 4 }, { topP: 0.999 }, { minP: 1e-9 }]) {
      const ids = [0, 0.25, 0.5, 0.75, 1 - 2 ** -53].map((uniform) => run(kernels, batchOf([{ logits: holes, uniform, ...extra }])).ids[0])
      expect(ids).toEqual([1, 1, 3, 3, 3])
    }
    expect(run(kernels, batchOf([{ logits: holes }])).entropy[0]).toBeCloseTo(Math.LN2, 6)
  })

  it('marks rows with NaN, +infinity or nothing to sample, and only these', () => {
    const bad = [[Number.NaN, 1, 1], [1, 1, Number.NaN], [1, Infinity, 1], [1, 1, Infinity], [-Infinity, -Infinity, 1], [-Infinity, -Infinity, Number.NaN], [Number.NaN, Number.NaN, 0]]
    const { ids, logProbability } = run(kernels, batchOf([[0, 1, 2], ...bad, [0, -Infinity, -Infinity]].map((row) => ({ logits: row })), 2))
    expect([...ids].map((id) => id < 0)).toEqual([false, ...bad.map(() => true), false])
    expect(logProbability[1]).toBeNaN()
  })

  it.each([1, 2, 3])('follows the sampling law (chi-square, seed %i)', (seed) => {
    const stream = createStream(seed, 'law')
    const row = Array.from({ length: 12 }, () => 1.5 * stream.normal())
    for (const law of [{}, { temperature: 0.7 }, { topK: 5 }, { topP: 0.8, temperature: 1.3 }, { minP: 0.2 }]) {
      const draws = 6000
      const batch = batchOf(Array.from({ length: draws }, () => ({ logits: row, ...law, uniform: stream.uniform() })), 11)
      const { ids, logProbability } = run(kernels, batch)
      const seen = new Map<number, { count: number; probability: number }>()
      ids.forEach((id, draw) => {
        const entry = seen.get(id) ?? { count: 0, probability: Math.exp(logProbability[draw]!) }
        entry.count += 1
        seen.set(id, entry)
      })
      const entries = [...seen.values()]
      expect(entries.reduce((sum, { probability }) => sum + probability, 0)).toBeGreaterThan(0.99) // no id of weight was missed
      const chiSquare = entries.reduce((sum, { count, probability }) => sum + (count - draws * probability) ** 2 / (draws * probability), 0)
      expect(chiSquare).toBeLessThan(41) // at most 10 degrees of freedom: exceeded with probability 1e-5
    }
  })

  it('gives a row the same result alone and in a batch', () => {
    const rows = Array.from({ length: 5 }, (_, i) => ({ logits: [i, 2, 3 - i, 0.5 * i], uniform: (i + 0.5) / 5, topP: i % 2 === 0 ? 1 : 0.9 }))
    const together = run(kernels, batchOf(rows))
    rows.forEach((row, i) => {
      const alone = run(kernels, batchOf([row]))
      expect([alone.ids[0], alone.logProbability[0], alone.entropy[0]]).toEqual([together.ids[i], together.logProbability[i], together.entropy[i]])
    })
  })
})

describe('implementations of sampling', () => {
  // Uniform numbers and p stand off the round values at which rounding alone would decide.
  const anyLaw = {
    temperature: fc.constantFrom(0, 0.1, 0.7, 1, 1, 2.5),
    topK: fc.constantFrom(0, 0, 1, 2, 7, 40),
    topP: fc.oneof(fc.constant(1), fc.integer({ min: 0, max: 99 }).map((n) => (n + 0.381966) / 100)),
    minP: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 99 }).map((n) => (n + 0.381966) / 300)),
    uniform: fc.integer({ min: 0, max: 9999 }).map((n) => (n + 0.381966) / 10000),
  }
  const anyLogit = fc.oneof({ weight: 20, arbitrary: fc.integer({ min: -64, max: 64 }).map((n) => n / 8) }, { weight: 2, arbitrary: fc.constant(-Infinity) }, { weight: 2, arbitrary: fc.double({ min: -900, max: 900, noNaN: true }) })
  const anyBatch = fc.integer({ min: 1, max: 60 }).chain((vocabulary) =>
    fc.record({
      limit: fc.integer({ min: 1, max: vocabulary }),
      rows: fc.array(fc.record({ logits: fc.array(anyLogit, { minLength: vocabulary, maxLength: vocabulary }), ...anyLaw }), { minLength: 1, maxLength: 4 }),
    }),
  )

  function expectSame(results: SamplingResult[]): void {
    for (const result of results) {
      expect(result.ids).toEqual(results[0]!.ids)
      expect(largestDifference(result.logProbability, results[0]!.logProbability)).toBeLessThan(1e-6)
      expect(largestDifference(result.fullLogProbability, results[0]!.fullLogProbability)).toBeLessThan(1e-6)
      expect(largestDifference(result.entropy, results[0]!.entropy)).toBeLessThan(1e-6)
    }
  }

  it('agree on ids, and to 1e-6 on log-probabilities and entropy', () => {
    fc.assert(
      fc.property(anyBatch, ({ limit, rows }) => expectSame(implementations.map(([, kernels]) => run(kernels, batchOf(rows, limit))))),
      { numRuns: 500 },
    )
  })

  it.each([
    ['nothing', {}],
    ['top-k', { topK: 50 }],
    ['a deep top-k', { topK: 60000 }],
    ['top-p', { topP: 0.95 }],
    ['top-p close to 1', { topP: 0.99999 }],
    ['min-p', { minP: 0.02 }],
    ['everything', { topK: 200, topP: 0.9, minP: 0.01 }],
  ])('agree on a vocabulary of 151,936 of which 151,665 ids are used: %s truncates', (_, law) => {
    const stream = createStream(1, 'large')
    const vocabulary = 151936
    const rows = [0.5, 1].map((temperature) => ({ logits: Array.from({ length: vocabulary }, () => 3 * stream.normal()), temperature, ...law, uniform: stream.uniform() }))
    expectSame(implementations.map(([, kernels]) => run(kernels, batchOf(rows, 151665))))
  })

  it('agree where nearly all of the probability lies deeper than the histogram reaches', () => {
    // One id leads by 40 nats at temperature .2; at temperature 20 the 5,000 others, 2 nats below, have most of the weight.
    const rows = [0.2, 20].flatMap((temperature) => [{ topP: 0.97 }, { topK: 3000 }, { topP: 1 - 1e-9 }].map((law) => ({ logits: [40, ...Array.from({ length: 5000 }, (_, i) => (i % 97) / 97)], temperature, uniform: 0.61803, ...law })))
    expectSame(implementations.map(([, kernels]) => run(kernels, batchOf(rows))))
  })

  it('do not depend on the number of threads', () => {
    const stream = createStream(1, 'threads')
    const rows = Array.from({ length: 9 }, (_, i) => ({ logits: Array.from({ length: 4000 }, () => 3 * stream.normal()), uniform: stream.uniform(), topP: i % 3 === 0 ? 0.9 : 1 }))
    const results = [1, 2, 5].map((threads) => {
      loaded.binary?.setThreadCount(threads)
      return run(implementations[1]?.[1] ?? implementations[0]![1], batchOf(rows))
    })
    loaded.binary?.setThreadCount(0)
    for (const result of results) expect(sameBits(result, results[0]!)).toBe(true)
  })
})

describe('sampleTokens', () => {
  const logits = Float32Array.of(0, 1, 2, 0, 1, 2)
  const request = { logits, rows: 2, vocabulary: 3, temperature: 1, uniform: [0.1, 0.9] }

  it('takes one setting for all rows or one a row', () => {
    expect([...sampleTokens(request).ids]).toEqual([1, 2])
    expect([...sampleTokens({ ...request, topK: [0, 1] }).ids]).toEqual([1, 2])
    expect([...sampleTokens({ ...request, topK: [1, 0] }).ids]).toEqual([2, 2])
  })

  it.each([
    [{ temperature: -1 }, /temperature of row 0 is -1/],
    [{ temperature: 1e-9 }, /temperature/],
    [{ topK: 1.5 }, /topK of row 0 is 1.5/],
    [{ topP: [1, 0] }, /topP of row 1 is 0/],
    [{ minP: 2 }, /minP/],
    [{ uniform: [0.5, 1] }, /uniform of row 1 is 1/],
    [{ uniform: [0.5] }, /uniform has 1 elements, expected 2/],
    [{ logits: new Float32Array(5) }, /logits has 5 elements, expected 6/],
    [{ sampleLimit: 4 }, /sampleLimit 4/],
    [{ sampleLimit: 0 }, /sampleLimit 0/],
  ])('refuses %o', (change, message) => {
    expect(() => sampleTokens({ ...request, ...change })).toThrow(message)
  })

  it('marks a row whose logits are broken with the id -1', () => {
    expect([...sampleTokens({ ...request, logits: Float32Array.of(0, 1, 2, 0, Number.NaN, 2) }).ids]).toEqual([1, -1])
  })
})
