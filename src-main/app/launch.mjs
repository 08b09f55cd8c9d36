// npm start: opens the built app in Electron. Downloads nothing: when Electron's binary is not there it says how to get it.
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const projectFolder = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..')

/** The Electron binary, or undefined when it has not been fetched. SATCHEL_ELECTRON names another one. */
function findElectron() {
  const chosen = process.env.SATCHEL_ELECTRON
  if (chosen) return existsSync(chosen) ? chosen : undefined
  const folder = join(projectFolder, 'node_modules', 'electron')
  const pathFile = join(folder, 'path.txt')
  if (!existsSync(pathFile)) return undefined
  const binary = join(folder, 'dist', readFileSync(pathFile, 'utf8').trim())
  return existsSync(binary) ? binary : undefined
}

const electron = findElectron()
if (electron === undefined) {
  process.stderr.write(
    [
      'Satchel is built, but the Electron program that shows its window is not on this machine.',
      '',
      '  npx install-electron      fetches it once from its release page (about 110 MB; needs Node 22.12 or newer), then: npm start',
      '  SATCHEL_ELECTRON=PATH     uses an Electron that is already here',
      '  npm run demo              the same training without a window; it needs nothing more',
      '',
    ].join('\n'),
  )
  process.exitCode = 5
} else {
  // Some shells that start from an editor hand this on; with it Electron would behave as plain Node.
  const environment = { ...process.env }
  delete environment.ELECTRON_RUN_AS_NODE
  const child = spawn(electron, [projectFolder, ...process.argv.slice(2)], { stdio: 'inherit', env: environment })
  child.on('error', (error) => {
    process.stderr.write(`Electron could not be started: ${error.message}\n`)
    process.exitCode = 5
  })
  child.on('exit', (code) => {
    process.exitCode = code ?? 1
  })
}
