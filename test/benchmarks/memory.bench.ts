// Peak memory of a training step against the formula of training/memory-plan.ts, for three sizes, each in a process of its own.
import { spawnSync } from 'node:child_process'
import { createPolicyWeights } from '../../src-main/engine/models/policy-weights.ts'
import { initialWeights } from '../../src-main/engine/models/initial-weights.ts'
import { createDevice } from '../../src-main/engine/runtime/ort.ts'
import { planMemory } from '../../src-main/engine/training/memory-plan.ts'
import { createPass, gradientArrays } from '../../src-main/engine/training/passes.ts'
import { createOptimizer } from '../../src-main/engine/training/optimizer.ts'
import { optimizerConfigSchema, runConfigSchema } from '../../src-main/contract/run-config.ts'
import { benchmarkConfig, randomBatch } from './engine.bench.ts'
import type { BenchmarkRow } from './rows.ts'

const sizes = [
  { name: 'hidden 256, 32 x 128 tokens, whole', hidden: 256, layers: 4, batch: 32, length: 128, layout: 'whole' },
  { name: 'hidden 512, 16 x 256 tokens, whole', hidden: 512, layers: 6, batch: 16, length: 256, layout: 'whole' },
  { name: 'hidden 768, 16 x 256 tokens, a layer at a time', hidden: 768, layers: 8, batch: 16, length: 256, layout: 'layered' },
] as const

export const memoryFlag = '--memory-of'

/** Runs in the child: one training step of size `index`; prints predicted bytes and the growth of the peak resident size. */
export async function measureMemory(index: number): Promise<void> {
  const size = sizes[index]
  if (size === undefined) throw new Error(`no size ${index}`)
  const config = { ...benchmarkConfig, hiddenSize: size.hidden, intermediateSize: (size.hidden * 11) / 4, heads: size.hidden / 32, kvHeads: size.hidden / 128, layers: size.layers }
  const device = await createDevice('cpu')
  const before = process.memoryUsage.rss()
  const weights = initialWeights(config, 1)
  const policy = await createPolicyWeights(device, config, (name) => weights.get(name) as Float32Array, { kind: 'full' }, 1)
  const pass = createPass(device, policy, { layout: size.layout, temperature: 1, loss: { kind: 'supervised' }, maxLength: 512, headChunkTokens: 1024 })
  const gradients = gradientArrays(policy)
  const optimizer = createOptimizer(policy, optimizerConfigSchema.parse({}), 1)
  const micro = randomBatch(config, size.batch, size.length)
  for (let step = 0; step < 2; step++) {
    await pass.backward(micro, gradients)
    optimizer.update(gradients)
  }
  const measured = process.resourceUsage().maxRSS * 1024 - before
  const run = runConfigSchema.parse({
    model: '-', data: { prompts: '-' }, adapter: { kind: 'full' }, rollout: { promptsPerStep: size.batch },
    training: { microBatchTokens: size.batch * size.length, recompute: size.layout === 'whole' ? 'none' : 'layer' },
  })
  const plan = planMemory(config, run, { promptTokens: 1, longest: size.length })
  if (plan.layout !== size.layout) throw new Error(`the plan is for a pass ${plan.layout}`)
  const predicted = plan.weights + plan.gradients + plan.optimizer + plan.activations + plan.logits
  process.stdout.write(`${JSON.stringify({ measured, predicted })}\n`)
}

export function benchmarkMemory(quick: boolean): BenchmarkRow[] {
  return sizes.slice(0, quick ? 1 : undefined).flatMap(({ name }, index): BenchmarkRow[] => {
    const child = spawnSync(process.execPath, [process.argv[1] as string, memoryFlag, String(index)], { encoding: 'utf8' })
    if (child.status !== 0) throw new Error(`the memory benchmark of ${name} failed: ${child.stderr}`)
    const { measured, predicted } = JSON.parse(child.stdout) as { measured: number; predicted: number }
    const ratio = predicted / measured
    return [
      { name: `peak memory, ${name}: measured`, value: measured / 2 ** 20, unit: 'MiB' },
      { name: `peak memory, ${name}: predicted`, value: predicted / 2 ** 20, unit: 'MiB' },
      { name: `peak memory, ${name}: predicted / measured`, value: ratio, unit: 'ratio', goal: '0.75 to 1.25', met: ratio >= 0.75 && ratio <= 1.25 },
    ]
  })
}
