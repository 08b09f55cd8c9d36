// The page cannot leave, cannot reach out and cannot reach in: tried from inside a real Electron.
import { createServer } from 'node:http'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { fakeEngine, openApp } from './app-driver.ts'
import type { OpenedApp } from './app-driver.ts'

const startPage = 'app://satchel/index.html'
const missing = inject('missing')
let app: OpenedApp
let server: Server
let address: string
const visits: string[] = []

beforeAll(async () => {
  if (missing !== '') return
  server = createServer((request, response) => {
    visits.push(request.url ?? '')
    response.setHeader('access-control-allow-origin', '*')
    response.end('<h1>outside</h1>')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  app = await openApp({ environment: { SATCHEL_ENGINE: fakeEngine } })
})
afterAll(async () => {
  if (missing !== '') return
  await app.close()
  await new Promise((resolve) => server.close(resolve))
})

describe.skipIf(missing !== '')(`the page${missing === '' ? '' : ` (skipped: ${missing})`}`, () => {
  it('has no Node and no Electron, only three functions', async () => {
    const found = await app.page.evaluate(() => ({
      globals: ['require', 'process', 'module', 'Buffer', 'global', 'electron', 'ipcRenderer'].filter((name) => name in window),
      bridge: Object.keys((window as unknown as { satchel: object }).satchel),
    }))
    expect(found).toEqual({ globals: [], bridge: ['call', 'offer', 'subscribe'] })
  })

  it('runs sandboxed, isolated, without Node integration', async () => {
    const preferences = await app.application.evaluate(({ BrowserWindow }) => {
      const contents = BrowserWindow.getAllWindows()[0]?.webContents as unknown as { getLastWebPreferences(): Record<string, unknown> }
      const { sandbox, contextIsolation, nodeIntegration, webSecurity, webviewTag } = contents.getLastWebPreferences()
      return { sandbox, contextIsolation, nodeIntegration, webSecurity, webviewTag }
    })
    expect(preferences).toEqual({ sandbox: true, contextIsolation: true, nodeIntegration: false, webSecurity: true, webviewTag: false })
  })

  it('reaches nothing outside: fetch, sockets, pictures, frames, workers', async () => {
    const outcomes = await app.page.evaluate(async (outside) => {
      const attempt = (act: () => Promise<unknown>): Promise<string> => act().then(() => 'reached', () => 'refused')
      const loaded = (element: HTMLElement & { src: string }): Promise<unknown> =>
        new Promise((resolve, reject) => {
          element.onload = resolve
          element.onerror = reject
          element.src = `${outside}/element`
          document.body.append(element)
        })
      return {
        fetch: await attempt(() => fetch(`${outside}/fetch`)),
        beacon: navigator.sendBeacon(`${outside}/beacon`) ? 'queued' : 'refused',
        socket: await attempt(() => new Promise((resolve, reject) => {
          const socket = new WebSocket(outside.replace('http', 'ws'))
          socket.onopen = resolve
          socket.onerror = reject
        })),
        picture: await attempt(() => loaded(document.createElement('img'))),
      }
    }, address)
    expect(outcomes).toMatchObject({ fetch: 'refused', socket: 'refused', picture: 'refused' })
    expect(visits).toEqual([])
  })

  it('is denied by the session as well, where no content policy helps', async () => {
    const outcome = await app.application.evaluate(async ({ session }, outside) => {
      try {
        await session.defaultSession.fetch(`${outside}/session`)
        return 'reached'
      } catch {
        return 'refused'
      }
    }, address)
    expect(outcome).toBe('refused')
    expect(visits).toEqual([])
  })

  it('does not navigate away, and opens no window', async () => {
    await app.page.evaluate((outside) => {
      window.location.href = `${outside}/navigate`
    }, address)
    const opened = await app.page.evaluate((outside) => window.open(`${outside}/window`) === null, address)
    await app.page.evaluate((outside) => {
      const link = document.createElement('a')
      link.href = `${outside}/link`
      link.target = '_blank'
      document.body.append(link)
      link.click()
      link.remove()
    }, address)
    await app.page.evaluate(() => {
      window.location.href = 'file:///etc/passwd'
    })
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(opened).toBe(true)
    expect(app.page.url()).toBe(startPage)
    expect(app.application.windows()).toHaveLength(1)
    expect(visits).toEqual([])
  })

  it('runs no code from text', async () => {
    const outcomes = await app.page.evaluate(async () => {
      const attempt = (act: () => unknown): string => {
        try {
          act()
          return 'ran'
        } catch {
          return 'refused'
        }
      }
      // The inspector lifts the policy for what it runs itself, not for what runs later.
      await new Promise((resolve) => setTimeout(resolve, 0))
      return {
        evaluate: attempt(() => (0, eval)('1')),
        construct: attempt(() => Reflect.construct(Function, ['return 1'])),
        markup: attempt(() => (document.createElement('div').innerHTML = '<b>x</b>')),
      }
    })
    expect(outcomes).toEqual({ evaluate: 'refused', construct: 'refused', markup: 'refused' })
  })

  it('gets no permission', async () => {
    const states = await app.page.evaluate(async () => ({
      notification: await Notification.requestPermission(),
      camera: await navigator.mediaDevices?.getUserMedia({ video: true }).then(() => 'granted', () => 'denied') ?? 'denied',
      place: await new Promise((resolve) => navigator.geolocation.getCurrentPosition(() => resolve('granted'), () => resolve('denied'))),
    }))
    expect(states).toEqual({ notification: 'denied', camera: 'denied', place: 'denied' })
  })

  it('gets an error, not an answer, for a call outside the contract', async () => {
    const outcomes = await app.page.evaluate(async () => {
      const { call } = (window as unknown as { satchel: { call(name: string, request: unknown): Promise<{ ok: boolean }> } }).satchel
      return [await call('runs.erase', {}), await call('runs.open', { directory: '/etc' }), await call('runs.open', { directory: 5 }), await call('runs.list', { extra: 1 })]
    })
    expect(outcomes).toMatchObject([{ ok: false }, { ok: false, error: { what: expect.stringMatching(/not in the runs folder/) as string } }, { ok: false }, { ok: false }])
  })

  it('is served only files of the app', async () => {
    const outcomes = await app.application.evaluate(async ({ session }) => {
      const addresses = ['app://satchel/index.html', 'app://satchel/../../package.json', 'app://satchel/%2e%2e/%2e%2e/package.json', 'app://satchel/absent.js', 'app://other/index.html']
      return Promise.all(addresses.map(async (url) => (await session.defaultSession.fetch(url)).status))
    })
    expect(outcomes).toEqual([200, 404, 404, 404, 404])
  })
})
