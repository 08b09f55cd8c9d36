// The desktop app: windows, policies and supervision. It computes nothing; engines are processes of their own.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { app, BrowserWindow, ipcMain, session } from 'electron'
import { callChannel, eventChannel } from '../contract/bridge.ts'
import { toEnvelope, UserError } from '../contract/errors.ts'
import { createBackground } from './background.ts'
import type { Background } from './background.ts'
import { desktop } from './desktop.ts'
import { engineEnvironment, findNodeBinary } from './engine-environment.ts'
import type { EngineProgram } from './engine-process.ts'
import { installMenu } from './menu.ts'
import { isTrustedSender } from './policies.ts'
import { answerCall } from './router.ts'
import { createRunServices } from './run-services.ts'
import { registerAppScheme, secureContents, secureSession, senderOf, silenceChromium } from './session.ts'
import { defaultPatience } from './supervisor.ts'
import { openWindow } from './window.ts'

const builtFolder = join(app.getAppPath(), 'out')

/** In a checkout SATCHEL_ENGINE names another engine entry, which is how the tests bring a scripted one. */
function programOf(entry: 'engine' | 'command-line'): EngineProgram {
  const packagedResources = app.isPackaged ? process.resourcesPath : undefined
  const scripted = app.isPackaged || entry !== 'engine' ? undefined : process.env['SATCHEL_ENGINE']
  const script = scripted ?? join(builtFolder, 'main', entry === 'engine' ? 'engine-child.js' : 'cli.js')
  const nodeBinary = findNodeBinary({ environment: process.env, platform: process.platform, packagedResources, exists: existsSync })
  return { nodeBinary, script, environment: engineEnvironment(process.env) }
}

function broadcast(name: string, payload: unknown): void {
  for (const window of BrowserWindow.getAllWindows()) {
    if (!window.isDestroyed()) window.webContents.send(eventChannel, name, payload)
  }
}

/** Opens the window, or brings it to the front. */
function showWindow(background: Background): void {
  const window = BrowserWindow.getAllWindows()[0]
  if (window === undefined) {
    background.guard(openWindow(join(builtFolder, 'preload', 'preload.cjs')))
    return
  }
  if (window.isMinimized()) window.restore()
  window.focus()
}

async function start(): Promise<void> {
  await app.whenReady()
  secureSession(session.defaultSession, join(builtFolder, 'renderer'))
  installMenu(!app.isPackaged)

  const data = process.env['SATCHEL_RUNS'] ?? app.getPath('userData')
  const background: Background = createBackground({ trayIcon: join(app.getAppPath(), 'resources', 'icons', 'tray.png'), showWindow: () => showWindow(background) })
  const runs = createRunServices({
    runsFolder: join(data, 'runs'),
    reportsFolder: join(data, 'reports'),
    demoFile: join(app.getAppPath(), 'resources', 'demo', 'run.json'),
    desktop,
    patience: defaultPatience,
    program: programOf,
    announce: broadcast,
    onActivity: (activity) => ('queue' in activity ? background.hearQueue(activity.queue.length) : background.hear(activity.directory, activity.event)),
  })
  const handlers = runs.handlers
  ipcMain.handle(callChannel, (event, name: unknown, request: unknown) => {
    if (isTrustedSender(senderOf(event))) return answerCall(handlers, name, request)
    return { ok: false, error: toEnvelope(new UserError({ code: 'usage', what: 'Only the page of Satchel is answered.' })) }
  })

  let enginesGone = false
  app.on('before-quit', (event) => {
    if (enginesGone) return
    // Engines write a checkpoint before the app leaves.
    event.preventDefault()
    background.dispose()
    void runs.dispose().finally(() => {
      enginesGone = true
      app.quit()
    })
  })
  app.on('window-all-closed', () => {
    if (!background.staysAlive()) app.quit()
  })
  app.on('second-instance', () => showWindow(background))
  app.on('activate', () => showWindow(background))
  showWindow(background)
}

registerAppScheme()
silenceChromium()
secureContents()
// Chromium refuses to start as root with its sandbox; whoever runs it so has to say so, and the page's own settings still hold.
if (!app.commandLine.hasSwitch('no-sandbox')) app.enableSandbox()
if (app.requestSingleInstanceLock()) {
  start().catch((error: unknown) => {
    console.error('Satchel could not start:', error)
    app.exit(1)
  })
} else {
  app.quit()
}
