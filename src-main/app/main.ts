// The desktop app: windows, policies and supervision. It computes nothing; engines are processes of their own.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { app, BrowserWindow, ipcMain, nativeTheme, session } from 'electron'
import { z } from 'zod'
import { callChannel, eventChannel, offerChannel } from '../contract/bridge.ts'
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
import { usualFolders } from './settings.ts'
import { defaultPatience } from './supervisor.ts'
import { renderServiceArgument } from '../contract/render-service.ts'
import { runRenderService } from './render-service/main.ts'
import { openWindow } from './window.ts'
import { createWorkspace } from './workspace-services.ts'

const builtFolder = join(app.getAppPath(), 'out')
/** Holds what plain Node runs and reads. A packaged app is one archive, which Node cannot read: there it lies beside it. */
const engineFolder = app.isPackaged ? join(process.resourcesPath, 'engine') : app.getAppPath()

const scripts = { engine: 'engine-child.js', 'command-line': 'cli.js', tools: 'tools.js' } as const

/** In a checkout SATCHEL_ENGINE names another engine entry, which is how the tests bring a scripted one. @param keyVariable the variable that holds a judge's key */
function programOf(entry: 'engine' | 'command-line' | 'tools', keyVariable: string, more: Readonly<Record<string, string>> = {}): EngineProgram {
  const packagedResources = app.isPackaged ? process.resourcesPath : undefined
  const scripted = app.isPackaged || entry !== 'engine' ? undefined : process.env['SATCHEL_ENGINE']
  const script = scripted ?? join(engineFolder, 'out', 'main', scripts[entry])
  const nodeBinary = findNodeBinary({ environment: process.env, platform: process.platform, packagedResources, exists: existsSync })
  return { nodeBinary, script, environment: { ...engineEnvironment(process.env, keyVariable), ...renderHostOf(), ...more } }
}

/** Processes that want to see a page rendered start this very program again, as a render service. */
function renderHostOf(): Record<string, string> {
  return {
    SATCHEL_ELECTRON: process.execPath,
    SATCHEL_ELECTRON_APP: app.isPackaged ? '' : app.getAppPath(),
    ...(app.commandLine.hasSwitch('no-sandbox') ? { SATCHEL_ELECTRON_NO_SANDBOX: '1' } : {}),
  }
}

const onlyOurPage = { ok: false, error: toEnvelope(new UserError({ code: 'usage', what: 'Only the page of Satchel is answered.' })) } as const

function broadcast(name: string, payload: unknown): void {
  for (const window of BrowserWindow.getAllWindows()) {
    if (!window.isDestroyed()) window.webContents.send(eventChannel, name, payload)
  }
}

/** Opens the window, or brings it to the front. */
function showWindow(background: Background): void {
  const window = BrowserWindow.getAllWindows()[0]
  if (window === undefined) {
    background.guard(openWindow(join(builtFolder, 'preload', 'preload.cjs'), join(app.getAppPath(), 'resources', 'icons', 'window.png')))
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
  const workspace = createWorkspace({
    dataFolder: app.getPath('userData'),
    promptsFolder: join(data, 'prompts'),
    usualFolders: usualFolders(data, process.env),
    program: (environment, keyVariable) => programOf('tools', keyVariable, environment),
    desktop,
    allowedRun: (directory) => runs.allowed(directory),
    announce: broadcast,
    onSettings: ({ settings }) => {
      nativeTheme.themeSource = settings.theme
    },
  })
  // Read once: the folder of runs changes with the next start, because engines are at work in this one.
  const { settings, folders } = workspace.settings()
  nativeTheme.themeSource = settings.theme
  const runs = createRunServices({
    runsFolder: folders.runs,
    reportsFolder: join(data, 'reports'),
    demoFile: join(engineFolder, 'resources', 'demo', 'run.json'),
    exportsFolder: () => workspace.settings().folders.exports,
    memoryFile: join(app.getPath('userData'), 'runs.json'),
    granted: (path) => workspace.paths.require(path),
    desktop,
    patience: defaultPatience,
    program: (entry) => programOf(entry, workspace.settings().settings.judge.apiKeyVariable),
    announce: broadcast,
    onActivity: (activity) => ('queue' in activity ? background.hearQueue(activity.queue.length) : background.hear(activity.directory, activity.event)),
  })
  const handlers = { ...runs.handlers, ...workspace.handlers }
  ipcMain.handle(callChannel, (event, name: unknown, request: unknown) => {
    if (isTrustedSender(senderOf(event))) return answerCall(handlers, name, request)
    return onlyOurPage
  })
  ipcMain.handle(offerChannel, async (event, dropped: unknown) => {
    if (!isTrustedSender(senderOf(event))) return onlyOurPage
    try {
      return { ok: true, value: await workspace.offer(z.array(z.string().min(1)).parse(dropped)) }
    } catch (error) {
      return { ok: false, error: toEnvelope(error) }
    }
  })

  let enginesGone = false
  app.on('before-quit', (event) => {
    if (enginesGone) return
    // Engines write a checkpoint before the app leaves.
    event.preventDefault()
    background.dispose()
    workspace.dispose()
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

/** The app itself: one window, one instance. */
function runApp(): void {
  registerAppScheme()
  secureContents()
  if (app.requestSingleInstanceLock()) {
    start().catch((error: unknown) => {
      console.error('Satchel could not start:', error)
      app.exit(1)
    })
  } else {
    app.quit()
  }
}

silenceChromium()
// Chromium refuses to start as root with its sandbox; whoever runs it so has to say so, and the page's own settings still hold.
if (!app.commandLine.hasSwitch('no-sandbox')) app.enableSandbox()
if (process.argv.includes(renderServiceArgument)) runRenderService()
else runApp()
