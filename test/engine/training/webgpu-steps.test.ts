// Two whole training steps - sampling, advantages, update - on WebGPU against the CPU. The model is a parity fixture, which has no tokenizer
// and answers no prompt: a text of one letter an id and a reward that likes some ids stand in.
import { expect, it, vi } from 'vitest'
import type { PromptRow, ScoredCompletion } from '../../../src-main/contract/rewards.ts'
import { runConfigSchema, type RunConfig } from '../../../src-main/contract/run-config.ts'
import { openModelFolder } from '../../../src-main/engine/models/model-folder.ts'
import { createPolicyWeights } from '../../../src-main/engine/models/policy-weights.ts'
import type { Tokenizer } from '../../../src-main/engine/models/tokenizer.ts'
import { createSampler } from '../../../src-main/engine/rollout/sampler.ts'
import { createDevice, type DeviceKind } from '../../../src-main/engine/runtime/ort.ts'
import { trainStep, type StepResult } from '../../../src-main/engine/training/loop.ts'
import { createOptimizer } from '../../../src-main/engine/training/optimizer.ts'
import { createPass, gradientArrays } from '../../../src-main/engine/training/passes.ts'
import { parityFolder } from '../../support/parity.ts'
import { webgpuAbsence } from '../../support/webgpu.ts'

// A Vulkan in software compiles every shader anew, on the processors the other tests use.
vi.setConfig({ testTimeout: 300_000 })

const absent = webgpuAbsence()
if (absent !== undefined) console.warn(`WebGPU training is not tested: ${absent}`)

const vocabulary = 96
const letter = (id: number): string => String.fromCharCode(0x100 + id)
const tokenizer = {
  size: vocabulary,
  tokenOffsets: (ids: ArrayLike<number>) => {
    const starts = Int32Array.from({ length: ids.length }, (_, index) => index)
    return { text: Array.from(ids, letter).join(''), starts, ends: starts.map((start) => start + 1) }
  },
} as unknown as Tokenizer

/** More reward for more small ids, and a local penalty on id 7. */
function score(text: string): ScoredCompletion {
  const ids = [...text].map((character) => character.charCodeAt(0) - 0x100)
  const global = ids.filter((id) => id < vocabulary / 3).length / 8 - 1
  return {
    global,
    outcome: global,
    spans: ids.flatMap((id, index) => (id === 7 ? [{ start: index, end: index + 1, value: -0.5, source: 'compiler', message: 'seven' }] : [])),
    sources: [{ source: 'compiler', global, spans: [], milliseconds: 0 }],
    stages: { parse: false, types: false, bundle: false, render: false },
    requirementScore: 0,
    audit: { passed: true, failures: [] },
  }
}

async function train(kind: DeviceKind, config: RunConfig): Promise<{ steps: StepResult[]; weights: Map<string, Float32Array>; before: Map<string, Float32Array>; sameOnDevice: boolean }> {
  const device = await createDevice(kind, { threads: 1 })
  const folder = await openModelFolder(config.model)
  const policy = await createPolicyWeights(device, folder.config, (name) => folder.readTensor(name), config.adapter, config.seed)
  await folder.close()
  const copy = (): Map<string, Float32Array> => new Map(policy.trainable.map(({ name, data }) => [name, data.slice()]))
  const before = copy()
  const sampler = await createSampler(device, policy, 64)
  const options = { layout: config.training.recompute === 'layer' ? 'layered' : 'whole', temperature: 1, loss: { kind: 'policy', loss: config.loss }, maxLength: 64, headChunkTokens: 32 } as const
  const pass = createPass(device, policy, options)
  const reference = createPass(device, policy, { ...options, adapters: false })
  const rows: PromptRow[] = [[5, 9, 17, 33], [7, 11], [64, 3, 8, 21, 40, 55, 13]].map((ids, index) => ({ id: `${index}`, prompt: ids.join(' ') }))
  const machinery = {
    config, policy, pass, reference,
    source: {
      config, sampler, tokenizer, stopIds: new Set([2]),
      scorer: { score: (items: readonly { readonly text: string }[]) => Promise.resolve(items.map(({ text }) => score(text))) },
      encodePrompt: (row: PromptRow) => row.prompt.split(' ').map(Number),
    },
    optimizer: createOptimizer(policy, config.optimizer, config.training.steps),
    gradients: gradientArrays(policy),
    checkpointForCommands: () => Promise.resolve(),
  }
  const steps = [await trainStep(machinery, rows, 1), await trainStep(machinery, rows, 2)]
  const sameOnDevice = (await policy.residentHash()) === policy.hash()
  for (const part of [pass, reference, sampler]) await part.release()
  await device.dispose()
  return { steps, weights: copy(), before, sameOnDevice }
}

it.skipIf(absent !== undefined).each(['none', 'layer'] as const)(`two steps on webgpu equal two steps on the CPU, recompute %s${absent === undefined ? '' : ` (skipped: ${absent})`}`, async (recompute) => {
  const config = runConfigSchema.parse({
    model: parityFolder('qwen2-tied-sharded'),
    data: { prompts: 'none' },
    adapter: { kind: 'lora', rank: 4, alpha: 8, targets: ['all-linear', 'lm_head'] },
    rollout: { promptsPerStep: 2, groupSize: 4, maxNewTokens: 12, slots: 6 },
    loss: { klCoefficient: 0.05 },
    optimizer: { learningRate: 2e-3 },
    training: { steps: 2, microBatchTokens: 64, recompute },
  })
  const expected = await train('cpu', config)
  const actual = await train('webgpu', config)
  expect(actual.sameOnDevice).toBe(true)
  for (const [step, { records, metrics, healthy }] of expected.steps.entries()) {
    const own = actual.steps[step]!
    expect(healthy && own.healthy).toBe(true)
    expect(own.records.map(({ ids }) => ids)).toEqual(records.map(({ ids }) => ids))
    for (const name of ['reward', 'loss', 'grad_norm', 'entropy', 'kl', 'token_reward', 'advantage_max'] as const) {
      const [mine, reference] = [own.metrics.values[name]!, metrics.values[name]!]
      expect(Math.abs(mine - reference), `step ${step + 1}, ${name}: ${mine} and ${reference}`).toBeLessThan(1e-5 + 1e-3 * Math.abs(reference))
    }
    expect(own.metrics.values['sampler_mismatch/max']).toBeLessThan(1e-3)
  }
  // Adam moves every weight by about the learning rate whatever its gradient; the sum over a tensor shows a wrong one, single entries with a
  // gradient of rounding size may differ.
  for (const [name, weights] of expected.weights) {
    const before = expected.before.get(name)!
    const moved = Math.hypot(...weights.map((value, index) => value - before[index]!))
    const apart = Math.hypot(...weights.map((value, index) => value - actual.weights.get(name)![index]!))
    expect(moved, name).toBeGreaterThan(0)
    expect(apart / moved, name).toBeLessThan(0.02)
  }
})
