import { describe, expect, test } from 'vitest'
import type { RolloutRecord } from '../../../../src-main/contract/events.ts'
import { runConfigSchema, type RunConfig } from '../../../../src-main/contract/run-config.ts'
import { groupAdvantages } from '../../../../src-main/engine/policy/group-advantages.ts'
import { replaySteps } from '../../../../src-main/engine/rewards/bench/replay.ts'
import { tokenRewards } from '../../../../src-main/engine/rewards/bus.ts'

const config = (input: object = {}): RunConfig => runConfigSchema.parse({ model: 'm', data: { prompts: 'p' }, ...input })
const before = config()

/** Two tokens on two lines each; the penalty lies on the second line. */
function record(promptId: string, index: number, compiler: number, flagged: boolean): RolloutRecord {
  const spans = flagged ? [{ start: 2, end: 3, value: -1, source: 'compiler', message: '' }] : []
  return {
    step: 1, promptId, prompt: promptId, index, text: 'a\nb', ids: [1, 2], starts: [0, 2], ends: [2, 3], logprobs: [-1, -1], entropies: [0, 0], tokenRewards: [], advantages: [], reward: compiler, outcome: compiler, finish: 'stop',
    stages: { parse: true, types: true, bundle: true, render: compiler === 0 }, requirementScore: 0, auditPassed: true, sources: [{ source: 'compiler', global: compiler }, { source: 'lint', global: 0 }, { source: 'requirements', global: 0 }], spans,
  }
}

function logged(records: readonly RolloutRecord[]): RolloutRecord[] {
  const rewards = records.map(({ reward, spans, text, starts, ends }) => tokenRewards({ global: reward, spans }, { text, starts: Int32Array.from(starts), ends: Int32Array.from(ends) }, before.reward).rewards)
  const { advantages } = groupAdvantages(before.estimator, [{ tokenRewards: rewards, outcomes: records.map(({ stages }) => (stages.render ? 0 : -1)), truncated: records.map(() => false) }])
  return records.map((one, k) => ({ ...one, tokenRewards: [...rewards[k]!], advantages: [...advantages[0]![k]!] }))
}
const records = logged([record('p', 0, 0, false), record('p', 1, -0.9, true), record('p', 2, 0, false), record('p', 3, -0.9, true)])

describe('a replay', () => {
  test('under the same configuration gives what was logged', () => {
    const [step] = replaySteps(records, before, before)
    expect(step).toMatchObject({ step: 1, rollouts: 4, change: 0, flippedTokens: 0, flippedRollouts: 0 })
    expect(step?.before.rootMeanSquare).toBeCloseTo(1, 5)
    expect(step?.after).toEqual(step?.before)
    expect(step?.correlation).toBeCloseTo(1, 12)
  })
  test('without the local signal every token of a rollout gets the same', () => {
    const [step] = replaySteps(records, before, config({ reward: { localWeight: 0 } }))
    expect(step?.change).toBeGreaterThan(0.01)
    expect(step?.after.reward).toBe(step?.before.reward)
  })
  test('with the opposite weight every token would be pushed the other way', () => {
    const [step] = replaySteps(records, before, config({ reward: { localWeight: 0, compiler: { globalWeight: -1 } } }))
    expect(step).toMatchObject({ flippedTokens: 1, flippedRollouts: 1 })
    expect(step?.after.reward).toBeCloseTo(0.45, 12)
  })
  test('under GRPO the rollouts of one score get one advantage', () => {
    const [step] = replaySteps(records, before, config({ estimator: { name: 'grpo' } }))
    expect(step?.after.rootMeanSquare).toBeCloseTo(1, 5)
    expect(step?.flippedTokens).toBe(0)
  })
  test('a change of what sources say is refused', () => {
    expect(() => replaySteps(records, before, config({ reward: { ladder: { types: -0.5 } } }))).toThrow(/reward\.ladder.*score --bench/)
    expect(() => replaySteps(records, before, config({ reward: { recipe: 'maths' } }))).toThrow(/reward\.recipe/)
  })
})
