// The desktop app: windows, policies and supervision. It computes nothing; engines are processes of their own.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { app, BrowserWindow, ipcMain, session } from 'electron'
import { callChannel, eventChannel } from '../contract/bridge.ts'
import { toEnvelope, UserError } from '../contract/errors.ts'
import { engineEnvironment, findNodeBinary } from './engine-environment.ts'
import type { EngineProgram } from './engine-process.ts'
import { createFolderWatcher } from './folder-watcher.ts'
import { installMenu } from './menu.ts'
import { isTrustedSender } from './policies.ts'
import { answerCall } from './router.ts'
import { createRunHandlers } from './runs.ts'
import { registerAppScheme, secureContents, secureSession, senderOf, silenceChromium } from './session.ts'
import { createSupervisor, defaultPatience } from './supervisor.ts'
import { openWindow } from './window.ts'

const builtFolder = join(app.getAppPath(), 'out')

/** In a checkout SATCHEL_ENGINE names another engine entry, which is how the tests bring a scripted one. */
function engineProgram(): EngineProgram {
  const packagedResources = app.isPackaged ? process.resourcesPath : undefined
  const script = (app.isPackaged ? undefined : process.env['SATCHEL_ENGINE']) ?? join(builtFolder, 'main', 'engine-child.js')
  const nodeBinary = findNodeBinary({ environment: process.env, platform: process.platform, packagedResources, exists: existsSync })
  return { nodeBinary, script, environment: engineEnvironment(process.env) }
}

function broadcast(name: string, payload: unknown): void {
  for (const window of BrowserWindow.getAllWindows()) {
    if (!window.isDestroyed()) window.webContents.send(eventChannel, name, payload)
  }
}

function focusWindow(): void {
  const window = BrowserWindow.getAllWindows()[0]
  if (window === undefined) return
  if (window.isMinimized()) window.restore()
  window.focus()
}

async function start(): Promise<void> {
  await app.whenReady()
  secureSession(session.defaultSession, join(builtFolder, 'renderer'))
  installMenu(!app.isPackaged)

  const supervisor = createSupervisor({
    program: engineProgram,
    patience: defaultPatience,
    announce: (directory, event) => broadcast('run.event', { directory, event }),
  })
  const runsFolder = join(process.env['SATCHEL_RUNS'] ?? app.getPath('userData'), 'runs')
  const watcher = createFolderWatcher((directory, event) => broadcast('run.event', { directory, event }))
  const handlers = createRunHandlers(runsFolder, supervisor, watcher)
  ipcMain.handle(callChannel, (event, name: unknown, request: unknown) => {
    if (isTrustedSender(senderOf(event))) return answerCall(handlers, name, request)
    return { ok: false, error: toEnvelope(new UserError({ code: 'usage', what: 'Only the page of Satchel is answered.' })) }
  })

  let enginesGone = false
  app.on('before-quit', (event) => {
    if (enginesGone) return
    // Engines write a checkpoint before the app leaves.
    event.preventDefault()
    watcher.dispose()
    void supervisor.dispose().finally(() => {
      enginesGone = true
      app.quit()
    })
  })
  app.on('window-all-closed', () => app.quit())
  app.on('second-instance', focusWindow)
  openWindow(join(builtFolder, 'preload', 'preload.cjs'))
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
