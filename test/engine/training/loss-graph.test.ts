// The loss as graph against the readable loss of policy/losses.ts: value and derivative, on both sides of every clip, with every surrogate and KL estimate.
import { describe, expect, it } from 'vitest'
import { lossConfigSchema } from '../../../src-main/contract/run-config.ts'
import { Graph, gradients } from '../../../src-main/engine/graph/index.ts'
import { policyLoss } from '../../../src-main/engine/policy/losses.ts'
import { sequenceColumns } from '../../../src-main/engine/policy/surrogates.ts'
import type { SequenceColumns } from '../../../src-main/engine/policy/surrogates.ts'
import { lossInputNames, tokenColumns, tokenLoss } from '../../../src-main/engine/training/loss-graph.ts'
import { evaluate, numbers, type Feed } from '../../support/evaluate.ts'

const count = 256
const length = 8
const column = (seed: number, scale: number, shift = 0): Float32Array => numbers(count, seed).map((x) => x * scale + shift)

describe('policy loss', () => {
  it.each([
    ['no KL', { clipLow: 0.2, clipHigh: 0.28 }],
    ['k1', { klCoefficient: 0.1, klEstimator: 'k1' as const }],
    ['k2', { klCoefficient: 0.1, klEstimator: 'k2' as const }],
    ['k3', { klCoefficient: 0.1, klEstimator: 'k3' as const }],
    ['k3, unbiased', { klCoefficient: 0.1, klUnbiased: true }],
    ['k1, unbiased, GSPO', { surrogate: 'sequence' as const, clipLow: 0.05, clipHigh: 0.08, klCoefficient: 0.1, klEstimator: 'k1' as const, klUnbiased: true }],
    ['KL in the reward', { klCoefficient: 0.1, klPlace: 'reward' as const }],
    ['dual clip', { dualClip: 1.5 }],
    ['GSPO', { surrogate: 'sequence' as const, clipLow: 0.05, clipHigh: 0.08, klCoefficient: 0.1 }],
    ['GSPO, band by length', { surrogate: 'sequence' as const, clipLow: 3e-4, clipHigh: 4e-4, clipReferenceLength: 100_000 }],
    ['GSPO-token', { surrogate: 'sequence-token' as const, clipLow: 0.05, clipHigh: 0.08 }],
    ['RLOO', { surrogate: 'sequence-sum' as const }],
    ['CISPO', { surrogate: 'cispo' as const, cispoCap: 1.5 }],
    ['SAPO', { surrogate: 'sapo' as const }],
  ])('as graph equals the readable one: %s', async (_, settings) => {
    const config = lossConfigSchema.parse(settings)
    const graph = new Graph('loss')
    const logprob = graph.input('logprob', 'float32', ['M', 1])
    const loss = tokenLoss(graph, logprob, { kind: 'policy', loss: config })
    graph.output('loss', loss)
    graph.output('gradient', gradients([{ value: loss, gradient: graph.constant(1) }], [logprob])[0]!)
    const logRatio = column(2, 0.7)
    const values = { logprob: column(1, 1, -2), referenceLogprob: column(3, 1, -2), weight: column(5, 0.002, 0.004) }
    const oldLogprob = values.logprob.map((value, t) => value - logRatio[t]!)
    // Rollouts of eight tokens; where the loss is of whole sequences, so is the advantage.
    const oneEach = config.surrogate === 'sequence' || config.surrogate === 'sequence-sum'
    const advantage = column(4, 2).map((value, t, all) => (oneEach ? all[t - (t % length)]! : value))
    values.weight.forEach((_value, t) => (values.weight[t] = values.weight[t - (t % length)]!))
    const rollout = (array: Float32Array, k: number): Float32Array => array.subarray(k * length, (k + 1) * length)
    const sequences = Array.from({ length: count / length }, (_value, k) => sequenceColumns(config, rollout(values.logprob, k), rollout(oldLogprob, k)))
    const joined = (name: keyof SequenceColumns): Float32Array => Float32Array.from(sequences.flatMap((columns) => [...columns[name]]))
    const available: Record<string, Float32Array> = { ...values, oldLogprob, advantage, pivot: joined('pivot'), slope: joined('slope'), clipFloor: joined('clipFloor'), clipCeiling: joined('clipCeiling') }
    const feeds: Record<string, Feed> = Object.fromEntries(['logprob', ...lossInputNames({ kind: 'policy', loss: config })].map((name) => [name, [available[name]!, [count, 1]] as const]))
    const result = await evaluate(graph, feeds)
    const plain = policyLoss(config, {
      lengths: new Array<number>(count / length).fill(length),
      weights: values.weight.filter((_value, t) => t % length === 0),
      logProbabilities: values.logprob,
      oldLogProbabilities: oldLogprob,
      referenceLogProbabilities: values.referenceLogprob,
      advantages: advantage,
    })
    if (config.surrogate !== 'sapo') expect(plain.sums.clippedHigh).toBeGreaterThan(0)
    if (config.surrogate !== 'sapo' && config.surrogate !== 'cispo') expect(plain.sums.clippedLow).toBeGreaterThan(0)
    expect(plain.derivatives.filter((derivative) => derivative !== 0).length).toBeGreaterThan(count / 4)
    expect(result['loss']!.data[0]).toBeCloseTo(plain.loss, 5)
    plain.derivatives.forEach((derivative, index) => expect(result['gradient']!.data[index]).toBeCloseTo(derivative, 5))
  })

  it('sums golden supervised values', async () => {
    const graph = new Graph('supervised')
    const logprob = graph.input('logprob', 'float32', ['M', 1])
    graph.output('loss', tokenLoss(graph, logprob, { kind: 'supervised' }))
    const result = await evaluate(graph, { logprob: [Float32Array.of(-1, -2, -4), [3, 1]], weight: [Float32Array.of(0.5, 0.25, 0), [3, 1]] })
    expect(result['loss']!.data[0]).toBe(1)
  })
})

describe('token columns', () => {
  it('give log-softmax and entropy at a temperature', async () => {
    const graph = new Graph('columns')
    const { logprob, entropy } = tokenColumns(graph.input('logits', 'float32', ['M', 4]), graph.input('targets', 'int64', ['M', 1]), 0.5)
    graph.output('logprob', logprob)
    graph.output('entropy', entropy)
    const logits = [1, 2, 0.5, -1]
    const result = await evaluate(graph, { logits: [Float32Array.from(logits), [1, 4]], targets: [BigInt64Array.of(1n), [1, 1]] })
    const total = logits.reduce((sum, z) => sum + Math.exp(z / 0.5), 0)
    const law = logits.map((z) => Math.exp(z / 0.5) / total)
    expect(result['logprob']!.data[0]).toBeCloseTo(Math.log(law[1]!), 6)
    expect(result['entropy']!.data[0]).toBeCloseTo(-law.reduce((sum, p) => sum + p * Math.log(p), 0), 5)
  })
})
