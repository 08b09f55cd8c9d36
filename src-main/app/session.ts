// Applies the policies to Electron: the app:// scheme, request filter, permissions, navigation, windows.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { app, protocol } from 'electron'
import type { IpcMainInvokeEvent, Session } from 'electron'
import { appFile, appHost, appScheme, contentSecurityPolicy, isNavigationAllowed, isPermissionGranted, isRequestAllowed } from './policies.ts'
import type { Sender } from './policies.ts'

/** Must run before the app is ready. */
export function registerAppScheme(): void {
  protocol.registerSchemesAsPrivileged([{ scheme: appScheme, privileges: { standard: true, secure: true } }])
}

/** Chromium's own background traffic is switched off as well. Must run before the app is ready. */
export function silenceChromium(): void {
  for (const name of ['disable-background-networking', 'disable-component-update', 'disable-domain-reliability', 'no-pings']) app.commandLine.appendSwitch(name)
  app.commandLine.appendSwitch('host-resolver-rules', 'MAP * ~NOTFOUND')
  fetchNoDictionaries()
}

async function serve(rendererFolder: string, url: string): Promise<Response> {
  const file = appFile(url)
  if (file === undefined) return new Response(null, { status: 404 })
  try {
    const bytes = await readFile(join(rendererFolder, ...file.path.split('/')))
    const headers = {
      'content-type': file.contentType,
      'content-security-policy': contentSecurityPolicy,
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    }
    return new Response(new Uint8Array(bytes), { headers })
  } catch {
    return new Response(null, { status: 404 })
  }
}

/** Serves the built page under app:// and denies the session everything else. */
export function secureSession(session: Session, rendererFolder: string): void {
  session.protocol.handle(appScheme, (request) => serve(rendererFolder, request.url))
  session.webRequest.onBeforeRequest((details, answer) => {
    answer({ cancel: !isRequestAllowed(details.url, !app.isPackaged) })
  })
  session.setPermissionRequestHandler((_contents, permission, answer) => answer(isPermissionGranted(permission)))
  session.setPermissionCheckHandler((_contents, permission) => isPermissionGranted(permission))
  session.setDevicePermissionHandler(() => false)
  session.on('will-download', (event) => event.preventDefault())
}

/** Chromium would fetch a dictionary for every session, even where no page has its spelling checked. */
function fetchNoDictionaries(): void {
  app.on('session-created', (session) => {
    session.setSpellCheckerEnabled(false)
    // On macOS the system checks, and there is nothing to fetch.
    if (process.platform === 'darwin') return
    session.setSpellCheckerLanguages([])
    session.setSpellCheckerDictionaryDownloadURL(`${appScheme}://${appHost}/dictionaries/`)
  })
}

/** Holds for every page that will ever be made: it stays at its address, opens nothing, embeds nothing. */
export function secureContents(): void {
  app.on('web-contents-created', (_event, contents) => {
    contents.on('will-navigate', (event) => {
      if (!isNavigationAllowed(event.url)) event.preventDefault()
    })
    contents.on('will-redirect', (event) => event.preventDefault())
    contents.on('will-attach-webview', (event) => event.preventDefault())
    contents.setWindowOpenHandler(() => ({ action: 'deny' }))
  })
}

/** What the policies need to know of the sender of a message. */
export function senderOf(event: IpcMainInvokeEvent): Sender | undefined {
  const frame = event.senderFrame
  return frame === null || frame === undefined ? undefined : { url: frame.url, isTopFrame: frame.parent === null }
}
