// Pictures of the pages a report shows, as data addresses: those the run kept, few and of bounded size, so that the report stays one file
// that can be sent.
import { join } from 'node:path'
import { openPictureStore, picturesFolder } from '../rewards/screenshots/picture-store.ts'
import { programHash } from '../rewards/screenshots/screenshots.ts'

/** Data addresses of pictures (PNG, 1280 x 800 pixels) by the hash of their program. */
export type ReportPages = ReadonlyMap<string, string>

/** Pictures of one run, and their bytes together. A page of the demo is about 10 kB. */
const most = { pictures: 12, bytes: 1_500_000 }

/** The pictures a run folder has of the programs in these texts; the first ones as far as they fit. */
export async function readPages(directory: string, texts: readonly string[]): Promise<ReportPages> {
  const store = openPictureStore(join(directory, picturesFolder))
  const pages = new Map<string, string>()
  let bytes = 0
  for (const hash of new Set(texts.map(programHash))) {
    const png = (await store.read(hash))?.png
    if (png === undefined || bytes + png.length > most.bytes) continue
    bytes += png.length
    pages.set(hash, `data:image/png;base64,${Buffer.from(png).toString('base64')}`)
    if (pages.size === most.pictures) break
  }
  return pages
}

/** The page of a text as an element; nothing where there is no picture of it. @param whose ends the sentence "The page of ..." */
export function pageImage(pages: ReportPages, text: string, whose: string): string {
  const address = pages.size === 0 ? undefined : pages.get(programHash(text))
  return address === undefined ? '' : `<img src="${address}" alt="The page of ${whose}" width="1280" height="800">`
}
