import { describe, expect, it } from 'vitest'
import { estimatorNames } from '../../src-main/contract/estimator-config.ts'
import { presetFragment, presetNames } from '../../src-main/contract/methods.ts'
import { runConfigSchema } from '../../src-main/contract/run-config.ts'
import type { RunConfigInput } from '../../src-main/contract/run-config.ts'

const base = { model: 'm', data: { prompts: 'p' } }
const parse = (input: Partial<RunConfigInput>) => runConfigSchema.safeParse({ ...base, ...input })

/** The first complaint about a configuration. */
function refusal(input: Partial<RunConfigInput>): string {
  const { error } = parse(input)
  return error === undefined ? 'accepted' : `${error.issues[0]!.path.join('.')}: ${error.issues[0]!.message}`
}

describe('a method', () => {
  it('brings its own loss and sampling where the configuration leaves them open', () => {
    expect(parse({ estimator: { name: 'dapo' } }).data).toMatchObject({ loss: { surrogate: 'token', clipLow: 0.2, clipHigh: 0.28, aggregation: 'all-tokens' }, rollout: { groups: { kind: 'dynamic', maxRefills: 3 }, overlongShare: 0.2 } })
    expect(parse({ estimator: { name: 'gspo' } }).data?.loss).toMatchObject({ surrogate: 'sequence', clipLow: 3e-4, clipHigh: 4e-4 })
    expect(parse({ estimator: { name: 'rloo' } }).data?.loss.surrogate).toBe('sequence-sum')
    expect(parse({ estimator: { name: 'dr-grpo' } }).data?.loss.aggregation).toBe('constant-length')
    expect(parse({}).data).toMatchObject({ estimator: { name: 'bot-grpo' }, loss: { surrogate: 'token', aggregation: 'token-then-rollout' }, rollout: { groups: { kind: 'fixed' } } })
  })

  it('gives way to what the configuration says', () => {
    expect(parse({ estimator: { name: 'dapo' }, loss: { clipHigh: 0.3 }, rollout: { groups: { kind: 'fixed' } } }).data).toMatchObject({ loss: { clipLow: 0.2, clipHigh: 0.3, aggregation: 'all-tokens' }, rollout: { groups: { kind: 'fixed' }, overlongShare: 0.2 } })
  })

  it('leaves a loss alone that names another surrogate', () => {
    expect(parse({ estimator: { name: 'rloo' }, loss: { surrogate: 'token' } }).data?.loss).toMatchObject({ surrogate: 'token', clipLow: 0.2 })
  })

  it('once spelled out is read again as it is', () => {
    for (const name of estimatorNames) {
      const { data } = parse({ estimator: { name } })
      expect(parse(data as RunConfigInput).data).toEqual(data)
    }
  })

  it('in each preset goes together with itself', () => {
    for (const name of estimatorNames) for (const preset of presetNames) expect(refusal(presetFragment(preset, name)), `${name}, ${preset}`).toBe('accepted')
  })
})

describe('a combination that makes no sense', () => {
  it.each<[string, Partial<RunConfigInput>, RegExp]>([
    ['a sequence ratio for token advantages', { estimator: { name: 'bot-grpo' }, loss: { surrogate: 'sequence' } }, /^loss\.surrogate: .*"sequence".*estimator\.name "bot-grpo"/],
    ['RLOO\'s ratio for token advantages', { estimator: { name: 'pure' }, loss: { surrogate: 'sequence-sum' } }, /^loss\.surrogate: .*estimator\.name "pure"/],
    ['GSPO without its surrogate', { estimator: { name: 'gspo' }, loss: { surrogate: 'token' } }, /^loss\.surrogate: estimator\.name "gspo".*loss\.surrogate "sequence"/],
    ['a sequence ratio aggregated by token', { estimator: { name: 'gspo' }, loss: { aggregation: 'all-tokens' } }, /^loss\.aggregation: loss\.surrogate "sequence"/],
    ['a dual clip on CISPO', { estimator: { name: 'cispo' }, loss: { dualClip: 3 } }, /^loss\.dualClip: .*loss\.surrogate "token".*"cispo"/],
    ['a band by length on token ratios', { loss: { clipReferenceLength: 100 } }, /^loss\.clipReferenceLength: .*loss\.surrogate "token"/],
    ['divergence in a token reward', { loss: { klCoefficient: 0.1, klPlace: 'reward' } }, /^loss\.klPlace: .*estimator\.name "bot-grpo"/],
    ['an unbiased term that is not in the loss', { estimator: { name: 'grpo' }, loss: { klUnbiased: true, klPlace: 'reward' } }, /^loss\.klUnbiased: .*loss\.klPlace/],
    ['a band upside down', { loss: { correctionLow: 6 } }, /^loss\.correctionLow: .*loss\.correctionHigh 5/],
    ['sequence ratios through dropout', { estimator: { name: 'gspo' }, adapter: { kind: 'lora', dropout: 0.1 } }, /^adapter\.dropout: .*loss\.surrogate "sequence"/],
    ['CARM through dropout', { loss: { carmEpsilon: 0.1 }, adapter: { kind: 'lora', dropout: 0.1 } }, /^adapter\.dropout: .*loss\.carmEpsilon/],
    ['more rounds than the budget has rollouts', { rollout: { promptsPerStep: 2, groupSize: 4, groups: { kind: 'vigor', rounds: 4 } } }, /^rollout\.groups\.rounds: .*promptsPerStep.*8/],
  ])('is refused with both fields named: %s', (_, input, message) => {
    expect(refusal(input)).toMatch(message)
  })

  it('includes an estimator nobody knows: the known ones are listed', () => {
    expect(refusal({ estimator: { name: 'ppo' } as never })).toMatch(/^estimator\.name: .*bot-grpo, grpo, .*sapo/)
  })

  it('includes fields of another estimator', () => {
    expect(refusal({ estimator: { name: 'dr-grpo', epsilon: 1e-6 } as never })).toMatch(/^estimator: .*epsilon/)
  })

  it('passes values through that are no configuration, for the schema to refuse', () => {
    for (const value of [null, 3, [], { estimator: 'grpo' }, { estimator: { name: 'grpo' }, loss: 7 }]) expect(runConfigSchema.safeParse(value).success).toBe(false)
  })
})
