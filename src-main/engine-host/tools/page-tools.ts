// Pages of rollouts and answers, shown by a real browser for whoever looks at them. A picture that a run has taken itself, or that was asked for
// before, is not taken again.
import { join } from 'node:path'
import type { ShownPage } from '../../contract/calls/pages.ts'
import { UserError } from '../../contract/errors.ts'
import type { Screenshot } from '../../contract/rendered-document.ts'
import { openPictureStore, picturesFolder, type PictureStore } from '../../engine/rewards/screenshots/picture-store.ts'
import { renderHost } from '../../engine/rewards/screenshots/render-host.ts'
import { createScreenshots, programHash, type Screenshots } from '../../engine/rewards/screenshots/screenshots.ts'
import type { Tools } from './tool-work.ts'

/** Processor time a page gets until it is at rest, seconds, and memory of its process, MiB. */
const limits = { seconds: 8, megabytes: 512 }
/** Pictures the app keeps of pages that were looked at. */
const kept = 400
const shownText = 300
const shownErrors = 5

let screenshots: Screenshots | undefined

/** Where the app keeps pictures; without it (from the command line) they are kept in memory alone. */
function ownStore(): PictureStore | undefined {
  const folder = process.env['SATCHEL_PICTURES']
  return folder === undefined || folder === '' ? undefined : openPictureStore(folder, kept)
}

function described({ png, facts }: Screenshot): ShownPage {
  const picture = `data:image/png;base64,${Buffer.from(png).toString('base64')}`
  const { pageErrors, consoleErrors, text, elements, uniform } = facts
  return { state: uniform ? 'blank' : 'shown', picture, reason: '', errors: [...pageErrors, ...consoleErrors].slice(0, shownErrors), text: text.slice(0, shownText), elements }
}

const without = (state: 'failed' | 'unavailable', reason: string): ShownPage => ({ state, picture: '', reason, errors: [], text: '', elements: 0 })

export const pageTools: Tools<'pages.show'> = {
  'pages.show': async ({ directory, text }) => {
    const hash = programHash(text)
    const own = ownStore()
    const before = (directory === null ? undefined : await openPictureStore(join(directory, picturesFolder)).read(hash)) ?? (await own?.read(hash))
    if (before !== undefined) return described(before)
    const found = renderHost()
    if ('unavailable' in found) return without('unavailable', `Pages cannot be shown here: ${found.unavailable}`)
    screenshots ??= createScreenshots({ host: found.host, ...limits })
    try {
      const result = await screenshots.screenshotOf(text)
      if ('failure' in result) return without('failed', result.failure)
      // What cannot be kept is taken again the next time.
      await own?.write(hash, result.screenshot).catch(() => undefined)
      return described(result.screenshot)
    } catch (error) {
      if (error instanceof UserError && error.envelope.code === 'device') return without('unavailable', error.message)
      throw error
    }
  },
}
