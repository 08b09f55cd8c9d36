// Pictures for the screenshot judge, tried once before the run.
import type { RewardConfig } from '../../../contract/reward-config.ts'
import type { ScreenshotResult } from '../../../contract/rendered-document.ts'
import { UserError } from '../../../contract/errors.ts'
import { renderHost } from '../screenshots/render-host.ts'
import { createScreenshots } from '../screenshots/screenshots.ts'

export interface PageCamera {
  /** A picture of a page that shows a word: for trying out whether a judge sees. */
  readonly example: Uint8Array
  screenshotOf(text: string): Promise<ScreenshotResult>
  dispose(): void
}

const examplePage = "export default function App() { return <h1>Hello</h1> }\n"

/** @throws UserError when this machine cannot make pictures of pages */
export async function openPageCamera(limits: RewardConfig['limits']): Promise<PageCamera> {
  const found = renderHost()
  if ('unavailable' in found) throw noPictures(found.unavailable)
  const screenshots = createScreenshots({ host: found.host, seconds: limits.renderSeconds, megabytes: 4 * limits.renderMegabytes })
  const first = await screenshots.screenshotOf(examplePage).catch((error: unknown) => {
    screenshots.dispose()
    throw error
  })
  if ('screenshot' in first) return { example: first.screenshot.png, screenshotOf: screenshots.screenshotOf, dispose: screenshots.dispose }
  screenshots.dispose()
  throw noPictures(first.failure)
}

function noPictures(why: string): UserError {
  return new UserError({ code: 'device', what: `the screenshot judge needs pictures of the pages, and this machine cannot make any: ${why}`, place: { field: 'reward.screenshotJudge.enabled' }, expected: 'a browser that renders pages', remedy: 'Make it available, or switch reward.screenshotJudge off.' })
}
