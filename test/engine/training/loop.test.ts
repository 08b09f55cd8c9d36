// The step with a scripted sampler, scorer and pass: what is taught, in which order, and what happens when numbers break.
import { describe, expect, it } from 'vitest'
import type { PromptRow, ScoredCompletion } from '../../../src-main/contract/rewards.ts'
import { runConfigSchema, type RunConfig, type RunConfigInput } from '../../../src-main/contract/run-config.ts'
import type { Rollout } from '../../../src-main/engine/rollout/sampler.ts'
import { trainStep, type StepMachinery } from '../../../src-main/engine/training/loop.ts'
import { createOptimizer } from '../../../src-main/engine/training/optimizer.ts'
import type { MicroBatch, PassResult } from '../../../src-main/engine/training/passes.ts'
import { promptsOfStep } from '../../../src-main/engine/training/sample-step.ts'

const configOf = (input: Partial<RunConfigInput> = {}): RunConfig => runConfigSchema.parse({ model: 'm', data: { prompts: 'p' }, seed: 3, rollout: { promptsPerStep: 2, groupSize: 2 }, ...input })
const rows: PromptRow[] = Array.from({ length: 5 }, (_, index) => ({ id: `p${index}`, prompt: `prompt ${index}` }))

describe('prompts of a step', () => {
  it('go through the whole set before any comes again, in another order each time', () => {
    const config = configOf()
    const seen = [1, 2, 3, 4, 5].flatMap((step) => promptsOfStep(rows, config, step).map(({ id }) => id))
    expect([...seen.slice(0, 5)].sort()).toEqual(rows.map(({ id }) => id))
    expect([...seen.slice(5)].sort()).toEqual(rows.map(({ id }) => id))
    expect(seen.slice(0, 5)).not.toEqual(seen.slice(5))
    expect(promptsOfStep(rows, config, 3).map(({ id }) => id)).toEqual(seen.slice(4, 6))
  })
})

const verdict = (global: number): ScoredCompletion => ({
  global, outcome: global, spans: [], sources: [{ source: 'compiler', global, spans: [], milliseconds: 1 }],
  stages: { parse: global > 0, types: global > 0, bundle: global > 0, render: global > 0 }, requirementScore: 0, audit: { passed: true, failures: [] },
})

/** Rollout k of every prompt has k + 1 tokens and reward k. */
function machineryOf(config: RunConfig, backward: (batch: MicroBatch, gradients: ReadonlyMap<string, Float32Array>) => PassResult): { machinery: StepMachinery; weights: Float32Array } {
  const weights = Float32Array.of(1, 1)
  const trainable = [{ name: 'w', shape: [2], data: weights, trainable: true, decayed: false }]
  const policy = { trainable, hash: () => 'h', residentHash: () => Promise.resolve('h'), refresh: () => Promise.resolve(), layerSeconds: () => 0 } as never
  const sampler = {
    times: { prefill: 0, decode: 0, sampling: 0, total: 1, decodeSteps: 1, tokens: 1 },
    generate: (requests: { streams: unknown[] }[], options: { onFinished?: (rollout: Rollout) => void }) => {
      const rollouts = requests.flatMap(({ streams }, request) => streams.map((_, index): Rollout => ({
        request, index, ids: Int32Array.from({ length: index + 1 }, (__, t) => 10 + t), logprobs: new Float32Array(index + 1).fill(-1), policyLogprobs: new Float32Array(index + 1).fill(-1), entropies: new Float32Array(index + 1), finish: 'stop',
      })))
      rollouts.forEach((rollout) => options.onFinished?.(rollout))
      return Promise.resolve(rollouts)
    },
    release: () => Promise.resolve(),
  }
  const machinery = {
    config,
    source: {
      config, sampler, stopIds: new Set([0]), encodePrompt: () => [1, 2, 3],
      tokenizer: { size: 64, tokenOffsets: (ids: Int32Array) => ({ text: 'x'.repeat(ids.length), starts: ids.map((_, t) => t), ends: ids.map((_, t) => t + 1) }) },
      scorer: { score: (items: { id: string }[]) => Promise.resolve(items.map(({ id }) => verdict(Number(id.split('.')[1])))) },
    },
    policy,
    pass: { layout: 'whole', forward: () => Promise.reject(new Error('unused')), backward: (batch: MicroBatch, gradients: ReadonlyMap<string, Float32Array>) => Promise.resolve(backward(batch, gradients)), release: () => Promise.resolve() },
    reference: undefined,
    optimizer: createOptimizer(policy, config.optimizer, 10),
    gradients: new Map([['w', new Float32Array(2)]]),
    checkpointForCommands: () => Promise.resolve(),
  } as unknown as StepMachinery
  return { machinery, weights }
}

