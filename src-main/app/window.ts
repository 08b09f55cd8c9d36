// The one window.
import { BrowserWindow, nativeTheme } from 'electron'
import { startPage } from './policies.ts'

/** Painted before the page is; equal to the page's own backgrounds. */
const backgrounds = { light: '#f4f4f1', dark: '#15171a' } as const

/**
 * Opens the window and loads the page. `preload` is the path of the built preload, `icon` an image for desktops that do not take it from the
 * program or an entry of their menu.
 */
export function openWindow(preload: string, icon: string): BrowserWindow {
  const window = new BrowserWindow({
    title: 'Satchel',
    width: 1360,
    height: 900,
    minWidth: 880,
    minHeight: 600,
    show: false,
    ...(process.platform === 'linux' ? { icon } : {}),
    backgroundColor: nativeTheme.shouldUseDarkColors ? backgrounds.dark : backgrounds.light,
    webPreferences: {
      preload,
      sandbox: true,
      contextIsolation: true,
      nodeIntegration: false,
      webSecurity: true,
      spellcheck: false,
      webviewTag: false,
      navigateOnDragDrop: false,
    },
  })
  window.once('ready-to-show', () => window.show())
  // A page that cannot be loaded leaves an empty window and its reason in the log.
  window.loadURL(startPage).catch((error: unknown) => console.error('The page could not be loaded:', error))
  return window
}
