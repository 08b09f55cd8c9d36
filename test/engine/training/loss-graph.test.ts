// The loss as graph against the readable loss of policy/losses.ts: value and derivative, on both sides of the clip, with every KL estimate.
import { describe, expect, it } from 'vitest'
import { lossConfigSchema } from '../../../src-main/contract/run-config.ts'
import { Graph, gradients } from '../../../src-main/engine/graph/index.ts'
import { policyLoss } from '../../../src-main/engine/policy/losses.ts'
import { tokenColumns, tokenLoss } from '../../../src-main/engine/training/loss-graph.ts'
import { evaluate, numbers, type Feed } from '../../support/evaluate.ts'

const count = 64
const column = (seed: number, scale: number, shift = 0): Float32Array => numbers(count, seed).map((x) => x * scale + shift)

describe('policy loss', () => {
  it.each([
    ['no KL', { clipLow: 0.2, clipHigh: 0.28 }],
    ['k1', { klCoefficient: 0.1, klEstimator: 'k1' as const }],
    ['k2', { klCoefficient: 0.1, klEstimator: 'k2' as const }],
    ['k3', { klCoefficient: 0.1, klEstimator: 'k3' as const }],
  ])('as graph equals the readable one: %s', async (_, settings) => {
    const config = lossConfigSchema.parse(settings)
    const graph = new Graph('loss')
    const logprob = graph.input('logprob', 'float32', ['M', 1])
    const loss = tokenLoss(graph, logprob, { kind: 'policy', loss: config })
    graph.output('loss', loss)
    graph.output('gradient', gradients([{ value: loss, gradient: graph.constant(1) }], [logprob])[0]!)
    const values = { logprob: column(1, 1, -2), oldLogprob: column(2, 1, -2), referenceLogprob: column(3, 1, -2), advantage: column(4, 2), weight: column(5, 0.01, 0.02) }
    const feeds: Record<string, Feed> = Object.fromEntries(Object.entries(values).map(([name, data]) => [name, [data, [count, 1]] as const]))
    const result = await evaluate(graph, feeds)
    const plain = policyLoss(config, {
      lengths: new Array<number>(count).fill(1),
      weights: values.weight,
      logProbabilities: values.logprob,
      oldLogProbabilities: values.oldLogprob,
      referenceLogProbabilities: values.referenceLogprob,
      advantages: values.advantage,
    })
    expect(plain.sums.clippedLow).toBeGreaterThan(0)
    expect(plain.sums.clippedHigh).toBeGreaterThan(0)
    expect(result['loss']!.data[0]).toBeCloseTo(plain.loss, 5)
    plain.derivatives.forEach((derivative, index) => expect(result['gradient']!.data[index]).toBeCloseTo(derivative, 6))
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
