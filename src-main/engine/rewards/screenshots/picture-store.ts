// Pictures in a folder, named by the program they show: <hash>.png and beside it what could be told of the page. Bounded: the oldest leave.
import { readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pageFactsSchema } from '../../../contract/render-service.ts'
import type { Screenshot } from '../../../contract/rendered-document.ts'
import { writeFileAtomically, writeFully, writeJsonAtomically } from '../../models/atomic-file.ts'

/** Name of the folder with pictures in a run folder. */
export const picturesFolder = 'screenshots'

export interface PictureStore {
  /** A picture taken earlier; undefined where there is none, or where it cannot be read. */
  read(hash: string): Promise<Screenshot | undefined>
  /** Keeps a picture, and lets the oldest go. @throws UserError `storage` */
  write(hash: string, screenshot: Screenshot): Promise<void>
  /** How many pictures there are. */
  count(): Promise<number>
}

const picture = /^([0-9a-f]{32})\.png$/

/** @param keep how many pictures the folder holds at most */
export function openPictureStore(folder: string, keep = Infinity): PictureStore {
  const imageOf = (hash: string): string => join(folder, `${hash}.png`)
  const factsOf = (hash: string): string => join(folder, `${hash}.json`)
  const hashes = async (): Promise<string[]> => {
    const names = await readdir(folder).catch(() => [])
    return names.flatMap((name) => picture.exec(name)?.[1] ?? [])
  }

  async function prune(): Promise<void> {
    const all = await hashes()
    if (all.length <= keep) return
    const aged = await Promise.all(all.map(async (hash) => ({ hash, time: await stat(imageOf(hash)).then(({ mtimeMs }) => mtimeMs, () => 0) })))
    aged.sort((a, b) => a.time - b.time)
    for (const { hash } of aged.slice(0, all.length - keep)) {
      await rm(imageOf(hash), { force: true })
      await rm(factsOf(hash), { force: true })
    }
  }

  return {
    async read(hash) {
      try {
        const [png, facts] = await Promise.all([readFile(imageOf(hash)), readFile(factsOf(hash), 'utf8')])
        return { png, facts: pageFactsSchema.parse(JSON.parse(facts)) }
      } catch {
        // It was never taken, or is damaged; either way it can be taken again.
        return undefined
      }
    },
    async write(hash, { png, facts }) {
      if (keep < 1) return
      // The picture comes last: where it is, its facts are.
      await writeJsonAtomically(factsOf(hash), facts)
      await writeFileAtomically(imageOf(hash), async (handle) => writeFully(handle, png))
      await prune()
    },
    count: async () => (await hashes()).length,
  }
}
