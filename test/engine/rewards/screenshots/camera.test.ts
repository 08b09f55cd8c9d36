// A camera in front of a service that shows nothing and fails when it is told to.
import { fileURLToPath } from 'node:url'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { rewardConfig } from '../../../../src-main/contract/reward-config.ts'
import { openCamera, type PageCamera } from '../../../../src-main/engine/rewards/screenshots/camera.ts'
import { buildForTests } from '../../../support/build-entries.ts'

const fake = fileURLToPath(new URL('../../../support/fake-render-service.mjs', import.meta.url))
const { limits } = rewardConfig()
const host = (environment: Record<string, string> = {}) => () => ({ host: { command: process.execPath, parameters: [fake], environment } })
let camera: PageCamera | undefined

beforeAll(() => buildForTests(), 120_000)
afterEach(() => {
  camera?.dispose()
  camera = undefined
})

async function open(): Promise<PageCamera> {
  const opened = await openCamera(limits, host())
  if (!('camera' in opened)) throw new Error(opened.unavailable)
  camera = opened.camera
  return opened.camera
}

describe('a camera', () => {
  test('has shown a page before anyone relies on it', async () => {
    expect(Buffer.from((await open()).example).toString()).toMatch(/Hello/)
  })

  test('says why there is none', async () => {
    expect(await openCamera(limits, () => ({ unavailable: 'no Electron' }))).toEqual({ unavailable: 'no Electron' })
    expect(await openCamera(limits, host({ FAKE_RENDER: 'refuses' }))).toMatchObject({ unavailable: expect.stringMatching(/No usable sandbox/) as string })
  })

  test('bundles a program itself, and blames one that cannot be bundled', async () => {
    const shots = await open()
    const shown = await shots.screenshotOf('Here:\n```tsx\nexport default function App() { return <h1>One</h1> }\n```')
    expect('screenshot' in shown && Buffer.from(shown.screenshot.png).toString()).toMatch(/jsx.*"h1"/s)
    expect(await shots.screenshotOf('export default function App() { return <h1>')).toMatchObject({ blame: 'page' })
  })

  test('leaves a browser alone that fails again and again: nothing waits for it', async () => {
    const shots = await open()
    for (const time of [1, 2, 3]) expect(await shots.screenshotOf(`export default 'exit ${time}'`)).toMatchObject({ blame: 'service', failure: expect.stringMatching(/ended/) as string })
    expect(await shots.screenshotOf('export default function App() { return <h1>fine</h1> }')).toMatchObject({ blame: 'service', failure: expect.stringMatching(/left alone/) as string })
  })
})
