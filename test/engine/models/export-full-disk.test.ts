// A disk that fills up while an export is written, pretended: writes put down half of what they are given and then fail.
import type * as FilesModule from 'node:fs/promises'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { exportPolicy } from '../../../src-main/engine/models/export.ts'
import type { ExportFormat } from '../../../src-main/engine/models/export.ts'
import { openModelFolder } from '../../../src-main/engine/models/model-folder.ts'
import { movedPolicy } from '../../support/moved-policy.ts'
import { useTemporaryFolder } from '../../support/run-folder.ts'

const disk = vi.hoisted(() => ({ bytesLeft: Infinity, bytesWritten: 0, readOnly: false, bytesFree: Infinity }))

vi.mock('node:fs/promises', async (original) => {
  const files = await original<typeof FilesModule>()
  const { openOnSmallDisk } = await import('../../support/small-disk.ts')
  const open = openOnSmallDisk(files.open, disk)
  const access: typeof files.access = async (path, mode) => {
    if (disk.readOnly) throw Object.assign(new Error('EROFS: read-only file system, access'), { code: 'EROFS' })
    return files.access(path, mode)
  }
  const statfs = async (path: string): Promise<{ bavail: number; bsize: number }> => {
    const { bavail, bsize } = await files.statfs(path)
    return { bavail: Math.min(bavail, Math.floor(disk.bytesFree / bsize)), bsize }
  }
  return { ...files, open, access, statfs }
})

const temporaryFolder = useTemporaryFolder()
afterEach(() => {
  disk.bytesLeft = Infinity
  disk.readOnly = false
  disk.bytesFree = Infinity
})

describe.each<ExportFormat>(['adapter', 'merged', 'gguf', 'onnx'])('a disk that fills up during an export (%s)', (format) => {
  it('leaves no half-written file or folder, and run and base as they were', async () => {
    const folder = await temporaryFolder()
    const source = await movedPolicy(folder, { kind: 'lora', rank: 2, alpha: 4, dropout: 0, targets: ['q_proj'] })
    const base = await openModelFolder(source.base)
    const [hash, policy, before] = [await base.hash(), source.policy.hash(), await readdir(folder)]
    disk.bytesWritten = 0
    await exportPolicy(source, { format, folder: join(folder, 'whole') })
    const needed = disk.bytesWritten
    for (const share of [0, 0.3, 0.9, 0.9999]) {
      disk.bytesLeft = Math.floor(share * needed)
      const error = await exportPolicy(source, { format, folder: join(folder, 'deep', 'out') }).then(() => undefined, (thrown: unknown) => thrown)
      disk.bytesLeft = Infinity
      expect(error).toMatchObject({ envelope: { code: 'storage', what: expect.stringContaining('the disk is full') as string } })
      expect(await readdir(join(folder, 'deep'))).toEqual([])
    }
    expect((await readdir(folder)).toSorted()).toEqual([...before, 'deep', 'whole'].toSorted())
    expect(await base.hash()).toBe(hash)
    expect(source.policy.hash()).toBe(policy)
    await base.close()
  })
})

it('a disk that cannot be written is told before the work', async () => {
  const folder = await temporaryFolder()
  const source = await movedPolicy(folder, { kind: 'lora', rank: 2, alpha: 4, dropout: 0, targets: ['q_proj'] })
  disk.readOnly = true
  let asked = 0
  await expect(exportPolicy(source, { format: 'merged', folder: join(folder, 'out'), onProgress: () => (asked += 1) })).rejects.toMatchObject({ envelope: { code: 'storage', what: expect.stringContaining('read-only') as string } })
  expect(asked).toBe(0)
})

it('a disk with too little room is told before the work, with both sizes', async () => {
  const folder = await temporaryFolder()
  const source = await movedPolicy(folder, { kind: 'full' })
  const weights = source.policy.trainable.reduce((sum, { data }) => sum + data.length, 0)
  disk.bytesFree = 3 * weights
  let asked = 0
  await expect(exportPolicy(source, { format: 'merged', folder: join(folder, 'out'), onProgress: () => (asked += 1) })).rejects.toMatchObject({ envelope: { code: 'storage', what: expect.stringMatching(/the disk is too full: the export needs about 0\.00 GB/) as string } })
  expect(asked).toBe(0)
  // Half the size fits.
  await exportPolicy(source, { format: 'merged', folder: join(folder, 'out'), storedType: 'float16' })
})
