// Exports of whole runs: what is read from a run folder, and what is refused.
import { cp, mkdir, readFile, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { exportRun } from '../../src-main/engine-host/export-run.ts'
import { writeExportableRun } from '../support/exportable-run.ts'
import { useTemporaryFolder } from '../support/run-folder.ts'
import { writeTinyModel } from '../support/tiny-model.ts'

const temporaryFolder = useTemporaryFolder()

const makeRun = async (options: { readonly checkpoint?: boolean } = {}) => writeExportableRun(await temporaryFolder(), options)

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
