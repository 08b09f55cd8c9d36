// The memory plan: its parts against numbers that can be written down by hand, and advice that helps. How it compares with what was
// measured is the benchmarks' business (npm run bench, npm run bench:geometry) and every run's report.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { runConfigSchema, type RunConfigInput } from '../../../src-main/contract/run-config.ts'
import { readDecoderConfig, type DecoderConfig } from '../../../src-main/engine/models/config.ts'
import { adviseMemory, machinePeaks, planLayout, planMemory, planVerdict } from '../../../src-main/engine/training/memory-plan.ts'
import { PHI_4_MINI, QWEN25_3B } from '../models/published-configs.ts'

const GiB = 2 ** 30
let qwen: DecoderConfig
let phi: DecoderConfig

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'satchel-plan-'))
  const read = async (raw: unknown): Promise<DecoderConfig> => {
    await writeFile(join(folder, 'config.json'), JSON.stringify(raw))
    return (await readDecoderConfig(folder)).config
  }
  qwen = await read(QWEN25_3B)
  phi = await read(PHI_4_MINI)
  await rm(folder, { recursive: true })
})

const run = (input: Partial<RunConfigInput> = {}) => runConfigSchema.parse({ model: '-', data: { prompts: '-' }, evaluation: { every: 0 }, rollout: { promptsPerStep: 1, groupSize: 4, slots: 4, maxNewTokens: 128 }, ...input })
const lengths = { promptTokens: 128, longest: 256 }

describe('the plan of Qwen2.5-3B', () => {
  it('weights: the layers\' 2,774,532,096 matrix elements as held, and the rest as float32', () => {
    // 36 * (2048*2048*2 + 2048*256*2 + 3*2048*11008); the model has 3,085,938,688 parameters (spec/models.md).
    const matrices = 2_774_532_096
    const rest = (3_085_938_688 - matrices) * 4
    const weights = (precision: 'fp32' | 'stored' | 'int8' | 'int4', streamLayers = false): number => planMemory(qwen, run({ weights: { precision, streamLayers } }), lengths, 24 * GiB).weights - rest
    expect(weights('fp32')).toBe(matrices * 4)
    expect(weights('stored')).toBe(matrices * 2)
    expect(weights('int8')).toBe(matrices * 1.125)
    expect(weights('int4')).toBe(matrices * 0.625)
    expect(weights('stored', true)).toBe(0)
  })

  it('cache: 73,728 bytes a position in float32, twice the published bf16 size, for every row and the prompt', () => {
    expect(planMemory(qwen, run(), lengths, 24 * GiB).cache).toBe(73_728 * 256 * 5)
  })

  it('adapters: rank 16 on all projections is 29,933,568 parameters; the optimizer holds two numbers each', () => {
    // 36 * 16 * ((2048+2048) + 2*(2048+256) + (2048+2048) + 2*(2048+11008) + (11008+2048))
    const plan = planMemory(qwen, run(), lengths, 24 * GiB)
    expect(plan.adapters).toBe(29_933_568 * 4)
    expect(plan.gradients).toBe(plan.adapters)
    expect(plan.optimizer).toBe(2 * plan.adapters)
  })

  it('holds one widened layer where layers are not float32, and none where they are', () => {
    expect(planMemory(qwen, run({ weights: { precision: 'int4' } }), lengths, 24 * GiB).layerInUse).toBe((2_774_532_096 / 36) * 4)
    expect(planMemory(qwen, run(), lengths, 24 * GiB).layerInUse).toBe(0)
  })

  it('packs frozen weights into programs only where the machine can spare it', () => {
    expect(planMemory(qwen, run(), lengths, 24 * GiB).programs).toBe(0)
    expect(planMemory(qwen, run(), lengths, 2048 * GiB).programs).toBeGreaterThan(0)
  })
})

describe('a graphics card', () => {
  it('holds weights, cache and activations; the machine keeps its copy, and nothing is packed', () => {
    const plan = planMemory(qwen, run({ device: 'webgpu', weights: { precision: 'int4' } }), lengths, 24 * GiB)
    const rest = (3_085_938_688 - 2_774_532_096) * 4
    expect(plan.devicePeak).toBe(rest + plan.layerInUse + plan.adapters + plan.gradients + plan.cache + plan.generation + plan.activations + plan.logits)
    expect(plan.programs).toBe(0)
    expect(plan.trainingPeak).toBeLessThan(planMemory(qwen, run({ weights: { precision: 'int4' } }), lengths, 24 * GiB).trainingPeak)
    expect(planMemory(qwen, run(), lengths, 24 * GiB).devicePeak).toBeNull()
  })
})

describe('layout', () => {
  it('is a layer at a time where layers are held in fewer bits, or one program would fill half the memory', () => {
    expect(planLayout(phi, run({ weights: { precision: 'int4' } }), 1024 * GiB)).toBe('layered')
    expect(planLayout(phi, run(), 24 * GiB)).toBe('layered')
    expect(planLayout(phi, run(), 1024 * GiB)).toBe('whole')
    expect(planLayout(phi, run({ training: { recompute: 'layer' } }), 1024 * GiB)).toBe('layered')
  })
})

describe('advice', () => {
  it('names changes that lower the peak, those that help most first, and an fp32 Phi-4-mini fits 12 GiB by one of them', () => {
    const asked = run()
    const peak = planMemory(phi, asked, lengths, 12 * GiB).trainingPeak
    expect(peak).toBeGreaterThan(12 * GiB)
    const advice = adviseMemory(phi, asked, lengths, 12 * GiB)
    expect(advice.map(({ change }) => change)).toContain('weights.precision int4')
    expect(advice[0]!.trainingPeak).toBeLessThan(12 * GiB)
    advice.forEach(({ trainingPeak }, index) => {
      expect(trainingPeak).toBeLessThan(peak)
      if (index > 0) expect(trainingPeak).toBeGreaterThanOrEqual(advice[index - 1]!.trainingPeak)
    })
  })

  it('a verdict says so where the plan was off by more than a fifth', () => {
    expect(planVerdict(1, 1.1)).toBe('Memory: planned 1.00 GiB, measured peak 1.10 GiB (planned / measured 0.91).')
    expect(planVerdict(1, 1.5)).toMatch(/the plan was wrong by more than 20 %/)
  })
})

describe('the browser that takes pictures', () => {
  const planOf = (reward: RunConfigInput['reward']) => planMemory(qwen, run(reward === undefined ? {} : { reward }), lengths, 24 * GiB)

  it('is planned for where pictures are taken, and nowhere else', () => {
    expect(planOf(undefined).browser).toBe(0)
    expect(planOf({ recipe: 'maths' }).browser).toBe(0)
    for (const mode of ['audit', 'reward'] as const) expect(planOf({ recipe: 'react', screenshots: { mode } }).browser).toBeGreaterThan(2 ** 28)
  })

  it('counts for the machine, and not for the engine\'s own process, which is measured', () => {
    const [without, plan] = [planOf(undefined), planOf({ recipe: 'react', screenshots: { mode: 'audit' } })]
    expect(plan.trainingPeak).toBe(without.trainingPeak)
    expect(machinePeaks(without)).toEqual({ generation: without.generationPeak, training: without.trainingPeak, resume: without.resumePeak })
    expect(machinePeaks(plan)).toEqual({ generation: plan.generationPeak + plan.browser, training: plan.trainingPeak + plan.browser, resume: plan.resumePeak + plan.browser })
  })
})
