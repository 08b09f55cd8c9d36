import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Screenshot } from '../../../../src-main/contract/rendered-document.ts'
import { openPictureStore } from '../../../../src-main/engine/rewards/screenshots/picture-store.ts'
import { programHash } from '../../../../src-main/engine/rewards/screenshots/screenshots.ts'
import { useTemporaryFolder } from '../../../support/run-folder.ts'

const temporary = useTemporaryFolder()
const shot = (byte: number): Screenshot => ({ png: Buffer.from([byte]), facts: { consoleErrors: ['e'], pageErrors: [], text: 't', elements: 2, distinctPixels: 90, uniform: false, milliseconds: 3 } })
const hash = (digit: number): string => String(digit).repeat(32)

describe('pictures in a folder', () => {
  test('are read as they were written, and are absent before', async () => {
    const store = openPictureStore(join(await temporary(), 'screenshots'))
    expect(await store.read(hash(1))).toBeUndefined()
    await store.write(hash(1), shot(7))
    expect(await store.read(hash(1))).toEqual(shot(7))
    expect(await store.count()).toBe(1)
  })

  test('are bounded: the oldest leave, with what was told of them, and nothing else does', async () => {
    const folder = join(await temporary(), 'screenshots')
    await mkdir(folder)
    await writeFile(join(folder, 'notes.txt'), 'mine')
    const store = openPictureStore(folder, 2)
    for (const digit of [1, 2, 3]) {
      await store.write(hash(digit), shot(digit))
      await utimes(join(folder, `${hash(digit)}.png`), 1_000 + digit, 1_000 + digit).catch(() => undefined)
    }
    await store.write(hash(4), shot(4))
    expect((await readdir(folder)).toSorted()).toEqual([`${hash(3)}.json`, `${hash(3)}.png`, `${hash(4)}.json`, `${hash(4)}.png`, 'notes.txt'])
  })

  test('that are damaged count as absent', async () => {
    const folder = await temporary()
    await writeFile(join(folder, `${hash(5)}.png`), 'x')
    await writeFile(join(folder, `${hash(5)}.json`), '{"uniform":')
    expect(await openPictureStore(folder).read(hash(5))).toBeUndefined()
  })
})

test('a program is named by its code alone: fence and prose around it do not count', () => {
  expect(programHash('Here it is:\n```tsx\nexport default 1\n```\nDone.')).toBe(programHash('```tsx\nexport default 1\n```'))
  expect(programHash('export default 1')).not.toBe(programHash('export default 2'))
  expect(programHash('export default 1')).toMatch(/^[0-9a-f]{32}$/)
})
