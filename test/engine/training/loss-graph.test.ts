// The loss as graph against the readable loss of policy/losses.ts: value and derivative, on both sides of every clip, with every surrogate and KL estimate.
import { describe, expect, it } from 'vitest'
import { Graph } from '../../../src-main/engine/graph/index.ts'
import { tokenColumns, tokenLoss } from '../../../src-main/engine/training/loss-graph.ts'
import { evaluate } from '../../support/evaluate.ts'
import { lossCase, lossCases } from '../../support/loss-cases.ts'

describe('policy loss', () => {
  it.each(lossCases)('as graph equals the readable one: %s', async (_, settings) => {
    const { config, graph, feeds, plain } = lossCase(settings)
    const result = await evaluate(graph, feeds)
    if (config.surrogate !== 'sapo') expect(plain.sums.clippedHigh).toBeGreaterThan(0)
    if (config.surrogate !== 'sapo' && config.surrogate !== 'cispo') expect(plain.sums.clippedLow).toBeGreaterThan(0)
    expect(plain.derivatives.filter((derivative) => derivative !== 0).length).toBeGreaterThan(plain.derivatives.length / 4)
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
