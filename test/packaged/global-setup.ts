// Before the tests of the packaged app: it is installed twice, as it is, and once with its inspector for the tests that drive the main process.
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { TestProject } from 'vitest/node'
import { startDisplay } from '../desktop/display.ts'
import { missingForDesktopTests } from '../desktop/electron-runtime.mjs'
import { allowInspection, install, setWritable } from './installed.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Folder of the packaged app as it was made. */
    installed: string
  }
}

/** Folder that `npm run package -- --dir` writes on Linux; SATCHEL_PACKAGED names another one. */
const packageFolder = resolve(process.env['SATCHEL_PACKAGED'] ?? join('dist', 'linux-unpacked'))

export default async function setup(project: TestProject): Promise<() => void> {
  const missing = missingForDesktopTests() ?? (existsSync(join(packageFolder, 'satchel')) ? undefined : `${packageFolder} holds no packaged app: npm run package -- --dir makes one`)
  if (missing !== undefined) throw new Error(`The tests of the packaged app cannot run: ${missing}`)
  const home = mkdtempSync(join(tmpdir(), 'satchel-packaged-'))
  const installed = install(packageFolder, join(home, 'Programme für Übung', 'Satchel 試験'))
  const inspected = install(packageFolder, join(home, 'Inspected Satchel, ça va'))
  await allowInspection(inspected)
  for (const one of [installed, inspected]) setWritable(one, false)
  const { display, server } = await startDisplay()
  project.provide('missing', '')
  project.provide('installed', installed.folder)
  project.provide('electron', inspected.executable)
  project.provide('packaged', inspected.folder)
  project.provide('display', display)
  return () => {
    server?.kill()
    for (const one of [installed, inspected]) setWritable(one, true)
    rmSync(home, { recursive: true, force: true, maxRetries: 5 })
  }
}
