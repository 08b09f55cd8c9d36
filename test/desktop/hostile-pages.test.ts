// Generated pages that attack what shows them, in a real Electron: each is contained, and the next page is shown as if nothing had been.
import { createSocket } from 'node:dgram'
import type { Socket } from 'node:dgram'
import { createServer } from 'node:net'
import type { AddressInfo, Server } from 'node:net'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import type { Screenshot } from '../../src-main/contract/rendered-document.ts'
import { renderHost } from '../../src-main/engine/rewards/screenshots/render-host.ts'
import { createScreenshots } from '../../src-main/engine/rewards/screenshots/screenshots.ts'
import type { Screenshots } from '../../src-main/engine/rewards/screenshots/screenshots.ts'

const missing = inject('missing')
const title = missing === '' ? '' : ` (skipped: ${missing})`
let screenshots: Screenshots
let server: Server
let datagrams: Socket
let tcp: string
let udpPort: number
/** Whatever reached this machine's sockets. */
const visits: string[] = []
let pages = 0

beforeAll(async () => {
  if (missing !== '') return
  server = createServer((socket) => {
    visits.push('tcp')
    socket.on('error', () => undefined).destroy()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  tcp = `127.0.0.1:${(server.address() as AddressInfo).port}`
  datagrams = createSocket('udp4').on('message', () => visits.push('udp'))
  await new Promise<void>((resolve) => datagrams.bind(0, '127.0.0.1', resolve))
  udpPort = datagrams.address().port
  const found = renderHost({ ...process.env, SATCHEL_ELECTRON: inject('electron'), SATCHEL_ELECTRON_NO_SANDBOX: '1' })
  if (!('host' in found)) throw new Error(found.unavailable)
  screenshots = createScreenshots({ host: found.host, seconds: 3, megabytes: 400 })
})
afterAll(async () => {
  if (missing !== '') return
  screenshots.dispose()
  datagrams.close()
  await new Promise((resolve) => server.close(resolve))
})

/** A program whose component runs `body` when it is first rendered and shows the text it returns. */
function program(body: string): string {
  pages += 1
  return `import { useEffect, useState } from 'react'
// page ${pages}
async function attack(): Promise<unknown> { ${body} }
export default function App() {
  const [said, say] = useState('waiting')
  useEffect(() => { attack().then((value) => say(String(value)), (error) => say('refused ' + error)) }, [])
  return <main><h1>Page ${pages}</h1><p>{said}</p></main>
}`
}

async function shown(text: string): Promise<Screenshot> {
  const result = await screenshots.screenshotOf(text)
  if ('failure' in result) throw new Error(`no picture: ${result.failure} (${result.blame})`)
  return result.screenshot
}

/** The picture of a page that attacks, and after it that of an honest one. */
async function contained(text: string): Promise<Awaited<ReturnType<Screenshots['screenshotOf']>>> {
  const result = await screenshots.screenshotOf(text)
  const next = await shown(program(`return 'an honest page'`))
  expect(next.facts).toMatchObject({ uniform: false, pageErrors: [], consoleErrors: [] })
  expect(next.facts.text).toContain('an honest page')
  return result
}

describe.skipIf(missing !== '')(`pages that take everything${title}`, () => {
  it('are ended when they never stop computing, while they render and in a timer', async () => {
    expect(await contained(`export default function App() { for (;;) {} return <p /> }`)).toMatchObject({ failure: expect.stringMatching(/kept the processor|not at rest/) as string, blame: 'page' })
    expect(await contained(program(`setTimeout(() => { for (;;) {} }, 5); return 'armed'`))).toMatchObject({ blame: 'page' })
  })

  it('are ended when they fill the heap or memory outside of it', async () => {
    expect(await contained(`const held: unknown[] = []; export default function App() { for (;;) held.push(new Array(10_000).fill(held.length)) }`)).toMatchObject({ failure: expect.stringMatching(/memory|ended/) as string, blame: 'page' })
    expect(await contained(`const held: unknown[] = []; export default function App() { for (;;) held.push(new Uint8Array(1 << 24).fill(1)) }`)).toMatchObject({ failure: expect.stringMatching(/MiB|memory|ended/) as string, blame: 'page' })
  })

  it('cost no more than their limits with a huge document', async () => {
    const result = await contained(`export default function App() { return <ul>{Array.from({ length: 200_000 }, (_, index) => <li key={index}>row {index}</li>)}</ul> }`)
    if ('screenshot' in result) expect(result.screenshot.facts.text.length).toBeLessThanOrEqual(20_000)
    else expect(result.blame).toBe('page')
  })

  it('come to rest although they ask for frames and timers without end', async () => {
    const frames = await contained(program(`const again = () => { requestAnimationFrame(again); setTimeout(again, 0); setInterval(() => undefined, 1) }; let count = 0; const few = () => { if (count++ < 10_000) requestAnimationFrame(few) }; few(); return 'flooding'`))
    expect(frames).toMatchObject({ screenshot: { facts: { uniform: false } } })
    expect(await contained(program(`const again = () => setTimeout(again, 0); again(); return 'flooding'`))).toMatchObject({ screenshot: { facts: { uniform: false } } })
  })

  it('are cut short when they flood the console', async () => {
    const quiet = await contained(program(`for (let index = 0; index < 100_000; index++) console.error('noise', index); return 'noisy'`))
    if (!('screenshot' in quiet)) throw new Error(quiet.failure)
    expect(quiet.screenshot.facts.consoleErrors.length).toBeLessThanOrEqual(20)
    expect(await contained(program(`document.addEventListener('x', () => { throw new Error('noise') }); for (let index = 0; index < 20_000; index++) document.dispatchEvent(new Event('x')); return 'noisy'`))).toMatchObject({ failure: expect.stringMatching(/floods its console/) as string })
  })
})

describe.skipIf(missing !== '')(`pages that want out${title}`, () => {
  it('reach no address: requests, sockets, beacons, pictures, styles, hints, forms, frames, modules', async () => {
    const result = await contained(program(`
      const outside = 'http://${tcp}'
      const attempts: Record<string, () => unknown> = {
        fetch: () => fetch(outside),
        socket: () => new Promise((done, fail) => { const socket = new WebSocket('ws://${tcp}'); socket.onopen = done; socket.onerror = fail }),
        events: () => new Promise((done, fail) => { const source = new EventSource(outside); source.onopen = done; source.onerror = fail }),
        request: () => new Promise((done, fail) => { const request = new XMLHttpRequest(); request.onload = done; request.onerror = fail; request.open('GET', outside); request.send() }),
        beacon: () => { navigator.sendBeacon(outside, 'x'); throw new Error('silent') },
        picture: () => new Promise((done, fail) => { const image = new Image(); image.onload = done; image.onerror = fail; image.src = outside }),
      }
      for (const [rel, as] of [['stylesheet', ''], ['preconnect', ''], ['dns-prefetch', ''], ['prefetch', ''], ['preload', 'script'], ['modulepreload', ''], ['icon', ''], ['manifest', '']]) {
        const link = document.createElement('link'); link.rel = rel!; link.href = outside; if (as) link.setAttribute('as', as); document.head.append(link)
      }
      const script = document.createElement('script'); script.src = outside; document.head.append(script)
      const style = document.createElement('style'); style.textContent = '@import "' + outside + '"; body { background: url(' + outside + ') } @font-face { font-family: x; src: url(' + outside + ') } h1 { font-family: x }'; document.head.append(style)
      const frame = document.createElement('iframe'); frame.src = outside; document.body.append(frame)
      const object = document.createElement('object'); object.data = outside; document.body.append(object)
      const video = document.createElement('video'); video.src = outside; document.body.append(video)
      const form = document.createElement('form'); form.action = outside; form.method = 'post'; document.body.append(form); form.submit()
      const meta = document.createElement('meta'); meta.httpEquiv = 'refresh'; meta.content = '0;url=' + outside; document.head.append(meta)
      const words: string[] = []
      for (const [name, attempt] of Object.entries(attempts)) { try { await attempt(); words.push(name + ' reached') } catch { words.push(name + ' refused') } }
      return words.join(', ')`))
    expect(result).toMatchObject({ screenshot: { facts: { text: expect.stringContaining('fetch refused, socket refused, events refused, request refused, beacon refused, picture refused') as string } } })
    expect(visits).toEqual([])
  })

  it('find no WebRTC, and no frame that would give it back', async () => {
    const result = await contained(program(`
      const frame = document.createElement('iframe'); document.body.append(frame)
      let inner = 'closed'
      try { inner = typeof (frame.contentWindow as unknown as { RTCPeerConnection: unknown }).RTCPeerConnection } catch { inner = 'closed' }
      const Connection = (window as unknown as { RTCPeerConnection?: new (options: object) => { createDataChannel(name: string): void; createOffer(): Promise<object>; setLocalDescription(offer: object): Promise<void> } }).RTCPeerConnection
      if (Connection !== undefined) { const peer = new Connection({ iceServers: [{ urls: 'stun:127.0.0.1:${udpPort}' }] }); peer.createDataChannel('x'); await peer.setLocalDescription(await peer.createOffer()) }
      return typeof Connection + ' ' + inner`))
    expect(result).toMatchObject({ screenshot: { facts: { text: expect.stringContaining('undefined closed') as string } } })
    expect(visits).toEqual([])
  })

  it('open no window, show no dialog, print and download nothing', async () => {
    const result = await contained(program(`
      const opened = window.open('http://${tcp}') ?? window.open('about:blank') ?? window.open('')
      alert('x'); confirm('x'); prompt('x'); print()
      const link = document.createElement('a'); link.href = 'data:text/plain,x'; link.download = 'x.txt'; document.body.append(link); link.click()
      const blob = document.createElement('a'); blob.href = URL.createObjectURL(new Blob(['x'])); blob.download = 'y.txt'; document.body.append(blob); blob.click()
      window.onbeforeunload = () => 'stay'
      return opened === null ? 'none' : 'opened'`))
    expect(result).toMatchObject({ screenshot: { facts: { text: expect.stringContaining('none') as string } } })
    expect(visits).toEqual([])
  })

  it.each([
    ['another address', `location.href = 'http://127.0.0.1:1'`],
    ['a file', `location.assign('file:///etc/passwd')`],
    ['data', `location.replace('data:text/html,<h1>elsewhere</h1>')`],
    ['a link in another window', `const link = document.createElement('a'); link.href = 'http://127.0.0.1:1'; link.target = '_blank'; document.body.append(link); link.click()`],
    ['the browser itself', `location.href = 'chrome://crash'`],
  ])('stay where they are when they go to %s', async (_name, leave) => {
    expect(await contained(program(`${leave}; return 'still here'`))).toMatchObject({ screenshot: { facts: { text: expect.stringContaining('still here') as string } } })
    expect(visits).toEqual([])
  })

  it('cannot load themselves again and again', async () => {
    const result = await contained(program(`location.reload(); return 'again'`))
    expect('screenshot' in result || result.blame === 'page').toBe(true)
  })
})

describe.skipIf(missing !== '')(`pages that want in${title}`, () => {
  it('find nothing of Electron or Node, and nobody above them', async () => {
    const result = await contained(program(`
      const found = ['require', 'process', 'module', 'Buffer', 'global', 'ipcRenderer', 'electron', 'satchel', 'satchelEnvironment', 'satchelRegister'].filter((name) => name in window)
      return [found.length === 0 ? 'nothing' : found.join(' '), parent === window, top === window, opener === null, origin].join(' ')`))
    expect(result).toMatchObject({ screenshot: { facts: { text: expect.stringContaining('nothing true true true null') as string } } })
  })

  it('have no workers, no storage that outlives them and no code from text', async () => {
    const result = await contained(program(`
      const attempt = async (act: () => unknown) => { try { await act(); return 'had' } catch { return 'refused' } }
      localStorage.setItem('kept', 'yes')
      const outcomes = await Promise.all([
        attempt(() => navigator.serviceWorker.register('/kit.js')),
        attempt(() => new Worker(URL.createObjectURL(new Blob(['1'])))),
        attempt(() => caches.open('x')),
        attempt(() => new Promise((done, fail) => { const request = indexedDB.open('x'); request.onsuccess = done; request.onerror = fail })),
        attempt(() => (0, eval)('1')),
        attempt(() => new Function('return 1')()),
        attempt(() => WebAssembly.compile(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]))),
        attempt(() => Promise.race([navigator.mediaDevices.getUserMedia({ video: true }), new Promise((_done, fail) => setTimeout(fail, 500))])),
      ])
      return outcomes.join(' ')`))
    expect(result).toMatchObject({ screenshot: { facts: { text: expect.stringContaining(Array(8).fill('refused').join(' ')) as string } } })
    expect((await shown(program(`return 'kept: ' + localStorage.getItem('kept')`))).facts.text).toContain('kept: null')
  })

  it('cannot make the service see what is not there by changing built-in functions', async () => {
    const result = await contained(`
      Object.defineProperty(HTMLElement.prototype, 'innerText', { get: () => 'a lovely page' })
      Element.prototype.getElementsByTagName = () => ({ length: 99 }) as never
      Array.prototype.push = () => 0
      Object.defineProperty(Object.prototype, 'failure', { get: () => undefined })
      document.documentElement.getAttribute = () => 'rest'
      window.MutationObserver = class {} as never
      Promise.prototype.then = function () { return this } as never
      export default function App() { return <i>x</i> }`)
    if (!('screenshot' in result)) throw new Error(result.failure)
    expect(result.screenshot.facts.elements).toBeLessThan(5)
    expect(result.screenshot.facts.text).not.toContain('lovely')
  })

  it('gain nothing by closing the function they are put into', async () => {
    expect(await contained(`}); document.title = 'out'; (function () {`)).toMatchObject({ blame: 'page' })
  })
})

describe.skipIf(missing !== '')(`pixels${title}`, () => {
  it('tell a page whose text has the colour of its ground from one that can be read', async () => {
    const hidden = await shown(`export default function App() { return <main style={{ background: '#fff', height: 5000 }}><h1 style={{ color: '#fffffe' }}>A heading nobody sees</h1><button style={{ border: 0, background: '#fff', color: '#fff' }}>Press</button></main> }`)
    expect(hidden.facts).toMatchObject({ uniform: true, elements: 4, text: expect.stringContaining('A heading nobody sees') as string })
    const seen = await shown(`export default function App() { return <p>i</p> }`)
    expect(seen.facts).toMatchObject({ uniform: false, elements: 2 })
  })

  it('are the same every time, also where a page moves, waits and throws dice', async () => {
    const text = `import { useEffect, useState } from 'react'
      export default function App() {
        const [count, add] = useState(0)
        useEffect(() => { const timer = setInterval(() => add((value) => value + 1), 100); return () => clearInterval(timer) }, [])
        return <main><style>{'@keyframes spin { to { transform: rotate(360deg) } } h1 { animation: spin 3s infinite; width: 200px }'}</style><h1>{count}</h1><p>{Math.random()} {Date.now()} {new Date().toLocaleString()}</p></main>
      }`
    const first = await shown(text)
    const second = await shown(`${text} // the same`)
    expect(Buffer.compare(first.png, second.png)).toBe(0)
    expect([first.png[1], first.png[2], first.png[3], Buffer.from(first.png).readUInt32BE(16), Buffer.from(first.png).readUInt32BE(20)]).toEqual([0x50, 0x4e, 0x47, 1280, 800])
  })
})
