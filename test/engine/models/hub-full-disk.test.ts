// A disk that fills up during a download, pretended: writes put down what fits and then fail.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import type * as FilesModule from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { downloadModel, partFolder } from '../../../src-main/engine/models/hub-download.ts'
import { repository, startHub } from '../../support/hub-server.ts'
import { writeTinyModel } from '../../support/tiny-model.ts'
import { temporaryFolder, userError } from './fixtures.ts'

const disk = vi.hoisted(() => ({ bytesLeft: Infinity, bytesWritten: 0 }))

vi.mock('node:fs/promises', async (original) => {
  const files = await original<typeof FilesModule>()
  const { openOnSmallDisk } = await import('../../support/small-disk.ts')
  return { ...files, open: openOnSmallDisk(files.open, disk) }
})

test('a disk that fills up in the middle of the weights is told; the download goes on when there is space again', async () => {
  const source = mkdtempSync(join(tmpdir(), 'satchel-hub-'))
  onTestFinished(() => rmSync(source, { recursive: true, force: true }))
  await writeTinyModel(source)
  const hub = await startHub(source)
  onTestFinished(() => hub.close())
  const folder = join(temporaryFolder(), 'tiny')
  const download = (): Promise<unknown> => downloadModel({ repository, mirror: hub.url, folder, signal: new AbortController().signal })
  disk.bytesLeft = [...hub.files].filter(([name]) => name !== 'model.safetensors').reduce((sum, [, bytes]) => sum + bytes.length, 0) + 100_000
  expect(await userError(download)).toMatchObject({ code: 'storage', place: { file: folder }, what: expect.stringContaining('the disk is full') as string })
  expect(readdirSync(partFolder(folder)).filter((name) => name.endsWith('.part'))).toHaveLength(1)
  disk.bytesLeft = Infinity
  await download()
  expect(readdirSync(folder)).toContain('model.safetensors')
  const asked = hub.asked.filter((path) => path.includes('model.safetensors'))
  expect(asked).toHaveLength(2)
  expect(asked[1]).toMatch(/ from \d{5}$/)
})