const columnsOf = (batch: MicroBatch, loss: number): PassResult => ({ loss, logprob: new Float32Array(batch.rows.length).fill(-1), entropy: new Float32Array(batch.rows.length).fill(0.5) })

describe('a step', () => {
  it('keeps the ratio of new to old policy of the last update a rollout was part of, and none where there is one update', async () => {
    let calls = 0
    // Drawn with log-probability -1: seen at -1 in the first epoch, at -1 + ln 2 in the second.
    const backward = (batch: MicroBatch): PassResult => ({ loss: 0.1, logprob: new Float32Array(batch.rows.length).fill((calls += 1) > 1 ? -1 + Math.LN2 : -1), entropy: new Float32Array(batch.rows.length) })
    const twice = await trainStep(machineryOf(configOf({ training: { epochs: 2 } }), backward).machinery, rows, 1)
    expect(twice.records.map(({ ratios, ids }) => [ratios?.length, ids.length])).toEqual(twice.records.map(({ ids }) => [ids.length, ids.length]))
    expect(twice.records.flatMap(({ ratios }) => ratios ?? []).every((ratio) => ratio === 2)).toBe(true)
    const once = await trainStep(machineryOf(configOf(), backward).machinery, rows, 1)
    expect(once.records.every((record) => !('ratios' in record))).toBe(true)
  })

  it('hands the loss one advantage a sampled token, with weights that make each rollout count the same', async () => {
    const batches: MicroBatch[] = []
    const { machinery, weights } = machineryOf(configOf(), (batch, gradients) => {
      batches.push(batch)
      gradients.get('w')!.fill(1)
      return columnsOf(batch, 0.25)
    })
    const { metrics, records, healthy } = await trainStep(machinery, rows, 1)
    expect(healthy).toBe(true)
    expect(weights[0]).toBeLessThan(1)
    // Four rollouts of 1, 2, 1, 2 tokens: mean over tokens, then over rollouts.
    const columns = batches.flatMap((batch) => [...batch.columns['weight']!]).sort()
    expect(columns).toEqual([1 / 8, 1 / 8, 1 / 8, 1 / 8, 1 / 4, 1 / 4].map(Math.fround))
    // Rewards 0 and 1 a group: mu .5, sigma .5, so A is -1 and +1.
    expect(records.map(({ advantages }) => advantages.map(Math.round))).toEqual([[-1], [1, 1], [-1], [1, 1]])
    expect(metrics.values).toMatchObject({ reward: 0.5, reward_std: 0.5, reward_std_between: 0, frac_reward_zero_std: 0, entropy: 0.5, 'completions/mean_length': 1.5, updates: 1, skipped: 0 })
  })

  it('weighs tokens by the ratio of policy and sampling law, up to the cap', async () => {
    const batches: MicroBatch[] = []
    const { machinery } = machineryOf(configOf({ loss: { correction: 'truncated', correctionCap: 2 } }), (batch) => {
      batches.push(batch)
      return columnsOf(batch, 0)
    })
    const generate = machinery.source.sampler.generate.bind(machinery.source.sampler)
    machinery.source.sampler.generate = async (requests, options) => {
      const rollouts = await generate(requests, options)
      // Drawn with probability e^-2 where the policy gives e^-1: ratio e, cut to 2.
      for (const rollout of rollouts) rollout.logprobs.fill(-2)
      return rollouts
    }
    await trainStep(machinery, rows, 1)
    // Advantages of -1 (one token) and +1 (two tokens) a group, each twice as large; the weights stay those of the aggregation.
    expect(batches.flatMap((batch) => [...batch.columns['advantage']!]).map((a) => Math.round(a)).sort((a, b) => a - b)).toEqual([-2, -2, 2, 2, 2, 2])
    expect(batches.flatMap((batch) => [...batch.columns['weight']!]).sort()).toEqual([1 / 8, 1 / 8, 1 / 8, 1 / 8, 1 / 4, 1 / 4].map(Math.fround))
  })

  it('asks for the present log-probabilities where the loss looks at whole sequences, and leaves out who has drifted', async () => {
    const batches: MicroBatch[] = []
    const config = configOf({ estimator: { name: 'gspo' }, loss: { carmEpsilon: 0.5 } })
    const { machinery } = machineryOf(config, (batch) => {
      batches.push(batch)
      return columnsOf(batch, 0)
    })
    // Rollouts of one token have not moved; those of two have, by e^2 and e^-2: the mean log-ratio is 0, the mean absolute one is 2.
    machinery.pass.forward = (batch) => Promise.resolve({ ...columnsOf(batch, 0), logprob: Float32Array.from(batch.targets, (id, row) => (batch.targets[row - 1] === 10n && id === 11n ? -3 : batch.targets[row + 1] === 11n ? 1 : -1)) })
    const { metrics } = await trainStep(machinery, rows, 1)
    expect(metrics.values['carm/masked']).toBe(2)
    expect(batches.flatMap((batch) => [...batch.columns['weight']!])).toEqual([1 / 2, 1 / 2])
    expect(batches.flatMap((batch) => [...batch.columns['pivot']!])).toEqual([-1, -1])
    expect(batches.flatMap((batch) => [...batch.columns['clipCeiling']!])).toEqual(new Array(2).fill(Math.fround(1 + 4e-4 * Math.sqrt(8192))))
  })

  it('takes the divergence off the reward when it is told to', async () => {
    const { machinery } = machineryOf(configOf({ estimator: { name: 'rloo' }, loss: { klCoefficient: 0.5, klEstimator: 'k1', klPlace: 'reward' } }), (batch) => columnsOf(batch, 0))
    // The reference holds each token e^.2 times as likely: k1 is -.2 a token.
    const forward = (batch: MicroBatch): Promise<PassResult> => Promise.resolve({ ...columnsOf(batch, 0), logprob: new Float32Array(batch.rows.length).fill(-0.8) })
    const { records } = await trainStep({ ...machinery, pass: { ...machinery.pass, forward }, reference: { ...machinery.pass, forward } }, rows, 1)
    // Scores 0 + .1 and 1 + .2; of two rollouts each has the other as its baseline.
    expect(records.map(({ advantages }) => advantages.map((value) => Number(value.toFixed(6))))).toEqual([[-1.1], [1.1, 1.1], [-1.1], [1.1, 1.1]])
  })

  it('trains nothing, and says so, when every group was thrown away', async () => {
    const { machinery, weights } = machineryOf(configOf({ rollout: { promptsPerStep: 2, groupSize: 2, groups: { kind: 'dynamic', maxRefills: 1 } } }), (batch) => columnsOf(batch, 0))
    machinery.source.scorer.score = (items) => Promise.resolve(items.map(() => verdict(0)))
    const { metrics, records, healthy } = await trainStep(machinery, rows, 1)
    expect(healthy).toBe(true)
    expect([...weights]).toEqual([1, 1])
    expect(metrics.values).toMatchObject({ updates: 0, loss: null, 'groups/refills': 1, 'groups/discarded': 4, 'groups/missing': 2, frac_reward_zero_std: 1 })
    expect(records).toHaveLength(8) // thrown away, not lost
    expect(records.every(({ advantages }) => advantages.every((value) => value === 0))).toBe(true)
  })

  it('updates once a mini-batch and epoch', async () => {
    let calls = 0
    const { machinery } = machineryOf(configOf({ training: { miniBatches: 2, epochs: 3 } }), (batch) => {
      calls++
      return columnsOf(batch, 0)
    })
    expect((await trainStep(machinery, rows, 1)).metrics.values['updates']).toBe(6)
    expect(calls).toBe(6)
  })

  it.each([
    ['loss', (batch: MicroBatch) => columnsOf(batch, Number.NaN)],
    ['gradient', (batch: MicroBatch, gradients: ReadonlyMap<string, Float32Array>) => {
      gradients.get('w')!.fill(Infinity)
      return columnsOf(batch, 0.1)
    }],
  ])('is skipped and recorded when its %s is not finite', async (_, backward) => {
    const { machinery, weights } = machineryOf(configOf(), backward)
    const { metrics, records, healthy } = await trainStep(machinery, rows, 1)
    expect(healthy).toBe(false)
    expect([...weights]).toEqual([1, 1])
    expect(metrics.values).toMatchObject({ skipped: 1, updates: 0, loss: null, grad_norm: null })
    expect(records).toHaveLength(4) // kept for replay
    expect([...machinery.gradients.get('w')!]).toEqual([0, 0])
  })
})
