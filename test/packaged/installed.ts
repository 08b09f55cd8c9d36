// The packaged app as a person would have installed it: somewhere else, under a name with spaces and letters of several scripts, in a
// folder that cannot be written to, on a machine without Node.
import { chmodSync, copyFileSync, linkSync, mkdirSync, readdirSync, statSync, symlinkSync } from 'node:fs'
import { join, relative } from 'node:path'
import { FuseV1Options, FuseVersion, flipFuses } from '@electron/fuses'

export interface Installation {
  readonly folder: string
  /** The program a person starts. */
  readonly executable: string
  readonly resources: string
  readonly node: string
  readonly commandLine: string
}

export function installationAt(folder: string): Installation {
  const resources = join(folder, 'resources')
  return { folder, executable: join(folder, 'satchel'), resources, node: join(resources, 'node', 'node'), commandLine: join(resources, 'command-line', 'satchel') }
}

/** Lays the same files into another folder: linked where the disk is the same one, the program itself always copied. */
export function install(source: string, target: string): Installation {
  mkdirSync(target, { recursive: true })
  for (const entry of readdirSync(source, { withFileTypes: true, recursive: true })) {
    const from = join(entry.parentPath, entry.name)
    const to = join(target, relative(source, from))
    if (entry.isDirectory()) mkdirSync(to, { recursive: true })
    else place(from, to, entry.name === 'satchel')
  }
  return installationAt(target)
}

function place(from: string, to: string, own: boolean): void {
  mkdirSync(join(to, '..'), { recursive: true })
  try {
    if (own) copyFileSync(from, to)
    else linkSync(from, to)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error
    copyFileSync(from, to)
  }
}

/** Playwright speaks to the main process through Node's inspector, which a package has switched off; nothing else is changed. */
export async function allowInspection({ executable }: Installation): Promise<void> {
  await flipFuses(executable, { version: FuseVersion.V1, [FuseV1Options.EnableNodeCliInspectArguments]: true })
}

/** Nobody but root can put anything into its folders any more. */
export function setWritable({ folder }: Installation, writable: boolean): void {
  const folders = [folder, ...readdirSync(folder, { withFileTypes: true, recursive: true }).filter((entry) => entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name))]
  for (const path of folders) chmodSync(path, writable ? 0o755 : 0o555)
}

/** Every file with its size and time of change: what root writes shows here. */
export function contentsOf({ folder }: Installation): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true }).map((entry) => {
    const path = join(entry.parentPath, entry.name)
    const { size, mtimeMs } = statSync(path)
    return entry.isDirectory() ? `${relative(folder, path)}/` : `${relative(folder, path)} ${size} ${mtimeMs}`
  }).sort()
}

/** Makes a folder that holds the programs its start script needs and no Node; serves as the whole PATH. */
export function makeBarePath(folder: string): string {
  mkdirSync(folder, { recursive: true })
  for (const name of ['dirname', 'readlink']) symlinkSync(join('/usr/bin', name), join(folder, name))
  return folder
}
