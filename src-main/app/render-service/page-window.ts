// One generated page in a window of its own that nobody sees: a session that only this page has and that reaches nothing, a sandboxed process
// without a preload, a limit on time and memory. The window is destroyed whatever happens.
import { app, BrowserWindow, session } from 'electron'
import type { Session, WebContents } from 'electron'
import { waitingFactor } from '../../contract/render-service.ts'
import type { PageFacts, RenderServiceRequest } from '../../contract/render-service.ts'
import { consoleMessageKind, isPageRequestAllowed, pageAddress, pageFile, pageScheme, pageSecurityPolicy, stillStyles } from './page-policies.ts'
import { pixelFacts } from './pixel-facts.ts'

export type PageRequest = Extract<RenderServiceRequest, { type: 'render' }>

export interface ShownPage {
  /** Base64; empty where no picture was asked for. */
  readonly png: string
  readonly facts: PageFacts
}

/** What the page itself is to blame for. Its message is for a person. */
export class PageFailure extends Error {}

/** A world of scripts whose functions the page cannot have changed. */
const ownWorld = 999
const scaleMilliseconds = 100
const keptMessages = 20
const keptCharacters = 300
/** Messages after which a page is a flood. */
const maximumMessages = 1_000

/** Resolves once the page says that it is at rest and has been drawn since. Runs in our own world of the page. */
const readWhenAtRest = `new Promise((resolve) => {
  const root = document.documentElement
  const read = () => resolve({
    text: (document.body?.innerText ?? '').slice(0, 20000),
    elements: document.body?.getElementsByTagName('*').length ?? 0,
  })
  const look = () => {
    if (root.getAttribute('data-satchel') !== 'rest') return
    requestAnimationFrame(() => requestAnimationFrame(read))
    setTimeout(read, 250)
  }
  new MutationObserver(look).observe(root, { attributes: true, attributeFilter: ['data-satchel'] })
  look()
})`

let pages = 0

/** @throws PageFailure when the page is too slow, too large, crashed, or tried to leave */
export async function showPage(request: PageRequest, kit: string): Promise<ShownPage> {
  const begun = performance.now()
  const own = sessionOf(kit, request.script)
  const window = new BrowserWindow({
    show: false,
    frame: false,
    width: request.width,
    height: request.height,
    useContentSize: true,
    enableLargerThanScreen: true,
    backgroundColor: '#ffffff',
    webPreferences: {
      session: own,
      offscreen: true,
      sandbox: true,
      contextIsolation: true,
      nodeIntegration: false,
      webSecurity: true,
      webviewTag: false,
      spellcheck: false,
      webgl: false,
      disableDialogs: true,
      navigateOnDragDrop: false,
      backgroundThrottling: false,
      autoplayPolicy: 'user-gesture-required',
    },
  })
  const { webContents } = window
  secure(webContents)
  const messages = listen(webContents)
  const limits = limitsOf(webContents, request)
  try {
    return await Promise.race([picture(window, request, messages, begun), limits.broken, messages.flooded])
  } finally {
    limits.dispose()
    // A process in an endless loop does not hear that its window is gone.
    if (!webContents.isDestroyed() && !webContents.isCrashed()) webContents.forcefullyCrashRenderer()
    if (!window.isDestroyed()) window.destroy()
    own.protocol.unhandle(pageScheme)
  }
}

/** A session in memory that serves three files and denies everything else. */
function sessionOf(kit: string, program: string): Session {
  pages += 1
  const own = session.fromPartition(`page-${pages}`, { cache: false })
  let served = false
  own.protocol.handle(pageScheme, ({ url }) => {
    const file = pageFile(url, kit, program)
    // A page that loads itself again would never come to rest.
    const again = url === pageAddress && served
    served ||= url === pageAddress
    if (file === undefined || again) return new Response(null, { status: 404 })
    return new Response(file.body, { headers: { 'content-type': file.contentType, 'content-security-policy': pageSecurityPolicy, 'access-control-allow-origin': '*', 'x-content-type-options': 'nosniff', 'x-dns-prefetch-control': 'off' } })
  })
  own.webRequest.onBeforeRequest(({ url, resourceType }, answer) => answer({ cancel: !isPageRequestAllowed(url, resourceType) }))
  own.setPermissionRequestHandler((_contents, _permission, answer) => answer(false))
  own.setPermissionCheckHandler(() => false)
  own.setDevicePermissionHandler(() => false)
  own.setDisplayMediaRequestHandler(null)
  own.on('will-download', (event) => event.preventDefault())
  return own
}

