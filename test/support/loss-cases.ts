// Every kind of loss as graph, with numbers on both sides of its clip, beside the readable loss on the same numbers.
import { lossConfigSchema } from '../../src-main/contract/loss-config.ts'
import type { LossConfig } from '../../src-main/contract/loss-config.ts'
import { Graph, gradients } from '../../src-main/engine/graph/index.ts'
import { policyLoss } from '../../src-main/engine/policy/losses.ts'
import type { PolicyLoss } from '../../src-main/engine/policy/losses.ts'
import { sequenceColumns } from '../../src-main/engine/policy/surrogates.ts'
import type { SequenceColumns } from '../../src-main/engine/policy/surrogates.ts'
import { lossInputNames, tokenLoss } from '../../src-main/engine/training/loss-graph.ts'
import { numbers, type Feed } from './evaluate.ts'

export const lossCases: readonly (readonly [name: string, settings: Partial<LossConfig>])[] = [
  ['no KL', { clipLow: 0.2, clipHigh: 0.28 }],
  ['k1', { klCoefficient: 0.1, klEstimator: 'k1' }],
  ['k2', { klCoefficient: 0.1, klEstimator: 'k2' }],
  ['k3', { klCoefficient: 0.1, klEstimator: 'k3' }],
  ['k3, unbiased', { klCoefficient: 0.1, klUnbiased: true }],
  ['KL in the reward', { klCoefficient: 0.1, klPlace: 'reward' }],
  ['dual clip', { dualClip: 1.5 }],
  ['GSPO', { surrogate: 'sequence', clipLow: 0.05, clipHigh: 0.08, klCoefficient: 0.1 }],
  ['GSPO, k1, unbiased', { surrogate: 'sequence', clipLow: 0.05, clipHigh: 0.08, klCoefficient: 0.1, klEstimator: 'k1', klUnbiased: true }],
  ['GSPO, band by length', { surrogate: 'sequence', clipLow: 3e-4, clipHigh: 4e-4, clipReferenceLength: 100_000 }],
  ['GSPO-token', { surrogate: 'sequence-token', clipLow: 0.05, clipHigh: 0.08 }],
  ['RLOO', { surrogate: 'sequence-sum' }],
  ['CISPO', { surrogate: 'cispo', cispoCap: 1.5 }],
  ['SAPO', { surrogate: 'sapo' }],
]

const length = 8
const count = 32 * length
const column = (seed: number, scale: number, shift = 0): Float32Array => numbers(count, seed).map((x) => x * scale + shift)
const rolloutOf = (array: Float32Array, k: number): Float32Array => array.subarray(k * length, (k + 1) * length)

/** Outputs `loss` [] and `gradient` [M, 1], by the log-probability; rollouts of eight tokens. */
export function lossCase(settings: Partial<LossConfig>): { readonly config: LossConfig; readonly graph: Graph; readonly feeds: Record<string, Feed>; readonly plain: PolicyLoss } {
  const config = lossConfigSchema.parse(settings)
  const graph = new Graph('loss')
  const logprob = graph.input('logprob', 'float32', ['M', 1])
  const loss = tokenLoss(graph, logprob, { kind: 'policy', loss: config })
  graph.output('loss', loss)
  graph.output('gradient', gradients([{ value: loss, gradient: graph.constant(1) }], [logprob])[0]!)

  const first = (t: number): number => t - (t % length)
  const logRatio = column(2, 0.7)
  const present = column(1, 1, -2)
  const old = present.map((value, t) => value - logRatio[t]!)
  // Where the loss is of whole sequences, so is the advantage.
  const oneEach = config.surrogate === 'sequence' || config.surrogate === 'sequence-sum'
  const advantage = column(4, 2).map((value, t, all) => (oneEach ? all[first(t)]! : value))
  const weight = column(5, 0.002, 0.004).map((_, t, all) => all[first(t)]!)
  const sequences = Array.from({ length: count / length }, (_, k) => sequenceColumns(config, rolloutOf(present, k), rolloutOf(old, k)))
  const joined = (name: keyof SequenceColumns): Float32Array => Float32Array.from(sequences.flatMap((columns) => [...columns[name]]))
  const available: Record<string, Float32Array> = {
    logprob: present, referenceLogprob: column(3, 1, -2), weight, advantage, oldLogprob: old,
    pivot: joined('pivot'), slope: joined('slope'), clipFloor: joined('clipFloor'), clipCeiling: joined('clipCeiling'),
  }
  const plain = policyLoss(config, {
    lengths: new Array<number>(count / length).fill(length),
    weights: weight.filter((_, t) => t % length === 0),
    logProbabilities: present,
    oldLogProbabilities: old,
    referenceLogProbabilities: available['referenceLogprob']!,
    advantages: advantage,
  })
  const feeds = Object.fromEntries(['logprob', ...lossInputNames({ kind: 'policy', loss: config })].map((name): [string, Feed] => [name, [available[name]!, [count, 1]]]))
  return { config, graph, feeds, plain }
}
