// The smallest menu that keeps the usual keys working.
import { Menu } from 'electron'
import type { MenuItemConstructorOptions } from 'electron'

/** Sets the application menu. Developer tools are offered in a checkout only. */
export function installMenu(developer: boolean): void {
  const view: MenuItemConstructorOptions[] = [{ role: 'resetZoom' }, { role: 'zoomIn' }, { role: 'zoomOut' }, { type: 'separator' }, { role: 'togglefullscreen' }]
  if (developer) view.push({ role: 'toggleDevTools' })
  const template: MenuItemConstructorOptions[] = [
    process.platform === 'darwin' ? { role: 'appMenu' } : { label: '&File', submenu: [{ role: 'quit' }] },
    { role: 'editMenu' },
    { label: '&View', submenu: view },
    { role: 'windowMenu' },
  ]
  Menu.setApplicationMenu(Menu.buildFromTemplate(template))
}
