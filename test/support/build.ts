// Bundles an entry for tests that need a real process: what the product's build does, npm packages stay external.
import { build } from 'esbuild'
import { mkdir, rename } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { projectRoot } from '../../src-main/engine/runtime/paths.ts'

/**
 * @param entry path of a TypeScript file, from the project's root
 * @returns the built file; it lies inside the project so that packages are found. Safe to call from several test processes at once.
 */
export async function buildEntry(entry: string): Promise<string> {
  const root = projectRoot()
  const folder = join(root, '.tmp', 'built')
  await mkdir(folder, { recursive: true })
  const name = basename(entry, '.ts')
  const temporary = join(folder, `.${name}.${process.pid}.mjs`)
  await build({ entryPoints: [join(root, entry)], bundle: true, packages: 'external', platform: 'node', format: 'esm', target: 'node20', outfile: temporary, logLevel: 'error' })
  const target = join(folder, `${name}.mjs`)
  await rename(temporary, target)
  return target
}
