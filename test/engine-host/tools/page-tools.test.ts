// Pages for the app, through a service that shows nothing: what is asked of it, and what is answered without it.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import type { ShownPage } from '../../../src-main/contract/calls/pages.ts'
import { pageTools } from '../../../src-main/engine-host/tools/page-tools.ts'
import { openPictureStore } from '../../../src-main/engine/rewards/screenshots/picture-store.ts'
import { programHash } from '../../../src-main/engine/rewards/screenshots/screenshots.ts'
import { buildForTests } from '../../support/build-entries.ts'
import { useTemporaryFolder } from '../../support/run-folder.ts'

const temporary = useTemporaryFolder()
let pictures: string

beforeAll(() => buildForTests(), 120_000)
beforeEach(async () => {
  pictures = join(await temporary(), 'pages')
  vi.stubEnv('SATCHEL_PICTURES', pictures)
  // Node stands for Electron, and the scripted service for the app.
  vi.stubEnv('SATCHEL_ELECTRON', process.execPath)
  vi.stubEnv('SATCHEL_ELECTRON_APP', fileURLToPath(new URL('../../support/fake-render-service.mjs', import.meta.url)))
  vi.stubEnv('SATCHEL_ELECTRON_NO_SANDBOX', '1')
})

const show = (text: string, directory: string | null = null): Promise<ShownPage> => pageTools['pages.show']({ text, directory }, { signal: new AbortController().signal, tell: () => undefined })

describe('a page for the app', () => {
  test('is shown by the service and kept, so that it is not shown twice', async () => {
    const text = 'export default function App() { return <h1>kept</h1> }'
    const first = await show(text)
    expect(first).toMatchObject({ state: 'shown', elements: 1, errors: [], picture: expect.stringMatching(/^data:image\/png;base64,/) as string })
    expect((await readdir(pictures)).toSorted()).toEqual([`${programHash(text)}.json`, `${programHash(text)}.png`])
    vi.stubEnv('SATCHEL_ELECTRON', '/gone')
    expect(await show(text)).toEqual(first)
  })

  test('is the picture a run has taken itself, where it has', async () => {
    const run = await temporary()
    const text = 'export default function App() { return <p>white on white</p> }'
    await openPictureStore(join(run, 'screenshots')).write(programHash(text), { png: Buffer.from('x'), facts: { consoleErrors: ['second'], pageErrors: ['first'], text: 'white on white', elements: 2, distinctPixels: 0, uniform: true, milliseconds: 1 } })
    expect(await show(text, run)).toEqual({ state: 'blank', picture: 'data:image/png;base64,eA==', reason: '', errors: ['first', 'second'], text: 'white on white', elements: 2 })
  })

  test('that cannot be shown says whose fault it is', async () => {
    expect(await show("export default 'page-failure'")).toMatchObject({ state: 'failed', picture: '', reason: 'the page took too long' })
    vi.stubEnv('SATCHEL_ELECTRON', '/gone')
    expect(await show('export default function Other() { return null }')).toMatchObject({ state: 'unavailable', reason: expect.stringMatching(/^Pages cannot be shown here: SATCHEL_ELECTRON names a file/) as string })
  })
})
