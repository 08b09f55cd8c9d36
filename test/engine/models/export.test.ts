import { readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { AdapterConfig } from '../../../src-main/contract/run-config.ts'
import { exportPeft, exportSafetensors } from '../../../src-main/engine/models/export.ts'
import type { ExportSource } from '../../../src-main/engine/models/export.ts'
import { openModelFolder } from '../../../src-main/engine/models/model-folder.ts'
import { createPolicyWeights } from '../../../src-main/engine/models/policy-weights.ts'
import { createStream } from '../../../src-main/engine/runtime/random.ts'
import { cpu } from '../../support/evaluate.ts'
import { useTemporaryFolder } from '../../support/run-folder.ts'
import { parityFolder } from '../../support/parity.ts'
import { writeTinyModel } from '../../support/tiny-model.ts'

const temporaryFolder = useTemporaryFolder()
const lora: AdapterConfig = { kind: 'lora', rank: 3, alpha: 5, dropout: 0, targets: ['q_proj', 'o_proj', 'down_proj'] }

/** A policy that has moved away from its base, and a folder to export into. */
async function moved(adapter: AdapterConfig, fixture?: string): Promise<{ source: ExportSource; out: string }> {
  const folder = await temporaryFolder()
  const from = fixture === undefined ? join(folder, 'base') : parityFolder(fixture)
  if (fixture === undefined) await writeTinyModel(from)
  const base = await openModelFolder(from)
  const policy = await createPolicyWeights(await cpu(), base.config, (name) => base.readTensor(name), adapter, 1)
  await base.close()
  policy.trainable.forEach(({ data }, index) => {
    const stream = createStream(2, 'moved', index)
    for (let i = 0; i < data.length; i++) data[i] = (data[i] as number) + 0.05 * stream.normal()
  })
  await policy.refresh()
  const stream = createStream(3, 'sequences')
  const sequences = Array.from({ length: 3 }, (_, row) => Array.from({ length: 12 + row }, () => stream.integer(policy.config.vocabularySize)))
  return { source: { device: await cpu(), policy, base: from, sequences, origin: { step: 7 } }, out: join(folder, 'out') }
}

describe('an exported adapter', () => {
  it('is the policy it was written from, and says so in export.json', async () => {
    const { source, out } = await moved(lora)
    const report = await exportPeft(source, out)
    expect(report.comparison).toMatchObject({ sequences: 3, tokens: 11 + 12 + 13 })
    expect(report.comparison.largestDifference).toBeLessThan(1e-6)
    const written = JSON.parse(await readFile(join(out, 'export.json'), 'utf8')) as object
    expect(written).toEqual({ format: 'peft', storedType: 'float32', origin: { step: 7 }, comparison: report.comparison })
    expect(JSON.parse(await readFile(join(out, 'adapter_config.json'), 'utf8'))).toMatchObject({ r: 3, lora_alpha: 5, target_modules: ['down_proj', 'o_proj', 'q_proj'] })
  })

  it('does not exist for a policy trained in full', async () => {
    const { source, out } = await moved({ kind: 'full' })
    await expect(exportPeft(source, out)).rejects.toThrow('no adapter to export')
  })
})

describe('an exported model', () => {
  it.each<[string, AdapterConfig]>([['lora', lora], ['lora with an adapted (tied) head', { ...lora, targets: ['q_proj', 'lm_head'] }], ['full', { kind: 'full' }]])('of a %s policy is the policy in float32, and close to it in half precision', async (_, adapter) => {
    const { source, out } = await moved(adapter)
    const exact = await exportSafetensors(source, out)
    expect(exact.storedType).toBe('float32')
    expect(exact.comparison.largestDifference).toBeLessThan(1e-4)
    const half = await exportSafetensors(source, `${out}-half`, 'bfloat16')
    // bfloat16 keeps 8 bits: weights move by up to 2^-9 of themselves, log-probabilities by far less than one.
    expect(half.comparison.largestDifference).toBeGreaterThan(exact.comparison.largestDifference)
    expect(half.comparison.largestDifference).toBeLessThan(0.2)
    expect((await readdir(out)).toSorted()).toEqual(['config.json', 'export.json', 'generation_config.json', 'model.safetensors', 'tokenizer.json', 'tokenizer_config.json'])
  })

  it.each(['smollm3', 'phi3-short', 'phi3-long'])('of the %s family keeps its layout and settings, adapters folded in', async (fixture) => {
    const { source, out } = await moved({ kind: 'lora', rank: 3, alpha: 5, dropout: 0, targets: ['all-linear'] }, fixture)
    const { comparison } = await exportSafetensors(source, out, 'float32')
    expect(comparison.largestDifference).toBeLessThan(1e-4)
    const [base, written] = [await openModelFolder(parityFolder(fixture)), await openModelFolder(out)]
    expect(written.config).toEqual({ ...base.config, torchDtype: 'float32' })
    expect([...written.names].toSorted()).toEqual([...base.names].toSorted())
    await Promise.all([base.close(), written.close()])
    expect((await exportPeft(source, `${out}-adapter`)).comparison.largestDifference).toBeLessThan(1e-6)
  })

  it('that is not the policy is an error, not a surprise for whoever loads it', async () => {
    const { source, out } = await moved({ kind: 'full' })
    // What is written and what the programs read fall apart, as a fault in either would make them.
    const parameters = new Map([...source.policy.parameters].map(([name, parameter]) => [name, { ...parameter, data: parameter.data.map((value) => value * 1.5) }]))
    await expect(exportSafetensors({ ...source, policy: { ...source.policy, parameters } }, out)).rejects.toThrow('the written model is not the policy')
    await expect(readdir(out)).rejects.toThrow('ENOENT')
  })
})

describe('any export', () => {
  it('leaves a folder alone that holds files', async () => {
    const { source } = await moved(lora)
    const taken = await temporaryFolder()
    await writeFile(join(taken, 'notes.txt'), 'mine')
    await expect(exportPeft(source, taken)).rejects.toThrow('already holds files')
    await expect(exportSafetensors(source, taken)).rejects.toThrow('already holds files')
    expect(await readdir(taken)).toEqual(['notes.txt'])
  })
})
