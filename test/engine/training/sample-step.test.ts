// How many rollouts each prompt of a step gets, with a scripted sampler and scorer.
import { describe, expect, it } from 'vitest'
import type { PromptRow, ScoredCompletion } from '../../../src-main/contract/rewards.ts'
import { runConfigSchema, type RunConfig, type RunConfigInput } from '../../../src-main/contract/run-config.ts'
import type { Rollout } from '../../../src-main/engine/rollout/sampler.ts'
import type { RandomStream } from '../../../src-main/engine/runtime/random.ts'
import type { RolloutSource } from '../../../src-main/engine/training/sample-groups.ts'
import { promptsOfStep, promptsPerStep, sampleStep } from '../../../src-main/engine/training/sample-step.ts'

const configOf = (rollout: NonNullable<RunConfigInput['rollout']>, seed = 3): RunConfig => runConfigSchema.parse({ model: 'm', data: { prompts: 'p' }, seed, rollout: { promptsPerStep: 2, groupSize: 4, ...rollout } })
const rows: PromptRow[] = Array.from({ length: 12 }, (_, index) => ({ id: `p${index}`, prompt: `${index}` }))

/** Each rollout is one id, the first number of its stream; `outcome` judges it. */
function sourceOf(config: RunConfig, outcome: (row: PromptRow, id: number) => number): { source: RolloutSource; calls: number[][] } {
  const calls: number[][] = []
  const sampler = {
    times: { prefill: 0, decode: 0, sampling: 0, total: 1, decodeSteps: 1, tokens: 5 },
    generate: (requests: { streams: RandomStream[] }[], options: { onFinished?: (rollout: Rollout) => void }) => {
      calls.push(requests.map(({ streams }) => streams.length))
      const rollouts = requests.flatMap(({ streams }, request) => streams.map((stream, index): Rollout => ({
        request, index, ids: Int32Array.of(stream.integer(1 << 30)), logprobs: Float32Array.of(-1), policyLogprobs: Float32Array.of(-1), entropies: Float32Array.of(0), finish: 'stop',
      })))
      rollouts.forEach((rollout) => options.onFinished?.(rollout))
      return Promise.resolve(rollouts)
    },
  }
  const verdict = (value: number): ScoredCompletion => ({ global: value, outcome: value, spans: [], sources: [], stages: { parse: true, types: true, bundle: true, render: true }, requirementScore: 0, audit: { passed: true, failures: [] } })
  const source = {
    config, sampler, stopIds: new Set([0]), encodePrompt: () => [1],
    tokenizer: { size: 64, tokenOffsets: (ids: Int32Array) => ({ text: String(ids[0]), starts: Int32Array.of(0), ends: Int32Array.of(1) }) },
    scorer: { score: (items: { row: PromptRow; text: string }[]) => Promise.resolve(items.map(({ row, text }) => verdict(outcome(row, Number(text))))) },
  } as unknown as RolloutSource
  return { source, calls }
}

const between = (): Promise<void> => Promise.resolve()
const parity = (_row: PromptRow, id: number): number => id % 2
const ids = (groups: readonly { readonly rollouts: readonly { readonly rollout: Rollout }[] }[]): number[][] => groups.map(({ rollouts }) => rollouts.map(({ rollout }) => rollout.ids[0]!))

describe('fixed groups', () => {
  it('sample every prompt of the step once', async () => {
    const config = configOf({})
    const { source, calls } = sourceOf(config, parity)
    const { groups, discarded, times } = await sampleStep(source, rows, 2, between)
    expect(calls).toEqual([[4, 4]])
    expect(groups.map(({ row }) => row)).toEqual(promptsOfStep(rows, config, 2))
    expect(discarded).toEqual([])
    expect(times).toMatchObject({ generate: 1, tokens: 5 })
  })
})

describe('work beside scoring', () => {
  it('begins while verdicts are still open, and sees the rollouts of the groups in their order', async () => {
    const { source } = sourceOf(configOf({}), parity)
    let open = 0
    const late: RolloutSource = { ...source, scorer: { score: async (items) => ((open += items.length), await new Promise((done) => setImmediate(done)), (open -= items.length), source.scorer.score(items)) } }
    let seen: Rollout[] = []
    const { groups } = await sampleStep(late, rows, 1, between, (rollouts) => {
      expect(open).toBe(8)
      seen = rollouts.map(({ rollout }) => rollout)
      return Promise.resolve()
    })
    expect(seen).toEqual(groups.flatMap(({ rollouts }) => rollouts.map(({ rollout }) => rollout)))
    groups.flatMap(({ rollouts }) => rollouts).forEach(({ rollout }, index) => expect(seen[index]).toBe(rollout))
  })

  it.each([{ kind: 'dynamic', maxRefills: 2 } as const, { kind: 'vigor', rounds: 2 } as const])('waits until the groups are chosen where verdicts choose them: %j', async (groups) => {
    const { source } = sourceOf(configOf({ groups }), parity)
    const seen: Rollout[][] = []
    const sample = await sampleStep(source, rows, 1, between, (rollouts) => Promise.resolve(void seen.push(rollouts.map(({ rollout }) => rollout))))
    expect(seen).toEqual([sample.groups.flatMap(({ rollouts }) => rollouts.map(({ rollout }) => rollout))])
  })
})

