// What the page may do, as pure functions. The wiring is in session.ts and window.ts.
// "Offline" means here: a request that is not a file of the app is denied, whoever makes it.
import { posix } from 'node:path'

export const appScheme = 'app'
export const appHost = 'satchel'
export const startPage = `${appScheme}://${appHost}/index.html`

/** Sent with every file. Styles and scripts come from files only; nothing connects anywhere; strings become markup only through Svelte's own policy. */
export const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types svelte-trusted-html',
].join('; ')

const contentTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
}

function parse(url: string): URL | undefined {
  return URL.canParse(url) ? new URL(url) : undefined
}

/** Whether an address belongs to the app's own page. */
export function isAppUrl(url: string): boolean {
  const parsed = parse(url)
  return parsed !== undefined && parsed.protocol === `${appScheme}:` && parsed.host === appHost
}

/**
 * The file a request of the page means, relative to the folder of the built page with forward slashes, and its content type.
 * Undefined when it is no file of the app: another host, another kind of file, or a path that leaves the folder.
 */
export function appFile(url: string): { path: string; contentType: string } | undefined {
  const parsed = parse(url)
  if (parsed === undefined || !isAppUrl(url)) return undefined
  let decoded: string
  try {
    decoded = decodeURIComponent(parsed.pathname)
  } catch {
    return undefined
  }
  if (decoded.includes('\0') || decoded.includes('\\')) return undefined
  const path = posix.normalize(decoded).replace(/^\/+/, '')
  const contentType = contentTypes[posix.extname(path).toLowerCase()]
  if (path === '' || path.split('/').some((part) => part === '..' || part.includes(':')) || contentType === undefined) return undefined
  return { path, contentType }
}

/** Whether a request may leave the page at all. Developer tools load their own files when they are open (never in a packaged app). */
export function isRequestAllowed(url: string, developer: boolean): boolean {
  if (isAppUrl(url) || url.startsWith('data:image/')) return true
  return developer && parse(url)?.protocol === 'devtools:'
}

/** The page stays where it is: only its own address (with another fragment) is a navigation it may make. */
export function isNavigationAllowed(url: string): boolean {
  const parsed = parse(url)
  if (parsed === undefined) return false
  parsed.hash = ''
  return parsed.href === startPage
}

/** What is known of the frame that sent a message. */
export interface Sender {
  readonly url: string
  readonly isTopFrame: boolean
}

/** Only the app's own page, in its top frame, is answered. */
export function isTrustedSender(sender: Sender | undefined): boolean {
  return sender !== undefined && sender.isTopFrame && isNavigationAllowed(sender.url)
}

/** The page needs no camera, clipboard reading, notification or any other permission. */
export function isPermissionGranted(_permission: string): boolean {
  return false
}
