// Pictures of generated React pages, for whoever judges or shows them: a completion's text in, a PNG and facts out.
import { createHash } from 'node:crypto'
import type { ScreenshotResult } from '../../../contract/rendered-document.ts'
import { transformProgram } from '../transform-program.ts'
import { extractCode } from '../code-block.ts'
import { createRenderService, type RenderServiceOptions } from './render-service.ts'

export interface Screenshots {
  /**
   * What a real browser shows of the program in a completion (its fenced block, or the whole text), at 1280 x 800 pixels once it has come to
   * rest. The same program is shown once; never rejects because of what a page does.
   * @throws UserError 'device' when no browser can be started on this machine
   */
  screenshotOf(text: string): Promise<ScreenshotResult>
  dispose(): void
}

/** Pictures that are kept in memory; the oldest leave first. */
const remembered = 64

/** Names the program of a completion: equal programs give equal pictures. 32 hexadecimal digits. */
export function programHash(text: string): string {
  return createHash('sha256').update(extractCode(text).code).digest('hex').slice(0, 32)
}

/** Makes the service; its browser is started with the first page. See `renderHost` for where it is found. */
export function createScreenshots(options: RenderServiceOptions): Screenshots {
  const service = createRenderService(options)
  const known = new Map<string, Promise<ScreenshotResult>>()

  async function take(text: string): Promise<ScreenshotResult> {
    const bundled = await transformProgram(extractCode(text).code)
    if ('errors' in bundled) return { failure: bundled.errors[0]?.message ?? 'the program cannot be bundled', blame: 'page' }
    return service.render(bundled.script)
  }

  return {
    screenshotOf(text) {
      const hash = programHash(text)
      const before = known.get(hash)
      if (before !== undefined) return before
      const taken = take(text)
      known.set(hash, taken)
      const oldest = known.keys().next()
      if (known.size > remembered && oldest.done !== true) known.delete(oldest.value)
      // What the browser itself failed at is tried again when it is asked for again.
      const forget = (): void => {
        if (known.get(hash) === taken) known.delete(hash)
      }
      taken.then((result) => ('failure' in result && result.blame === 'service' ? forget() : undefined), forget)
      return taken
    },
    dispose() {
      known.clear()
      service.dispose()
    },
  }
}
