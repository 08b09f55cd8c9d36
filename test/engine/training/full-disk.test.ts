// A disk that fills up, pretended: writes put down half of what they are given and then fail, as a full disk does.
import { readFile, readdir } from 'node:fs/promises'
import type * as FilesModule from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { UserError } from '../../../src-main/contract/errors.ts'
import { newestCheckpoint, writeCheckpoint } from '../../../src-main/engine/training/checkpoint.ts'
import { createRunFolder } from '../../../src-main/engine/training/run-folder.ts'
import { readMetrics, readRollouts, readRunDescription } from '../../../src-main/engine/training/run-folder-reading.ts'
import { contentOf } from '../../support/checkpoint-writer.ts'
import { exampleDescription, exampleEvaluation, exampleRollout, useTemporaryFolder } from '../../support/run-folder.ts'

const disk = vi.hoisted(() => ({ bytesLeft: Infinity, bytesWritten: 0 }))

vi.mock('node:fs/promises', async (original) => {
  const files = await original<typeof FilesModule>()
  const { openOnSmallDisk } = await import('../../support/small-disk.ts')
  return { ...files, open: openOnSmallDisk(files.open, disk) }
})

const temporaryFolder = useTemporaryFolder()
afterEach(() => {
  disk.bytesLeft = Infinity
})

async function failure(promise: Promise<unknown>): Promise<UserError> {
  const error = await promise.then(() => undefined, (thrown: unknown) => thrown)
  if (error instanceof UserError) return error
  throw new Error(`expected a UserError, got ${String(error)}`)
}

describe('a disk that fills up', () => {
  it.each([0, 10, 100])('after %i more bytes is told at once, and harms no row, rollout or evaluation', async (bytesLeft) => {
    const directory = join(await temporaryFolder(), 'run')
    const folder = await createRunFolder(directory, exampleDescription())
    const row = (step: number) => ({ step, values: Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`value ${index}`, index])) })
    await folder.appendMetrics(row(1))
    await folder.writeRollouts(1, [exampleRollout(1, 0)])
    for (const attempt of [() => folder.appendMetrics(row(2)), () => folder.writeRollouts(1, [exampleRollout(1, 1)]), () => folder.writeEvaluation(exampleEvaluation(2, 3))]) {
      disk.bytesLeft = bytesLeft
      const error = await failure(attempt())
      expect(error.envelope.code).toBe('storage')
      expect(error.message).toContain('the disk is full')
      expect(error.message).toContain('Free some space')
    }
    disk.bytesLeft = Infinity
    expect(await readFile(join(directory, 'metrics.jsonl'), 'utf8')).toBe(`${JSON.stringify(row(1))}\n`)
    expect((await readRollouts(directory)).values).toEqual([exampleRollout(1, 0)])
    expect(await readdir(join(directory, 'eval'))).toEqual([])
    expect(await readRunDescription(directory)).toBeDefined()
    // And with space again it goes on.
    await folder.appendMetrics(row(2))
    await folder.close()
    expect((await readMetrics(directory)).values).toHaveLength(2)
  })

  it.each([0, 100, 300, 600, 900])('after %i more bytes leaves the checkpoint before in place', async (bytesLeft) => {
    const directory = await temporaryFolder()
    await writeCheckpoint({ directory }, 1, contentOf(1, 'lora'), { keep: 1 })
    disk.bytesLeft = bytesLeft
    expect((await failure(writeCheckpoint({ directory }, 2, contentOf(2, 'lora'), { keep: 1 }))).envelope.code).toBe('storage')
    disk.bytesLeft = Infinity
    expect(await readdir(join(directory, 'checkpoints'))).toEqual(['000001'])
    expect(await newestCheckpoint(directory)).toMatchObject({ step: 1, warnings: [] })
  })

  it('lets no run folder begin half-made with a lock left behind', async () => {
    const directory = join(await temporaryFolder(), 'run')
    disk.bytesLeft = 400
    expect((await failure(createRunFolder(directory, exampleDescription()))).envelope.code).toBe('storage')
    disk.bytesLeft = Infinity
    expect(await readdir(directory)).not.toContain('engine.lock')
    expect(await readdir(directory)).not.toContain('run.json')
  })
})
