// Before the desktop tests: the built app, an Electron to run it, and a display to show it on.
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { TestProject } from 'vitest/node'
import { missingForDesktopTests, prepareElectronRuntime } from './electron-runtime.mjs'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Path of the Electron binary; empty when the machine cannot run the tests. */
    electron: string
    /** Why the desktop tests cannot run here; empty when they can. */
    missing: string
    display: string
  }
}

/** Starts a virtual display unless there is one; resolves with its name once it accepts connections. */
async function startDisplay(): Promise<{ display: string; server: ChildProcess | undefined }> {
  const present = process.env['DISPLAY']
  if (present !== undefined && present !== '') return { display: present, server: undefined }
  const server = spawn('Xvfb', ['-displayfd', '3', '-screen', '0', '1600x1200x24', '-nolisten', 'tcp'], { stdio: ['ignore', 'ignore', 'ignore', 'pipe'] })
  const number = await new Promise<string>((resolvePromise, reject) => {
    server.once('error', reject)
    server.once('exit', (code) => reject(new Error(`Xvfb ended with code ${code}`)))
    server.stdio[3]?.once('data', (data: Buffer) => resolvePromise(data.toString('utf8').trim()))
  })
  return { display: `:${number}`, server }
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
    return () => undefined
  }
  const { executable } = await prepareElectronRuntime(root)
  const { display, server } = await startDisplay()
  project.provide('missing', '')
  project.provide('electron', executable)
  project.provide('display', display)
  return () => {
    server?.kill()
  }
}
