// Which projections of a model get an adapter.
import { describe, expect, it } from 'vitest'
import type { LoraTarget } from '../../../src-main/contract/run-config.ts'
import { openModelFolder } from '../../../src-main/engine/models/model-folder.ts'
import { createPolicyWeights } from '../../../src-main/engine/models/policy-weights.ts'
import type { PolicyWeights } from '../../../src-main/engine/models/policy-weights.ts'
import { cpu } from '../../support/evaluate.ts'
import { parityFolder } from '../../support/parity.ts'
import { userError } from './fixtures.ts'

async function adapted(fixture: string, targets: LoraTarget[]): Promise<PolicyWeights> {
  const folder = await openModelFolder(parityFolder(fixture))
  try {
    return await createPolicyWeights(await cpu(), folder.config, (name) => folder.readTensor(name), { kind: 'lora', rank: 2, alpha: 4, dropout: 0, targets }, 1)
  } finally {
    await folder.close()
  }
}

const modules = (policy: PolicyWeights): string[] => policy.trainable.filter(({ name }) => name.startsWith('model.layers.1.') && name.endsWith('.lora_A.weight')).map(({ name }) => name.slice('model.layers.1.'.length, -'.lora_A.weight'.length))

describe('adapter targets', () => {
  it('all-linear means every projection the family has, and is recorded by name', async () => {
    const separate = await adapted('smollm3', ['all-linear'])
    expect(modules(separate)).toEqual(['self_attn.q_proj', 'self_attn.k_proj', 'self_attn.v_proj', 'self_attn.o_proj', 'mlp.gate_proj', 'mlp.up_proj', 'mlp.down_proj'])
    const packed = await adapted('phi3-short', ['all-linear'])
    expect(modules(packed)).toEqual(['self_attn.qkv_proj', 'self_attn.o_proj', 'mlp.gate_up_proj', 'mlp.down_proj'])
    expect(packed.adapter).toMatchObject({ targets: ['qkv_proj', 'o_proj', 'gate_up_proj', 'down_proj'] })
  })

  it('named ones start from the same values as before all-linear named them', async () => {
    const named = await adapted('smollm3', ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj'])
    expect(named.hash()).toBe((await adapted('smollm3', ['all-linear'])).hash())
  })

  it('one the family does not have is refused, naming those it has', async () => {
    expect(await userError(async () => adapted('phi3-short', ['o_proj', 'q_proj']))).toMatchObject({
      code: 'bad-input', what: 'a phi3 model has no projection q_proj to adapt', place: { field: 'adapter.targets' },
      expected: 'some of qkv_proj, o_proj, gate_up_proj, down_proj, or all-linear for all of them',
    })
    expect((await userError(async () => adapted('llama-tied', ['gate_up_proj']))).expected).toContain('gate_proj, up_proj, down_proj')
  })
})
