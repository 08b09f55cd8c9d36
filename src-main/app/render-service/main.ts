// The render service: the program of the app started without its window, to show generated pages for whoever started it (engine, tools).
// One page at a time; the answers go over the child process channel, and the process ends with it.
import { app, protocol } from 'electron'
import { renderServiceRequestSchema } from '../../contract/render-service.ts'
import type { RenderServiceReply } from '../../contract/render-service.ts'
import { pageScheme } from './page-policies.ts'
import { PageFailure, showPage } from './page-window.ts'

/** Heap of a page's scripts, MiB; memory outside the heap is watched from here. */
const scriptMegabytes = 256

function tell(reply: RenderServiceReply): void {
  if (process.connected) process.send?.(reply)
}

/** Never returns to the app: must be called before it is ready, instead of starting it. */
export function runRenderService(): void {
  protocol.registerSchemesAsPrivileged([{ scheme: pageScheme, privileges: { standard: true, secure: true, corsEnabled: true } }])
  app.disableHardwareAcceleration()
  const { commandLine } = app
  commandLine.appendSwitch('force-device-scale-factor', '1')
  commandLine.appendSwitch('hide-scrollbars')
  commandLine.appendSwitch('js-flags', `--max-old-space-size=${scriptMegabytes}`)
  // Whatever finds a way around the sessions' filters is sent to a proxy whose name means nothing; loopback addresses as well.
  commandLine.appendSwitch('proxy-server', 'http://nowhere.invalid:9')
  commandLine.appendSwitch('proxy-bypass-list', '<-loopback>')
  commandLine.appendSwitch('force-webrtc-ip-handling-policy', 'disable_non_proxied_udp')
  app.dock?.hide()
  // Between two pages there is no window.
  app.on('window-all-closed', () => undefined)
  process.on('disconnect', () => app.exit(0))

  let kit = ''
  process.on('message', (message) => {
    const parsed = renderServiceRequestSchema.safeParse(message)
    // Both ends are of one build; a request that is not understood is a mistake of ours and better loud.
    if (!parsed.success) return app.exit(1)
    const request = parsed.data
    void app.whenReady().then(async () => {
      if (request.type === 'start') {
        kit = request.kit
        tell({ type: 'ready', browser: `Electron ${process.versions.electron}, Chromium ${process.versions['chrome'] ?? ''}` })
        return
      }
      try {
        tell({ type: 'rendered', id: request.id, ...(await showPage(request, kit)) })
      } catch (error) {
        if (!(error instanceof PageFailure)) console.error(error)
        tell({ type: 'failed', id: request.id, reason: error instanceof Error ? error.message.slice(0, 300) : 'the page could not be shown' })
      }
    })
  })
}
