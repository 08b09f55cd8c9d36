// Before the desktop tests: the built app, an Electron to run it, and a display to show it on.
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { TestProject } from 'vitest/node'
import { startDisplay } from './display.ts'
import { missingForDesktopTests, prepareElectronRuntime } from './electron-runtime.mjs'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Path of the Electron binary; empty when the machine cannot run the tests. */
    electron: string
    /** Why the desktop tests cannot run here; empty when they can. */
    missing: string
    display: string
    /** Folder of the packaged app that is driven, which brings its own Node; empty where the app of the checkout is. */
    packaged: string
  }
}

export default async function setup(project: TestProject): Promise<() => void> {
  const root = resolve(import.meta.dirname, '..', '..')
  let missing = missingForDesktopTests()
  if (missing === undefined && !existsSync(join(root, 'out', 'renderer', 'index.html'))) missing = 'the app is not built: npm run build'
  if (missing !== undefined) {
    // A machine that is there to run them must run them.
    if (process.env['CI'] === 'true') throw new Error(`The desktop tests cannot run: ${missing}`)
    process.stderr.write(`\nThe desktop tests are skipped: ${missing}\n\n`)
    project.provide('missing', missing)
    project.provide('electron', '')
    project.provide('display', '')
    project.provide('packaged', '')
    return () => undefined
  }
  const { executable } = await prepareElectronRuntime(root)
  const { display, server } = await startDisplay()
  project.provide('missing', '')
  project.provide('electron', executable)
  project.provide('display', display)
  project.provide('packaged', '')
  return () => {
    server?.kill()
  }
}
