// Pictures for the screenshot judge, tried once before the run.
import type { RewardConfig } from '../../../contract/reward-config.ts'
import { UserError } from '../../../contract/errors.ts'
import { openCamera, type PageCamera } from '../screenshots/camera.ts'

/** @throws UserError when this machine cannot make pictures of pages */
export async function openPageCamera(limits: RewardConfig['limits']): Promise<PageCamera> {
  const opened = await openCamera(limits)
  if ('camera' in opened) return opened.camera
  throw noPictures(opened.unavailable)
}

function noPictures(why: string): UserError {
  return new UserError({ code: 'device', what: `the screenshot judge needs pictures of the pages, and this machine cannot make any: ${why}`, place: { field: 'reward.screenshotJudge.enabled' }, expected: 'a browser that renders pages', remedy: 'Make it available, or switch reward.screenshotJudge off.' })
}
