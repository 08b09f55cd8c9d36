import { describe, expect, test } from 'vitest'
import { renderHost, type RenderMachine } from '../../../../src-main/engine/rewards/screenshots/render-host.ts'

const machine = (files: Record<string, string>, more: Partial<RenderMachine> = {}): RenderMachine => ({
  platform: 'linux', userId: 1000, root: '/satchel', exists: (path) => path in files, readText: (path) => files[path] ?? '', ...more,
})
const installed = { '/satchel/node_modules/electron/path.txt': 'electron\n', '/satchel/node_modules/electron/dist/electron': '' }

describe('the browser that renders pages', () => {
  test('is the one of the checkout, told which program to run, without a display', () => {
    expect(renderHost({}, machine(installed))).toMatchObject({ host: { command: '/satchel/node_modules/electron/dist/electron', parameters: ['/satchel', '--satchel-render-service', '--ozone-platform=headless'] } })
  })

  test('is the app itself where the app says so; a packaged one carries its program', () => {
    const answer = renderHost({ SATCHEL_ELECTRON: '/opt/Satchel/satchel', SATCHEL_ELECTRON_APP: '' }, machine({ '/opt/Satchel/satchel': '' }))
    expect(answer).toMatchObject({ host: { command: '/opt/Satchel/satchel', parameters: ['--satchel-render-service', '--ozone-platform=headless'] } })
  })

  test.each(['win32', 'darwin'] as const)('needs no switch of Linux on %s', (platform) => {
    expect(renderHost({ SATCHEL_ELECTRON: '/electron' }, machine({ '/electron': '' }, { platform, userId: platform === 'win32' ? undefined : 501 }))).toMatchObject({ host: { parameters: ['/satchel', '--satchel-render-service'] } })
  })

  test('is said to be missing, with the way to have one', () => {
    expect(renderHost({}, machine({}))).toMatchObject({ unavailable: expect.stringMatching(/npx install-electron/) as string })
    expect(renderHost({ SATCHEL_ELECTRON: '/gone' }, machine(installed))).toMatchObject({ unavailable: expect.stringMatching(/SATCHEL_ELECTRON names a file that is not there/) as string })
    expect(renderHost({}, machine({ '/satchel/node_modules/electron/path.txt': 'electron' }))).toHaveProperty('unavailable')
  })

  test('keeps its sandbox unless somebody gives it up: the user root has to', () => {
    const root = machine(installed, { userId: 0 })
    expect(renderHost({}, root)).toMatchObject({ unavailable: expect.stringMatching(/root/) as string })
    expect(renderHost({ SATCHEL_ELECTRON_NO_SANDBOX: '1' }, root)).toMatchObject({ host: { parameters: expect.arrayContaining(['--no-sandbox']) as string[] } })
  })

  test('inherits no secrets, proxies or switches', () => {
    const answer = renderHost({ PATH: '/bin', HOME: '/home/x', API_KEY: 'secret', HTTPS_PROXY: 'http://proxy', NODE_OPTIONS: '--inspect', ELECTRON_RUN_AS_NODE: '1' }, machine(installed))
    if (!('host' in answer)) throw new Error(answer.unavailable)
    expect(answer.host.environment).toMatchObject({ PATH: '/bin', HOME: '/home/x', TZ: 'UTC' })
    for (const name of ['API_KEY', 'HTTPS_PROXY', 'NODE_OPTIONS', 'ELECTRON_RUN_AS_NODE']) expect(answer.host.environment).not.toHaveProperty(name)
  })
})
