// The trial of a model takes the most exact precision that fits the memory.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { runConfigSchema } from '../../src-main/contract/run-config.ts'
import { writeAFewTokens } from '../../src-main/engine-host/model-trial.ts'
import type { DecoderConfig } from '../../src-main/engine/models/config.ts'
import { planMemory } from '../../src-main/engine/training/memory-plan.ts'
import { writeTinyModel } from '../support/tiny-model.ts'

let folder = ''
let model: DecoderConfig

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'satchel-trial-'))
  model = await writeTinyModel(folder, 'bfloat16', { hiddenSize: 128, intermediateSize: 512, heads: 4, headSize: 32, kvHeads: 4, layers: 4, rotaryDimensions: 32 })
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** Memory that just does for a precision. */
function memoryFor(precision: 'fp32' | 'stored' | 'int4'): number {
  const run = runConfigSchema.parse({ model: folder, data: { prompts: '-' }, adapter: { kind: 'lora', rank: 1 }, weights: { precision }, rollout: { promptsPerStep: 1, slots: 1, maxNewTokens: 16 }, evaluation: { every: 0 } })
  return planMemory(model, run, { promptTokens: 496, longest: 512 }, 1e9).generationPeak / 0.9 + 1
}

it('float32, then as stored, then int4, then nothing, with the numbers', async () => {
  const exact = await writeAFewTokens(folder, 1e10)
  expect(exact).toEqual({ text: expect.any(String) as string })
  expect(await writeAFewTokens(folder, memoryFor('stored'))).toEqual({ ...exact, how: 'its layers read as they are stored' })
  expect(await writeAFewTokens(folder, memoryFor('int4'))).toMatchObject({ how: 'its layers in int4' })
  expect(await writeAFewTokens(folder, 1e8)).toEqual({ skipped: expect.stringMatching(/^no generation was tried: even in int4 it needs about \d+\.\d MiB of memory, 95\.4 MiB are free$/) as string })
  expect(memoryFor('int4')).toBeLessThan(memoryFor('stored'))
  expect(memoryFor('stored')).toBeLessThan(memoryFor('fp32'))
})
