// Exports of whole runs: what is read from a run folder, and what is refused.
import { cp, mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { runConfigSchema } from '../../src-main/contract/run-config.ts'
import { exportRun } from '../../src-main/engine-host/export-run.ts'
import { openModelFolder } from '../../src-main/engine/models/model-folder.ts'
import { createPolicyWeights } from '../../src-main/engine/models/policy-weights.ts'
import { writeCheckpoint } from '../../src-main/engine/training/checkpoint.ts'
import { createRunFolder, describeRun } from '../../src-main/engine/training/run-folder.ts'
import { cpu } from '../support/evaluate.ts'
import { useTemporaryFolder } from '../support/run-folder.ts'
import { writeTinyModel } from '../support/tiny-model.ts'

const temporaryFolder = useTemporaryFolder()

/** A run that has trained nothing yet, with a checkpoint of step 5 unless told otherwise. */
async function makeRun(options: { readonly checkpoint?: boolean } = {}): Promise<{ folder: string; run: string; base: string }> {
  const folder = await temporaryFolder()
  const [run, base, prompts] = [join(folder, 'run'), join(folder, 'base'), join(folder, 'prompts.jsonl')]
  await writeTinyModel(base)
  await writeFile(prompts, ['Make a counter.', 'Make a list.'].map((prompt) => JSON.stringify({ prompt, reference: 'const x = 1' })).join('\n'))
  const config = runConfigSchema.parse({ name: 'small', model: base, data: { prompts }, adapter: { kind: 'lora', rank: 2, targets: ['q_proj', 'v_proj'] }, rollout: { maxNewTokens: 4 } })
  const model = await openModelFolder(base)
  const hash = await model.hash()
  const policy = await createPolicyWeights(await cpu(), model.config, (name) => model.readTensor(name), config.adapter, 1)
  await model.close()
  const held = await createRunFolder(run, describeRun(config, { model: hash, data: 'd'.repeat(64) }, '1'))
  policy.trainable.forEach(({ data }, index) => data.forEach((value, at) => (data[at] = value + 0.02 * Math.sin(at + index))))
  if (options.checkpoint !== false) {
    const zeros = new Map(policy.trainable.map(({ name, data }) => [name, new Float32Array(data.length)]))
    await writeCheckpoint(held, 5, { policy, optimizer: { updates: 5, m: zeros, v: zeros }, state: {} }, { keep: 1, baseModel: base, baseHash: hash })
  }
  await held.close()
  return { folder, run, base }
}

describe('an export of a run', () => {
  it('goes to export/<format> in its folder where no other is named, and is noted in exports.jsonl', async () => {
    const { run } = await makeRun()
    const report = await exportRun(run, { format: 'merged' })
    expect(report.folder).toBe(join(run, 'export', 'merged'))
    expect(report.comparison).toMatchObject({ sequences: 2, greedy: { prompts: 2, tokens: 4, equal: 2 } })
    expect(JSON.parse(await readFile(join(report.folder, 'export.json'), 'utf8'))).toMatchObject({ format: 'merged', origin: { run, step: 5 } })
    await exportRun(run, { format: 'adapter' })
    const notes = (await readFile(join(run, 'exports.jsonl'), 'utf8')).trimEnd().split('\n').map((line) => JSON.parse(line) as { format: string; step: number; comparison: object })
    expect(notes.map(({ format, step }) => [format, step])).toEqual([['merged', 5], ['adapter', 5]])
    expect(notes[0]?.comparison).toEqual(report.comparison)
  })

  it('compares by the newest rollouts where the prompt file has gone, and by nothing it cannot find', async () => {
    const { folder, run } = await makeRun()
    await rm(join(folder, 'prompts.jsonl'))
    await expect(exportRun(run, { format: 'adapter' })).rejects.toThrow('neither its prompt file nor rollouts')
    expect(await readdir(run)).not.toContain('export')
  })

  it('takes the base from another place when it has moved, but no other base', async () => {
    const { folder, run, base } = await makeRun()
    await cp(base, join(folder, 'moved'), { recursive: true })
    await rm(base, { recursive: true })
    await expect(exportRun(run, { format: 'adapter' })).rejects.toMatchObject({ envelope: { code: 'not-found', place: { file: base } } })
    await writeTinyModel(join(folder, 'other'), 'float16')
    await expect(exportRun(run, { format: 'adapter', base: join(folder, 'other') })).rejects.toMatchObject({ envelope: { code: 'bad-input', what: 'the base model is not the one this run was trained from', place: { file: join(folder, 'other') } } })
    expect((await exportRun(run, { format: 'adapter', base: join(folder, 'moved') })).comparison.largestDifference).toBeLessThan(1e-6)
  })

  it('over a base of other sizes is refused before the hashes are', async () => {
    const { folder, run } = await makeRun()
    await writeTinyModel(join(folder, 'wider'), 'float32', { hiddenSize: 64 })
    await expect(exportRun(run, { format: 'merged', base: join(folder, 'wider') })).rejects.toMatchObject({ envelope: { code: 'bad-input' } })
  })

  it('needs a checkpoint', async () => {
    const { run } = await makeRun({ checkpoint: false })
    await expect(exportRun(run, { format: 'merged' })).rejects.toMatchObject({ envelope: { code: 'not-found', what: 'this run has no checkpoint yet' } })
  })

  it('that fails is not noted, and the run stays as it was', async () => {
    const { run } = await makeRun()
    const before = await readdir(run, { recursive: true })
    await mkdir(join(run, 'checkpoints', 'mine'))
    await expect(exportRun(run, { format: 'merged', folder: join(run, 'checkpoints', 'mine') })).rejects.toThrow('inside the run folder')
    await rm(join(run, 'checkpoints', 'mine'), { recursive: true })
    await expect(exportRun(run, { format: 'merged', signal: AbortSignal.abort() })).rejects.toMatchObject({ envelope: { code: 'stopped' } })
    expect((await readdir(run, { recursive: true })).filter((name) => name !== 'export').toSorted()).toEqual(before.toSorted())
  })
})
