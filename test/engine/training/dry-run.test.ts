// The longest case of a run, tried on a tiny random model.
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { runConfigSchema, type RunConfig } from '../../../src-main/contract/run-config.ts'
import { dryRun } from '../../../src-main/engine/training/dry-run.ts'
import { useTemporaryFolder } from '../../support/run-folder.ts'
import { writeTinyModel } from '../../support/tiny-model.ts'

const temporaryFolder = useTemporaryFolder()

async function example(extra: Record<string, unknown> = {}): Promise<{ folder: string; config: RunConfig }> {
  const folder = await temporaryFolder()
  await writeTinyModel(join(folder, 'model'))
  const rows = ['Make a card.', 'Make a counter named Apples with two buttons, please.', 'Make a list.'].map((prompt, index) => ({ id: `p${index}`, prompt, requirements: [] }))
  await writeFile(join(folder, 'prompts.jsonl'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
  const config = runConfigSchema.parse({ model: join(folder, 'model'), data: { prompts: join(folder, 'prompts.jsonl'), heldoutShare: 0.34 }, device: 'cpu', threads: 1, adapter: { kind: 'lora', rank: 2 }, rollout: { promptsPerStep: 2, groupSize: 3, maxNewTokens: 9, slots: 4 }, ...extra })
  return { folder, config }
}

describe('a dry run', () => {
  it('fills every completion after the longest prompt, updates once a mini-batch, measures, and leaves nothing behind', async () => {
    // Masking of truncated completions would leave nothing to learn from: every completion of the longest case is truncated.
    const { folder, config } = await example({ training: { miniBatches: 2 }, estimator: { maskTruncated: true }, loss: { klCoefficient: 0.1 } })
    const phases = new Set<string>()
    const result = await dryRun(config, { onProgress: (phase) => phases.add(phase) })
    expect(result).toMatchObject({ rollouts: 6, newTokens: 9, updates: 2 })
    expect(result.promptTokens).toBeGreaterThan(20)
    expect(result.peakBytes).toBeGreaterThan(50 * 2 ** 20)
    expect(result.plannedBytes).toBeGreaterThan(50 * 2 ** 20)
    expect(result.seconds.step).toBeGreaterThanOrEqual(result.seconds.generate)
    expect([...phases]).toEqual(expect.arrayContaining(['load', 'generate', 'update']))
    expect((await readdir(folder)).toSorted()).toEqual(['model', 'prompts.jsonl'])
  })

  it.each(['dynamic', 'vigor'])('spends the whole budget of a step where groups are %s', async (kind) => {
    const { config } = await example({ rollout: { promptsPerStep: 2, groupSize: 6, maxNewTokens: 4, slots: 4, groups: kind === 'vigor' ? { kind, rounds: 2 } : { kind } } })
    const { rollouts, updates } = await dryRun(config)
    expect(rollouts).toBeGreaterThanOrEqual(10)
    expect(updates).toBe(1)
  })

  it('ends between two calls into the runtime when it is stopped', async () => {
    const { config } = await example()
    const controller = new AbortController()
    await expect(dryRun(config, { signal: controller.signal, onProgress: (phase) => phase === 'generate' && controller.abort() })).rejects.toThrow('the dry run was stopped; nothing was kept')
  })
})
