// What a generated page may do, as pure functions: nothing but run the two scripts it is given and draw. The wiring is in page-window.ts.

export const pageScheme = 'page'
export const pageAddress = `${pageScheme}://page/index.html`
const kitAddress = `${pageScheme}://page/kit.js`
const programAddress = `${pageScheme}://page/program.js`

/**
 * `sandbox` gives the page an origin that nothing else has: no storage, no service worker, no window of its own, no dialog, no download.
 * Forms stay, because a program may want their events; what they send is stopped by form-action.
 */
export const pageSecurityPolicy = [
  'sandbox allow-scripts allow-forms',
  "default-src 'none'",
  `script-src ${kitAddress} ${programAddress}`,
  "style-src 'unsafe-inline'",
  'img-src data: blob:',
  'font-src data:',
  'media-src data:',
  "connect-src 'none'",
  "frame-src 'none'",
  "worker-src 'none'",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ')

/** Laid over the page's own styles: nothing moves, blinks or scrolls in a picture. */
export const stillStyles = `
*, *::before, *::after {
  animation-duration: 0s !important;
  animation-delay: 0s !important;
  animation-iteration-count: 1 !important;
  transition-duration: 0s !important;
  transition-delay: 0s !important;
  caret-color: transparent !important;
}
::-webkit-scrollbar { display: none !important; }
`

const document = `<!doctype html><html lang="en"><head><meta charset="utf-8"><script src="${kitAddress}" defer crossorigin></script><script src="${programAddress}" defer crossorigin></script></head><body></body></html>`

/** What is served under an address of the page; undefined where there is nothing. */
export function pageFile(url: string, kit: string, program: string): { readonly body: string; readonly contentType: string } | undefined {
  switch (url) {
    case pageAddress:
      return { body: document, contentType: 'text/html; charset=utf-8' }
    case kitAddress:
      return { body: kit, contentType: 'text/javascript; charset=utf-8' }
    case programAddress:
      // The newline ends a comment on the program's last line.
      return { body: `satchelRegister(function (exports, require, module) {${program}\n})`, contentType: 'text/javascript; charset=utf-8' }
    default:
      return undefined
  }
}

/** Whether a request may be answered at all: the page's own three files, and data it made itself for a picture or a font. */
export function isPageRequestAllowed(url: string, resourceType: string): boolean {
  if (url === pageAddress || url === kitAddress || url === programAddress) return true
  return (url.startsWith('data:') || url.startsWith('blob:')) && ['image', 'font', 'media'].includes(resourceType)
}

/** A message of the console at error level, as what it tells of. Notices that the window refused something are no error of the program. */
export function consoleMessageKind(message: string): 'page-error' | 'console-error' | 'notice' {
  if (/^Uncaught /.test(message)) return 'page-error'
  if (/^(?:Refused to |Blocked |Ignored call to |Failed to load resource|Not allowed to )/.test(message) || /Content Security Policy|is sandboxed/.test(message)) return 'notice'
  return 'console-error'
}
