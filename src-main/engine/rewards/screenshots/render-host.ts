// Which Electron renders pages, and how it is started. The app names its own to the processes it starts; from the command line the one that
// is installed in the checkout serves.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { renderServiceArgument } from '../../../contract/render-service.ts'
import { projectRoot } from '../../runtime/paths.ts'

/** A command that starts a render service. */
export interface RenderHost {
  readonly command: string
  readonly parameters: readonly string[]
  readonly environment: Readonly<Record<string, string>>
}

/** The machine as the search sees it; tests bring another. */
export interface RenderMachine {
  readonly platform: NodeJS.Platform
  /** Effective user; undefined on Windows. */
  readonly userId: number | undefined
  readonly root: string
  readonly exists: (path: string) => boolean
  readonly readText: (path: string) => string
}

/** A host, or one sentence saying why pages cannot be rendered here. */
export type RenderHostAnswer = { readonly host: RenderHost } | { readonly unavailable: string }

function thisMachine(): RenderMachine {
  return { platform: process.platform, userId: process.getuid?.(), root: projectRoot(), exists: existsSync, readText: (path) => readFileSync(path, 'utf8') }
}

/**
 * Finds the Electron that renders pages: SATCHEL_ELECTRON (the app sets it to itself), else the binary of the `electron` package. It is
 * not started here; a machine on which it does not start is found out with the first page.
 */
export function renderHost(environment: NodeJS.ProcessEnv = process.env, machine: RenderMachine = thisMachine()): RenderHostAnswer {
  const { platform } = machine
  const command = findElectron(environment, machine)
  if (command === undefined) {
    return { unavailable: environment['SATCHEL_ELECTRON'] ? 'SATCHEL_ELECTRON names a file that is not there' : "Electron's program is not installed (`npx install-electron` fetches it, SATCHEL_ELECTRON=PATH names another one)" }
  }
  const withoutSandbox = environment['SATCHEL_ELECTRON_NO_SANDBOX'] === '1'
  if (platform === 'linux' && machine.userId === 0 && !withoutSandbox) {
    return { unavailable: "Chromium's sandbox does not work for the user root (SATCHEL_ELECTRON_NO_SANDBOX=1 renders pages without it)" }
  }
  // A packaged app carries its program; an Electron of a checkout is told which one to run.
  const application = environment['SATCHEL_ELECTRON_APP'] ?? machine.root
  return {
    host: {
      command,
      parameters: [
        ...(application === '' ? [] : [application]),
        renderServiceArgument,
        ...(withoutSandbox ? ['--no-sandbox'] : []),
        // Draws into memory: neither a display nor a window manager is needed.
        ...(platform === 'linux' ? ['--ozone-platform=headless'] : []),
      ],
      environment: hostEnvironment(environment),
    },
  }
}

function findElectron(environment: NodeJS.ProcessEnv, { root, exists, readText }: RenderMachine): string | undefined {
  const chosen = environment['SATCHEL_ELECTRON']
  if (chosen) return exists(chosen) ? chosen : undefined
  const folder = join(root, 'node_modules', 'electron')
  const pathFile = join(folder, 'path.txt')
  if (!exists(pathFile)) return undefined
  const binary = join(folder, 'dist', readText(pathFile).trim())
  return exists(binary) ? binary : undefined
}

const keptNames = ['PATH', 'Path', 'HOME', 'USER', 'LANG', 'TMPDIR', 'TEMP', 'TMP', 'USERPROFILE', 'APPDATA', 'LOCALAPPDATA', 'PROGRAMDATA', 'SYSTEMROOT', 'SystemRoot', 'WINDIR', 'LD_LIBRARY_PATH', 'FONTCONFIG_PATH', 'FONTCONFIG_FILE']

/** What the service inherits: where libraries, fonts and folders lie, and nothing a secret could hide in. Clocks of pages are at UTC. */
function hostEnvironment(environment: NodeJS.ProcessEnv): Record<string, string> {
  const kept: Record<string, string> = { TZ: 'UTC', ELECTRON_DISABLE_SECURITY_WARNINGS: '1', DBUS_SESSION_BUS_ADDRESS: 'disabled:' }
  for (const name of keptNames) {
    const value = environment[name]
    if (value !== undefined) kept[name] = value
  }
  return kept
}
