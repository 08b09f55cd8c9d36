// A browser that has shown one page, so that whoever uses it knows before a run whether pages can be shown here at all.
import type { RewardConfig } from '../../../contract/reward-config.ts'
import type { ScreenshotResult } from '../../../contract/rendered-document.ts'
import { UserError } from '../../../contract/errors.ts'
import { renderHost } from './render-host.ts'
import { createScreenshots, type Screenshots } from './screenshots.ts'

export interface PageCamera {
  /** A picture of a page that shows a word. */
  readonly example: Uint8Array
  /** Never rejects because of a page or of the browser. A browser that fails again and again is left alone, so that a run does not wait for it. */
  screenshotOf(text: string): Promise<ScreenshotResult>
  dispose(): void
}

/** A camera, or why there is none as the end of a sentence. */
export type CameraAnswer = { readonly camera: PageCamera } | { readonly unavailable: string }

/** What a run says where its pages cannot be shown. */
export function pixelsUnchecked(why: string): string {
  return `Pixels are not checked and no pictures are kept, because no browser can show pages here: ${why}`
}

const examplePage = 'export default function App() { return <h1>Hello</h1> }\n'

/**
 * Starts the browser and shows one page. A page gets four times the limits of the DOM sandbox: time covers the start of a process and of React,
 * memory is that of the whole process.
 */
export async function openCamera(limits: RewardConfig['limits'], find = renderHost): Promise<CameraAnswer> {
  const found = find()
  if ('unavailable' in found) return found
  const screenshots = createScreenshots({ host: found.host, seconds: (4 * limits.scriptMilliseconds) / 1_000, megabytes: 4 * limits.renderMegabytes })
  try {
    const first = await screenshots.screenshotOf(examplePage)
    if ('screenshot' in first) return { camera: { example: first.screenshot.png, screenshotOf: withoutStalling(screenshots), dispose: screenshots.dispose } }
    screenshots.dispose()
    return { unavailable: first.failure }
  } catch (error) {
    screenshots.dispose()
    if (error instanceof UserError) return { unavailable: error.message }
    throw error
  }
}

/** Failures of the browser in a row after which it is not asked any more. */
const mostFailures = 3

function withoutStalling(screenshots: Screenshots): PageCamera['screenshotOf'] {
  let failures = 0
  return async (text) => {
    if (failures >= mostFailures) return { failure: `the browser failed ${mostFailures} times in a row and is left alone`, blame: 'service' }
    const result = await screenshots.screenshotOf(text).catch((error: unknown): ScreenshotResult => {
      if (error instanceof UserError) return { failure: error.message, blame: 'service' }
      throw error
    })
    failures = 'failure' in result && result.blame === 'service' ? failures + 1 : 0
    return result
  }
}