describe('dynamic groups', () => {
  const config = configOf({ groups: { kind: 'dynamic', maxRefills: 2 } })
  const [first] = promptsOfStep(rows, config, 1)

  it('throw flat groups away and sample other prompts in their place', async () => {
    const { source, calls } = sourceOf(config, (row, id) => (row === first ? -1 : id % 2))
    const { groups, discarded, metrics, times } = await sampleStep(source, rows, 1, between)
    expect(calls[0]).toEqual([4, 4])
    expect(groups).toHaveLength(2)
    expect(discarded.map(({ row }) => row.id)).toContain(first!.id)
    for (const { rollouts } of groups) expect(new Set(rollouts.map(({ scored }) => scored.outcome)).size).toBe(2)
    expect(metrics).toEqual({ 'groups/refills': calls.length - 1, 'groups/discarded': discarded.length, 'groups/missing': 0 })
    expect(times).toMatchObject({ generate: calls.length, tokens: 5 * calls.length })
    expect(new Set([...groups, ...discarded].map(({ row }) => row.id)).size).toBe(groups.length + discarded.length)
  })

  it('give up after so many refills, and say how many groups are missing', async () => {
    const { source, calls } = sourceOf(config, () => 0)
    const { groups, discarded, metrics } = await sampleStep(source, rows, 1, between)
    expect(calls).toEqual([[4, 4], [4, 4], [4, 4]])
    expect(groups).toEqual([])
    expect(discarded).toHaveLength(6)
    expect(metrics).toEqual({ 'groups/refills': 2, 'groups/discarded': 6, 'groups/missing': 2 })
  })

  it('stop when the data has no other prompt', async () => {
    const { source, calls } = sourceOf(config, () => 0)
    const { discarded } = await sampleStep(source, rows.slice(0, 3), 1, between)
    expect(calls).toEqual([[4, 4], [4]])
    expect(discarded).toHaveLength(3)
  })

  it('draw the same in a run that is resumed, and other numbers for every prompt and step', async () => {
    const once = async (step: number): Promise<number[][]> => {
      const sample = await sampleStep(sourceOf(config, (row, id) => (row === first ? -1 : id % 2)).source, rows, step, between)
      return ids([...sample.groups, ...sample.discarded])
    }
    const [one, again, other] = [await once(1), await once(1), await once(2)]
    expect(again).toEqual(one)
    const all = [...one, ...other].flat()
    expect(new Set(all).size).toBe(all.length)
  })

  it('look at outcomes as the flat-group test does: within the tolerance they are the same', async () => {
    const tolerant = { ...config, estimator: { ...config.estimator, flatTolerance: 0.5 } }
    const { source } = sourceOf(tolerant, (_row, id) => (id % 2) * 0.4)
    expect((await sampleStep(source, rows, 1, between)).groups).toEqual([])
  })
})

describe('VIGOR', () => {
  const config = configOf({ promptsPerStep: 8, groupSize: 4, groups: { kind: 'vigor', rounds: 3 } })

  it('spends the budget of rollouts on more prompts, most of it on those whose outcomes vary', async () => {
    expect(promptsPerStep(config)).toBe(8) // 32 rollouts over (3 + 1)
    const lively = new Set(promptsOfStep(rows, config, 1).slice(2, 4).map(({ id }) => id))
    const { source, calls } = sourceOf(config, (row, id) => (lively.has(row.id) ? id : 0))
    const { groups, metrics } = await sampleStep(source, rows, 1, between)
    expect(calls).toEqual([new Array(8).fill(2), new Array(4).fill(2), new Array(2).fill(4)])
    expect(groups.filter(({ row }) => lively.has(row.id)).map(({ rollouts }) => rollouts.length)).toEqual([8, 8])
    expect(groups.flatMap(({ rollouts }) => rollouts)).toHaveLength(32)
    expect(metrics).toEqual({ 'groups/largest': 8 })
  })

  it('numbers the rollouts of a prompt through, and draws none twice', async () => {
    const { groups } = await sampleStep(sourceOf(config, parity).source, rows, 1, between)
    for (const { rollouts } of groups) expect(rollouts.map(({ rollout }) => rollout.index)).toEqual(rollouts.map((_, k) => k))
    const all = ids(groups).flat()
    expect(new Set(all).size).toBe(all.length)
  })

  it('goes through the data without repeating a prompt within an epoch', () => {
    const seen = [1, 2, 3].flatMap((step) => promptsOfStep(rows, config, step).map(({ id }) => id))
    expect(new Set(seen.slice(0, 12)).size).toBe(12)
    expect(new Set(seen.slice(12)).size).toBe(12)
  })
})
