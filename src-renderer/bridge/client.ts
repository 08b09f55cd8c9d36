// The page's only way out: the bridge the preload made.
import type { SatchelBridge } from '../../src-main/contract/bridge.ts'

declare global {
  interface Window {
    readonly satchel?: SatchelBridge
  }
}

/** The bridge; throws when the page runs outside Satchel (in a browser, say). */
export function pageBridge(): SatchelBridge {
  if (window.satchel === undefined) throw new Error('This page works inside Satchel only: start it with `npm start`.')
  return window.satchel
}
