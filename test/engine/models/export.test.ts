import { chmod, mkdir, readFile, readdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { AdapterConfig } from '../../../src-main/contract/run-config.ts'
import { expectedDifference, exportPolicy } from '../../../src-main/engine/models/export.ts'
import type { ExportSource } from '../../../src-main/engine/models/export.ts'
import { openFrozenLayers } from '../../../src-main/engine/models/frozen-layers.ts'
import { openModelFolder } from '../../../src-main/engine/models/model-folder.ts'
import { createPolicyWeights } from '../../../src-main/engine/models/policy-weights.ts'
import { openWeightFiles } from '../../../src-main/engine/models/weights.ts'
import { parityFolder } from '../../support/parity.ts'
import { movedPolicy } from '../../support/moved-policy.ts'
import { useTemporaryFolder } from '../../support/run-folder.ts'

const temporaryFolder = useTemporaryFolder()
const lora: AdapterConfig = { kind: 'lora', rank: 3, alpha: 5, dropout: 0, targets: ['q_proj', 'o_proj', 'down_proj'] }
const everywhere: AdapterConfig = { ...lora, targets: ['all-linear'] }

async function moved(adapter: AdapterConfig, fixture?: string): Promise<{ source: ExportSource; folder: string }> {
  const folder = await temporaryFolder()
  return { source: await movedPolicy(folder, adapter, fixture), folder: join(folder, 'out') }
}

const textOf = (...parts: string[]): Promise<string> => readFile(join(...parts), 'utf8')

describe('an exported adapter', () => {
  it('is the policy it was written from, and says so in export.json', async () => {
    const { source, folder } = await moved(lora)
    const report = await exportPolicy(source, { format: 'adapter', folder })
    expect(report.comparison).toMatchObject({ sequences: 3, tokens: 11 + 12 + 13, greedy: { prompts: 3, tokens: 5, equal: 3 } })
    expect(report.comparison.largestDifference).toBeLessThan(1e-6)
    expect(JSON.parse(await textOf(folder, 'export.json'))).toEqual({ format: 'adapter', storedType: 'float32', origin: { step: 7 }, comparison: report.comparison, expectedMeanDifference: 1e-4, notes: [] })
    expect(JSON.parse(await textOf(folder, 'adapter_config.json'))).toMatchObject({ r: 3, lora_alpha: 5, target_modules: ['down_proj', 'o_proj', 'q_proj'] })
  })

  it('does not exist for a policy trained in full', async () => {
    const { source, folder } = await moved({ kind: 'full' })
    await expect(exportPolicy(source, { format: 'adapter', folder })).rejects.toThrow('no adapter to export')
  })
})

describe('an exported model', () => {
  it.each<[string, AdapterConfig]>([['lora', lora], ['lora with an adapted (tied) head', { ...lora, targets: ['q_proj', 'lm_head'] }], ['full', { kind: 'full' }]])('of a %s policy is the policy in float32, and close to it in half precision', async (_, adapter) => {
    const { source, folder } = await moved(adapter)
    const exact = await exportPolicy(source, { format: 'merged', folder })
    expect(exact.storedType).toBe('float32')
    expect(exact.comparison.largestDifference).toBeLessThan(1e-4)
    expect(exact.comparison.greedy.equal).toBe(3)
    const half = await exportPolicy(source, { format: 'merged', folder: `${folder}-half`, storedType: 'bfloat16' })
    // bfloat16 keeps 8 bits: weights move by up to 2^-9 of themselves, log-probabilities by far less than one.
    expect(half.comparison.largestDifference).toBeGreaterThan(exact.comparison.largestDifference)
    expect(half.comparison.largestDifference).toBeLessThan(0.2)
    expect((await readdir(folder)).toSorted()).toEqual(['config.json', 'export.json', 'generation_config.json', 'model.safetensors', 'tokenizer.json', 'tokenizer_config.json'])
  })

  it.each(['llama-tied', 'llama-biases', 'qwen2-tied-sharded', 'qwen2-untied', 'smollm3', 'phi3-short', 'phi3-long'])('of %s has its files: the same shards, tensors, types and config.json', async (fixture) => {
    const { source, folder } = await moved(everywhere, fixture)
    const { comparison, storedType } = await exportPolicy(source, { format: 'merged', folder })
    expect(comparison.meanDifference).toBeLessThan(storedType === 'float32' ? 1e-5 : expectedDifference[storedType])
    const [base, written] = [await openWeightFiles(parityFolder(fixture)), await openWeightFiles(folder)]
    const facts = (weights: typeof base) => Object.fromEntries(weights.names.map((name) => [name, [weights.tensor(name)?.dtype, weights.tensor(name)?.shape, weights.fileOf(name)?.replace(/.*[/\\]/, '')]]))
    expect(facts(written)).toEqual(facts(base))
    await Promise.all([base.close(), written.close()])
    expect(await textOf(folder, 'config.json')).toBe(await textOf(parityFolder(fixture), 'config.json'))
    const index = 'model.safetensors.index.json'
    if ((await readdir(folder)).includes(index)) expect(JSON.parse(await textOf(folder, index))).toEqual(JSON.parse(await textOf(parityFolder(fixture), index)))
  })

  it('keeps an adapted head that was tied beside the embedding, in the file of the last tensor', async () => {
    const { source, folder } = await moved({ ...lora, targets: ['q_proj', 'lm_head'] }, 'qwen2-tied-sharded')
    await exportPolicy(source, { format: 'merged', folder })
    const written = await openModelFolder(folder)
    expect(written.config.tieWordEmbeddings).toBe(false)
    expect(written.warnings).toEqual([])
    await written.close()
    const weights = await openWeightFiles(folder)
    expect(weights.fileOf('lm_head.weight')).toBe(weights.fileOf('model.norm.weight'))
    expect(weights.tensor('lm_head.weight')?.dtype).toBe('BF16')
    await weights.close()
  })

  it('takes along whatever lies beside the base, except other copies of its weights', async () => {
    const { source, folder } = await moved(lora)
    await mkdir(join(source.base, 'additional_chat_templates'))
    for (const [name, content] of [['LICENSE', 'free'], ['pytorch_model.bin', 'old weights'], ['chat_template.jinja', '{{ x }}'], [join('additional_chat_templates', 'tools.jinja'), '{{ y }}'], ['.gitattributes', '']] as const) await writeFile(join(source.base, name), content)
    await chmod(join(source.base, 'LICENSE'), 0o444)
    await exportPolicy(source, { format: 'merged', folder })
    const names = await readdir(folder, { recursive: true })
    expect(names).toEqual(expect.arrayContaining(['LICENSE', 'chat_template.jinja', join('additional_chat_templates', 'tools.jinja')]))
    expect(names).not.toContain('pytorch_model.bin')
    expect(names).not.toContain('.gitattributes')
  })

  it('that is not the policy is an error, not a surprise for whoever loads it', async () => {
    const { source, folder } = await moved({ kind: 'full' })
    // What is written and what the programs read fall apart, as a fault in either would make them.
    const parameters = new Map([...source.policy.parameters].map(([name, parameter]) => [name, { ...parameter, data: parameter.data.map((value) => value * 1.5) }]))
    await expect(exportPolicy({ ...source, policy: { ...source.policy, parameters } }, { format: 'merged', folder })).rejects.toThrow('the written model is not the policy')
    await expect(readdir(folder)).rejects.toThrow('ENOENT')
  })

  it('of a run with the long factors says where other programs will differ', async () => {
    const { source, folder } = await moved(everywhere, 'phi3-long')
    const { notes } = await exportPolicy(source, { format: 'merged', folder })
    expect(notes).toEqual([expect.stringContaining('use the short ones up to 4 tokens')])
  })
})

describe('an exported GGUF file', () => {
  it.each([[undefined, 'f32', 1e-5], ['float16', 'f16', 5e-3], ['q8_0', 'q8_0', 4e-2]] as const)('of type %s is opened as a model and answers as the policy does', async (storedType, type, most) => {
    const { source, folder } = await moved(everywhere)
    const { comparison, notes } = await exportPolicy(source, { format: 'gguf', folder, ...(storedType === undefined ? {} : { storedType }) })
    expect(comparison.meanDifference).toBeLessThan(most)
    expect((await readdir(folder)).toSorted()).toEqual(['export.json', `moved-${type}.gguf`])
    // The built-in tokenizer is of a kind that llama.cpp does not know: whoever takes the file is told.
    expect(notes).toEqual([expect.stringContaining('llama.cpp has no name for')])
  })

  it('is a base like any other: a policy over it becomes a folder, an ONNX model or a file again', async () => {
    const { source, folder } = await moved(everywhere)
    await exportPolicy(source, { format: 'gguf', folder, storedType: 'float16' })
    const second = await movedPolicy(folder, everywhere, join(folder, 'moved-f16.gguf'))
    for (const format of ['adapter', 'merged', 'gguf', 'onnx'] as const) {
      const { comparison, storedType } = await exportPolicy(second, { format, folder: `${folder}-${format}` })
      expect(comparison.meanDifference).toBeLessThan(expectedDifference[storedType])
    }
    expect((await readdir(`${folder}-merged`)).toSorted()).toEqual(['config.json', 'export.json', 'generation_config.json', 'model.safetensors', 'tokenizer.json', 'tokenizer_config.json'])
  })
})

it.each(['adapter', 'merged', 'gguf', 'onnx'] as const)('a large model is checked a layer at a time, with the same result (%s)', async (format) => {
  const { source, folder } = await moved(everywhere)
  const whole = await exportPolicy(source, { format, folder, lean: false })
  const lean = await exportPolicy(source, { format, folder: `${folder}-lean`, lean: true })
  expect(lean.comparison.meanDifference).toBeLessThan(1e-5)
  expect(lean.comparison.greedy).toEqual(whole.comparison.greedy)
})

it('a run over a base in blocks of 4 bits is told that its files differ by the rounding of the base', async () => {
  const { source, folder } = await moved(everywhere)
  const base = await openModelFolder(source.base)
  const layers = await openFrozenLayers(base.config, base, { precision: 'int4', streamLayers: false })
  const policy = await createPolicyWeights(source.device, base.config, (name) => base.readTensor(name), everywhere, 1, layers)
  await base.close()
  for (const format of ['adapter', 'merged'] as const) {
    const report = await exportPolicy({ ...source, policy }, { format, folder: `${folder}-${format}` })
    expect(report.notes).toEqual([expect.stringContaining('the run kept its base in int4')])
    expect(report.comparison.meanDifference).toBeGreaterThan(1e-3)
    expect(report.comparison.meanDifference).toBeLessThan(report.expectedMeanDifference)
  }
})

it('a type that a format does not have is refused before anything is done', async () => {
  const { source, folder } = await moved(lora)
  await expect(exportPolicy(source, { format: 'merged', folder, storedType: 'q8_0' })).rejects.toThrow('--type: the format merged cannot store q8_0. Expected one of float32, float16, bfloat16.')
  await expect(exportPolicy(source, { format: 'adapter', folder, storedType: 'float16' })).rejects.toThrow('cannot store float16')
})

// Root may write anywhere, and folders of Windows take no mode; a disk that cannot be written is held in export-full-disk.test.ts as well.
if (process.getuid !== undefined && process.getuid() !== 0) {
  it('a folder that cannot be written is told before the work', async () => {
    const { source, folder } = await moved(lora)
    await mkdir(folder, { mode: 0o555 })
    let asked = 0
    await expect(exportPolicy(source, { format: 'merged', folder: join(folder, 'out'), onProgress: () => (asked += 1) })).rejects.toMatchObject({ envelope: { code: 'storage', what: expect.stringContaining('not writable') as string } })
    expect(asked).toBe(0)
  })
}

describe.each(['adapter', 'merged'] as const)('the folder of an export (%s)', (format) => {
  const base = format === 'adapter' ? lora : everywhere

  it('is left alone when it holds files', async () => {
    const { source } = await moved(base)
    const taken = await temporaryFolder()
    await writeFile(join(taken, 'notes.txt'), 'mine')
    await expect(exportPolicy(source, { format, folder: taken })).rejects.toThrow('already holds files')
    await expect(exportPolicy(source, { format, folder: join(taken, 'notes.txt') })).rejects.toThrow('this is a file')
    await expect(exportPolicy(source, { format, folder: join(taken, 'notes.txt', 'below') })).rejects.toThrow('a file stands where a folder is needed')
    expect(await readdir(taken)).toEqual(['notes.txt'])
  })

  it('may be an empty one', async () => {
    const { source, folder } = await moved(base)
    await mkdir(folder)
    await exportPolicy(source, { format, folder })
    expect(await readdir(folder)).toContain('export.json')
  })

  it('lies neither in the run folder, but for its export folder, nor in the base, by whatever name', async () => {
    const { source } = await moved(base)
    const run = await temporaryFolder()
    await mkdir(join(run, 'checkpoints'))
    const elsewhere = await temporaryFolder()
    await symlink(run, join(elsewhere, 'link'), 'junction')
    for (const folder of [run, join(run, 'adapter'), join(run, 'checkpoints', 'x'), join(run, 'export'), join(elsewhere, 'link', 'adapter')]) {
      await expect(exportPolicy({ ...source, run }, { format, folder })).rejects.toThrow('inside the run folder')
    }
    await expect(exportPolicy(source, { format, folder: join(source.base, 'out') })).rejects.toThrow('inside the folder of the base model')
    expect(await readdir(run)).toEqual(['checkpoints'])
    await exportPolicy({ ...source, run }, { format, folder: join(run, 'export', 'one') })
    expect(await readdir(join(run, 'export'))).toEqual(['one'])
  })

  it('is not there after a stop at any point, and nothing else is', async () => {
    const { source, folder } = await moved(base)
    const before = await readdir(join(folder, '..'))
    let points = 0
    await exportPolicy(source, { format, folder: `${folder}-whole`, onProgress: () => (points += 1) })
    expect(points).toBeGreaterThan(0)
    for (let point = 1; point <= points; point += Math.ceil(points / 7)) {
      const controller = new AbortController()
      let seen = 0
      const onProgress = (): void => {
        seen += 1
        if (seen === point) controller.abort()
      }
      await expect(exportPolicy(source, { format, folder, signal: controller.signal, onProgress })).rejects.toMatchObject({ envelope: { code: 'stopped' } })
      expect((await readdir(join(folder, '..'))).toSorted()).toEqual([...before, 'out-whole'].toSorted())
    }
  })
})