function secure(contents: WebContents): void {
  contents.on('will-navigate', (event) => event.preventDefault())
  contents.on('will-frame-navigate', (event) => event.preventDefault())
  contents.on('will-redirect', (event) => event.preventDefault())
  contents.on('will-attach-webview', (event) => event.preventDefault())
  contents.on('will-prevent-unload', (event) => event.preventDefault())
  contents.on('login', (event) => event.preventDefault())
  contents.on('select-bluetooth-device', (event) => event.preventDefault())
  contents.setWindowOpenHandler(() => ({ action: 'deny' }))
  // What is not proxied may not leave, and the one proxy of this process leads nowhere.
  contents.setWebRTCIPHandlingPolicy('disable_non_proxied_udp')
  contents.setAudioMuted(true)
}

interface Messages {
  readonly consoleErrors: string[]
  readonly pageErrors: string[]
  /** Rejects when the page writes too much. */
  readonly flooded: Promise<never>
}

function listen(contents: WebContents): Messages {
  const consoleErrors: string[] = []
  const pageErrors: string[] = []
  let count = 0
  const flooded = new Promise<never>((_resolve, reject) => {
    contents.on('console-message', (event, oldLevel, oldMessage) => {
      count += 1
      if (count > maximumMessages) return reject(new PageFailure('the page floods its console'))
      // Electron before 35 tells by position what later ones tell by name.
      const { level = oldLevel >= 3 ? 'error' : 'info', message = oldMessage } = event as Partial<typeof event>
      if (level !== 'error') return
      const kind = consoleMessageKind(message)
      const list = kind === 'page-error' ? pageErrors : kind === 'console-error' ? consoleErrors : undefined
      if (list !== undefined && list.length < keptMessages) list.push(message.slice(0, keptCharacters))
    })
  })
  flooded.catch(() => undefined)
  return { consoleErrors, pageErrors, flooded }
}

interface Limits {
  /** Rejects with what the page did wrong. */
  readonly broken: Promise<never>
  dispose(): void
}

function limitsOf(contents: WebContents, { milliseconds, megabytes }: PageRequest): Limits {
  let fail: (failure: PageFailure) => void = () => undefined
  const broken = new Promise<never>((_resolve, reject) => (fail = reject))
  broken.catch(() => undefined)
  // Time of the processor, so that a busy machine changes no verdict; by the clock a page that does nothing but wait is ended too.
  const clock = setTimeout(() => fail(new PageFailure(`the page was not at rest after ${(waitingFactor * milliseconds) / 1_000} s`)), waitingFactor * milliseconds)
  const scale = setInterval(() => {
    const process = app.getAppMetrics().find(({ pid }) => pid === contents.getOSProcessId())
    if (process === undefined) return
    if (process.memory.workingSetSize > megabytes * 1_024) fail(new PageFailure(`the page took more than ${megabytes} MiB of memory`))
    if ((process.cpu.cumulativeCPUUsage ?? 0) * 1_000 > milliseconds) fail(new PageFailure(`the page kept the processor for more than ${milliseconds / 1_000} s`))
  }, scaleMilliseconds)
  contents.on('render-process-gone', (_event, { reason }) => fail(new PageFailure(reason === 'oom' ? `the page took more memory than it may have` : `the page's process ended (${reason})`)))
  contents.on('did-fail-load', (_event, code, description, url) => {
    // Whatever else it wanted to load was denied, and the page is still there.
    if (url === pageAddress) fail(new PageFailure(`the page loaded itself again, or could not be loaded (${description || code})`))
  })
  return {
    broken,
    dispose() {
      clearTimeout(clock)
      clearInterval(scale)
    },
  }
}

async function picture(window: BrowserWindow, { width, height, picture: wanted }: PageRequest, messages: Messages, begun: number): Promise<ShownPage> {
  const { webContents } = window
  const ready = new Promise<void>((resolve) => {
    webContents.once('dom-ready', () => resolve())
    // A page that wants to go elsewhere while it is being loaded ends its loading, and stays.
    webContents.once('did-stop-loading', () => resolve())
  })
  webContents.loadURL(pageAddress).catch(() => undefined)
  await ready
  await webContents.insertCSS(stillStyles, { cssOrigin: 'user' })
  const read = (await webContents.executeJavaScriptInIsolatedWorld(ownWorld, [{ code: readWhenAtRest }])) as { text: string; elements: number }
  const shot = await webContents.capturePage({ x: 0, y: 0, width, height })
  const { consoleErrors, pageErrors } = messages
  const facts: PageFacts = { consoleErrors, pageErrors, text: read.text, elements: read.elements, ...pixelFacts(shot.toBitmap()), milliseconds: performance.now() - begun }
  return { png: wanted ? shot.toPNG().toString('base64') : '', facts }
}
