// TRL and verl on the same numbers: test/parity/estimators.py asked them and recorded the answers with their versions. Advantages and
// losses within 1e-5, gradients within 1e-4; the graph is held to the same.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { z } from 'zod'
import { estimatorConfigSchema } from '../../../src-main/contract/estimator-config.ts'
import { lossConfigSchema } from '../../../src-main/contract/loss-config.ts'
import type { LossConfig } from '../../../src-main/contract/loss-config.ts'
import { Graph, gradients } from '../../../src-main/engine/graph/index.ts'
import { groupAdvantages } from '../../../src-main/engine/policy/group-advantages.ts'
import { aggregationWeights, klEstimate, policyLoss } from '../../../src-main/engine/policy/losses.ts'
import { sequenceColumns, usesSequence } from '../../../src-main/engine/policy/surrogates.ts'
import { projectRoot } from '../../../src-main/engine/runtime/paths.ts'
import { lossInputNames, tokenLoss } from '../../../src-main/engine/training/loss-graph.ts'
import { evaluate, type Feed } from '../../support/evaluate.ts'

interface Fixture {
  readonly groupSizes: number[]
  readonly lengths: number[]
  readonly scores: number[]
  readonly scoreAdvantages: number[]
  readonly old: number[]
  readonly present: number[]
  readonly reference: number[]
  readonly tokenAdvantages: number[]
  readonly tokenRewards: number[]
  readonly correction: number[]
  readonly advantages: { library: string; name: string; estimator: z.input<typeof estimatorConfigSchema>; rewards: 'score' | 'token'; advantages: number[] }[]
  readonly losses: { library: string; name: string; loss: Partial<LossConfig>; advantages: 'score' | 'token'; corrected: boolean; value: number; gradient: number[] }[]
  readonly divergences: { estimator: 'k1' | 'k2' | 'k3'; values: number[]; gradient: number[] }[]
}

const fixture = JSON.parse(readFileSync(join(projectRoot(), 'test', 'parity', 'fixtures', 'estimators.json'), 'utf8')) as Fixture
const { lengths } = fixture

/** Flat token values as one array a rollout. */
function perRollout(values: readonly number[]): Float64Array[] {
  let at = 0
  return lengths.map((length) => Float64Array.from(values.slice(at, (at += length))))
}

function expectWithin(actual: ArrayLike<number>, expected: readonly number[], tolerance: number): void {
  expect(actual).toHaveLength(expected.length)
  expected.forEach((value, t) => expect(Math.abs(actual[t]! - value), `token ${t}: ${actual[t]} for ${value}`).toBeLessThan(tolerance))
}

const spread = (perRolloutValues: readonly number[]): number[] => lengths.flatMap((length, k) => new Array<number>(length).fill(perRolloutValues[k]!))

describe('advantages', () => {
  it.each(fixture.advantages.map((made) => [`${made.library}: ${made.name}`, made] as const))('are those of %s', (_, { estimator, rewards, advantages }) => {
    // verl puts a score at the last token; its returns-to-go count the token rewards it was given.
    const tokens = perRollout(rewards === 'token' ? fixture.tokenRewards : spread(fixture.scores))
    let first = 0
    const groups = fixture.groupSizes.map((size) => {
      const from = first
      first += size
      const scores = fixture.scores.slice(from, first)
      return { tokenRewards: tokens.slice(from, first), outcomes: scores, scores, truncated: scores.map(() => false) }
    })
    const own = groupAdvantages(estimatorConfigSchema.parse(estimator), groups).advantages.flat().flatMap((values) => [...values])
    expectWithin(own, advantages, 1e-5)
  })
})

describe('losses and gradients', () => {
  const cases = fixture.losses.map((made) => [`${made.library}: ${made.name}`, made] as const)
  const batchOf = (config: LossConfig, made: Fixture['losses'][number]) => ({
    lengths,
    weights: aggregationWeights(config, lengths),
    logProbabilities: fixture.present,
    oldLogProbabilities: fixture.old,
    referenceLogProbabilities: fixture.reference,
    advantages: made.advantages === 'token' ? fixture.tokenAdvantages : spread(fixture.scoreAdvantages),
    ...(made.corrected ? { corrections: fixture.correction } : {}),
  })

  it.each(cases)('are those of %s', (_, made) => {
    const config = lossConfigSchema.parse(made.loss)
    const { loss, derivatives } = policyLoss(config, batchOf(config, made))
    expect(Math.abs(loss - made.value)).toBeLessThan(1e-5)
    expectWithin(derivatives, made.gradient, 1e-4)
  })

  it.each(cases)('in the graph are those of %s', async (_, made) => {
    const config = lossConfigSchema.parse(made.loss)
    const graph = new Graph('loss')
    const logprob = graph.input('logprob', 'float32', ['M', 1])
    const loss = tokenLoss(graph, logprob, { kind: 'policy', loss: config })
    graph.output('loss', loss)
    graph.output('gradient', gradients([{ value: loss, gradient: graph.constant(1) }], [logprob])[0]!)
    const { weights, advantages, corrections } = batchOf(config, made)
    const sequences = perRollout(fixture.present).map((present, k) => sequenceColumns(config, Float32Array.from(present), Float32Array.from(perRollout(fixture.old)[k]!)))
    const columns: Record<string, ArrayLike<number>> = {
      logprob: fixture.present,
      weight: spread([...weights]),
      advantage: advantages.map((advantage, t) => advantage * (corrections?.[t] ?? 1)),
      oldLogprob: fixture.old,
      referenceLogprob: fixture.reference,
      ...(usesSequence(config.surrogate) ? Object.fromEntries((['pivot', 'slope', 'clipFloor', 'clipCeiling'] as const).map((name) => [name, sequences.flatMap((own) => [...own[name]])])) : {}),
    }
    const feeds = Object.fromEntries(['logprob', ...lossInputNames({ kind: 'policy', loss: config })].map((name): [string, Feed] => [name, [Float32Array.from(columns[name]!), [fixture.present.length, 1]]]))
    const result = await evaluate(graph, feeds)
    expect(Math.abs(Number(result['loss']!.data[0]) - made.value)).toBeLessThan(1e-5)
    expectWithin(result['gradient']!.data, made.gradient, 1e-4)
  })
})

describe('estimates of the divergence', () => {
  it.each(fixture.divergences.map((made) => [made.estimator, made] as const))('%s is verl\'s', (estimator, { values, gradient }) => {
    const own = fixture.present.map((logprob, t) => klEstimate(estimator, logprob, fixture.reference[t]!))
    expectWithin(own.map(({ value }) => value), values, 1e-5)
    expectWithin(own.map(({ derivative }) => derivative), gradient, 1e-4)
  })
})
